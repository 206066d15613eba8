-- Removes entries from a list, with their reasons. Arguments: the list, the queue to put them into
-- ('' = none), and the entries; none = all.
local list, to = ARGV[1], ARGV[2]
local entries = {}
for n = 3, #ARGV do entries[#entries + 1] = ARGV[n] end
if #entries == 0 then entries = redis.call('LRANGE', list, 0, 999) end
local gone = 0
for _, entry in ipairs(entries) do
  if redis.call('LPOS', list, entry) then
    gone = gone + 1
    -- First, so that no entry is lost if the script is aborted.
    if to ~= '' then redis.call('RPUSH', to, entry) end
    redis.call('LREM', list, 0, entry)
  end
  redis.call('HDEL', list .. ':reasons', entry)
end
return {'gone', gone, redis.call('LLEN', list)}
