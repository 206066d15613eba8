-- Reads when seeds were last due, and which of them are still in their lists. Writes nothing.
-- Arguments: how many entries at most are searched ('0' = none), and for each seed its name, its
-- list and its entry.
local most = ARGV[1]
local time = redis.call('TIME')
local moments, waiting = {}, {}
for n = 2, #ARGV, 3 do
  moments[#moments + 1] = redis.call('HGET', 'curtsy:schedule', ARGV[n]) or ''
  local found = most ~= '0' and redis.call('LPOS', ARGV[n + 1], ARGV[n + 2], 'MAXLEN', most)
  waiting[#waiting + 1] = found and '1' or '0'
end
return {'seen', string.format('%.0f', time[1] * 1000000 + time[2]), moments, waiting}
