-- Pauses, drains or resumes the whole fleet. Arguments: 'pause', 'drain' or 'resume'.
local STORE = 'curtsy:store'
redis.call('HDEL', STORE, 'paused', 'draining')
if ARGV[1] == 'pause' then redis.call('HSET', STORE, 'paused', '1') end
if ARGV[1] == 'drain' then redis.call('HSET', STORE, 'draining', '1') end
return {'done'}
