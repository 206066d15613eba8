-- Gives or lifts stop orders. Of two orders for a host the newer one holds. Arguments: how many
-- lifted orders are kept, and for each order the host, '1' or '0', and its time; '' = now, and
-- newer than the last.
local lifted_max, changed = number(), false
for _ = 1, number() do
  local host, stopped, given = take(), take(), take()
  local known = redis.call('HGET', ORDERS, host)
  local last = known and tonumber(string.sub(known, 3)) or 0
  local when = given == '' and math.max(now, last + 1) or tonumber(given)
  if when > last then
    changed = true
    redis.call('HSET', ORDERS, host, stopped .. ' ' .. whole(when))
    if stopped == '0' then reschedule(host, now) end
    -- A worker that decided under the other order decides again, so a host that it just parked does
    -- not stay parked.
    if redis.call('HEXISTS', state_key(host), 'v') == 1 then
      redis.call('HSET', state_key(host), 'v', redis.call('HINCRBY', STORE, 'versions', 1))
    end
  end
end
if changed then
  redis.call('HINCRBY', STORE, 'orders', 1)
  if redis.call('HLEN', ORDERS) > lifted_max then
    local lifted = {}
    local all = redis.call('HGETALL', ORDERS)
    for n = 1, #all, 2 do
      if string.sub(all[n + 1], 1, 1) == '0' then lifted[#lifted + 1] = {all[n], tonumber(string.sub(all[n + 1], 3))} end
    end
    table.sort(lifted, function(a, b) return a[2] < b[2] end)
    for n = 1, #lifted - lifted_max do redis.call('HDEL', ORDERS, lifted[n][1]) end
  end
end
return answer('done')
