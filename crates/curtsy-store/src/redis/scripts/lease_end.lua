-- Gives up a scheduler's lease, if the scheduler still has it. Arguments: the scheduler.
local LEADER = 'curtsy:schedule:leader'
if redis.call('GET', LEADER) ~= ARGV[1] then return {'not yours'} end
redis.call('DEL', LEADER)
return {'given up'}
