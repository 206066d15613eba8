-- Takes or renews the lease of the one scheduler that queues seeds. Arguments: the scheduler, for
-- how many milliseconds.
local LEADER = 'curtsy:schedule:leader'
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
if redis.call('GET', LEADER) == ARGV[1] then
  redis.call('PEXPIRE', LEADER, ARGV[2])
  return {'renewed', now}
end
if redis.call('SET', LEADER, ARGV[1], 'NX', 'PX', ARGV[2]) then return {'taken', now} end
return {'other', now}
