-- Reads URLs from the queues and their reminders, for the caller to merge. Arguments: host and
-- identity of each.
local found = {}
for n = 1, number() do
  local host, id = take(), take()
  found[n] = {redis.call('HGET', urls_key(host), id) or '', redis.call('HGET', REMINDED, id) or ''}
end
return answer('recalled', line[7], found)
