-- Puts entries on a list with their reasons, unless they are there already. Arguments: the list,
-- and for each entry its text, a mark that is the same for the same letter, and the reason.
local list = ARGV[1]
local new = 0
for n = 2, #ARGV, 3 do
  local entry, mark, reason = ARGV[n], ARGV[n + 1], ARGV[n + 2]
  local known = redis.call('HGET', list .. ':reasons', entry)
  if not known or string.sub(known, 1, #mark) ~= mark then
    -- An entry that is there for another reason stays once.
    if known then redis.call('LREM', list, 0, entry) end
    redis.call('RPUSH', list, entry)
    new = new + 1
  end
  redis.call('HSET', list .. ':reasons', entry, mark .. reason)
end
return {'put', new}
