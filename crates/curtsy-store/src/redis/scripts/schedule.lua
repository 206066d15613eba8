-- Queues due seeds together with the moments for which they are queued. Arguments: the scheduler,
-- how many entries at most are searched for a waiting one, and for each seed its name, the moment
-- that the caller knows ('' = none), the moment that it is due for, its list and its entry (both ''
-- = only write the moment).
local MOMENTS = 'curtsy:schedule'
local most = ARGV[2]
if redis.call('GET', 'curtsy:schedule:leader') ~= ARGV[1] then return {'lost'} end
local became = {}
for n = 3, #ARGV, 5 do
  local seed, known, moment, list, entry = ARGV[n], ARGV[n + 1], ARGV[n + 2], ARGV[n + 3], ARGV[n + 4]
  local before = redis.call('HGET', MOMENTS, seed) or ''
  local word, now = 'known', before
  if before == known then
    word, now = 'noted', moment
    if list ~= '' then
      if redis.call('LPOS', list, entry, 'MAXLEN', most) then
        word = 'waits'
      else
        redis.call('RPUSH', list, entry)
        word = 'queued'
      end
    end
    redis.call('HSET', MOMENTS, seed, moment)
  end
  became[#became + 1] = word
  became[#became + 1] = now
end
return {'done', became}
