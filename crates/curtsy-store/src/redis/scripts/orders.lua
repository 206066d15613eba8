-- Reads the stop orders that are in force, and the store's time. Writes nothing and takes no
-- argument.
local time = redis.call('TIME')
local raw = time[1] * 1000000 + time[2]
local offset = redis.call('HGET', 'curtsy:store', 'offset')
local stopped = {}
local all = redis.call('HGETALL', 'curtsy:orders')
for n = 1, #all, 2 do
  if string.sub(all[n + 1], 1, 1) == '1' then
    stopped[#stopped + 1] = all[n]
    stopped[#stopped + 1] = string.sub(all[n + 1], 3)
  end
end
return {'orders', string.format('%.0f', raw + tonumber(offset or '0')), stopped}
