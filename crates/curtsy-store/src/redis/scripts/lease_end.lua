-- A scheduler gives up its lease, if it is still its own. Arguments: the scheduler.
local LEADER = 'curtsy:schedule:leader'
if redis.call('GET', LEADER) ~= ARGV[1] then return {'not yours'} end
redis.call('DEL', LEADER)
return {'given up'}
