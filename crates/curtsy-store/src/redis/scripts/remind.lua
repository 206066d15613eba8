-- Writes merged reminders, unless something has changed meanwhile. Arguments: the counter of
-- reminders that the caller knows, and for each URL its host, identity, the record to remember, the
-- record that was found in the queue ('' = none) and the one that replaces it.
local reminders = take()
local all = {}
for n = 1, number() do
  all[n] = {host = take(), id = take(), remembered = take(), found = take()}
  if all[n].found ~= '' then all[n].record = take_record() end
end
if reminders ~= line[7] then return answer('again') end
for _, url in ipairs(all) do
  if (redis.call('HGET', urls_key(url.host), url.id) or '') ~= url.found then return answer('again') end
end
for _, url in ipairs(all) do
  redis.call('HSET', REMINDED, url.id, url.remembered)
  if url.record then
    write_url({from = url.host, id = url.id, claim = claim_of(url.found), becomes = 'same', record = url.record})
    reschedule_unless_held(url.host)
  end
end
redis.call('HINCRBY', STORE, 'reminders', 1)
return answer('done')
