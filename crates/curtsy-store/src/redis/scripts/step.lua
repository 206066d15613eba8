-- Corrects a step of this server's clock, unless another worker has done so. Arguments: the number
-- of earlier steps that the caller knows, and what to add.
local STORE = 'curtsy:store'
if redis.call('HGET', STORE, 'steps') == ARGV[1] then
  redis.call('HINCRBY', STORE, 'offset', ARGV[2])
  redis.call('HINCRBY', STORE, 'steps', 1)
end
return {'done'}
