-- Adds URLs that are not known. Arguments: the counter of reminders that the caller knows, how long
-- a URL stays known, and the URLs: host, identity, record.
local reminders, known_ms = take(), take()
local ids, offers = {}, {}
for n = 1, number() do
  offers[n] = {host = take(), id = take(), record = take_record()}
  ids[n] = offers[n].id
end
local behind = behind_reminders(reminders, ids)
if behind then return behind end
local new = 0
for _, offer in ipairs(offers) do
  if redis.call('SET', known_key(offer.id), '1', 'NX', 'PX', known_ms) then
    insert(offer.host, offer.id, offer.record)
    new = new + 1
  end
end
return answer('offered', new, #offers - new)
