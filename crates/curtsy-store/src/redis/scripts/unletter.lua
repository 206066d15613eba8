-- Takes entries off a list, with their reasons. Arguments: the list, where they go instead ('' = nowhere), and the entries; none = all.
local list, to = ARGV[1], ARGV[2]
local entries = {}
for n = 3, #ARGV do entries[#entries + 1] = ARGV[n] end
if #entries == 0 then entries = redis.call('LRANGE', list, 0, 999) end
local gone = 0
for _, entry in ipairs(entries) do
  local count = redis.call('LREM', list, 0, entry)
  redis.call('HDEL', list .. ':reasons', entry)
  if count > 0 then
    gone = gone + 1
    if to ~= '' then redis.call('RPUSH', to, entry) end
  end
end
return {'gone', gone, redis.call('LLEN', list)}
