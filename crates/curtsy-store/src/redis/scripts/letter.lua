-- Puts entries on a list, each with its reason beside it, unless the same is there already. Arguments: the list, and for each entry what it is, a mark
-- that is the same whenever the same is told again, and the reason.
local list = ARGV[1]
local new = 0
for n = 2, #ARGV, 3 do
  local entry, mark, reason = ARGV[n], ARGV[n + 1], ARGV[n + 2]
  local known = redis.call('HGET', list .. ':reasons', entry)
  if not known or string.sub(known, 1, #mark) ~= mark then
    -- One that was there for another reason is there once.
    if known then redis.call('LREM', list, 0, entry) end
    redis.call('RPUSH', list, entry)
    new = new + 1
  end
  redis.call('HSET', list .. ':reasons', entry, mark .. reason)
end
return {'put', new}
