-- What is in the queues and what is remembered of these URLs, for the caller to bring together. Arguments: host and identity of each.
local found = {}
for n = 1, number() do
  local host, id = take(), take()
  found[n] = {redis.call('HGET', urls_key(host), id) or '', redis.call('HGET', REMINDED, id) or ''}
end
return answer('recalled', line[7], found)
