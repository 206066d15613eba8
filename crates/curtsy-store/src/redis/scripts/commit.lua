-- Writes a commit if it passes the check: every part of it or nothing.
local host, version, epoch, not_before = take(), take(), take(), number()
local has_state, state = take() == '1', take()
local granted, grant = take() == '1', nil
if granted then
  grant = {lease = take(), id = take(), claim = take(), charge = take(), address = take(), cap = number(), til = number()}
end
local release, released = take(), take()
local reminders = take()
local writes = take_writes()

-- The check. Its steps, their order and their names are those of `check` in
-- curtsy-engine/src/check.rs, which specifies them. A change here is a change there.
-- gone
if granted and grant.id ~= '' and epoch == line[1] and not claimed(host, grant.id, grant.claim) then
  return answer('gone', view(host))
end
-- stale
local held = redis.call('HGET', state_key(host), 'v') or '0'
if epoch ~= line[1] or version ~= held then
  return answer('stale', view(host))
end
local behind = behind_reminders(reminders, coming(writes))
if behind then return behind end
if granted then
  -- stopped
  if is_stopped(host) then return answer('stopped') end
  -- budget
  if grant.charge ~= '' and tonumber(line[10]) >= tonumber(grant.charge) then return answer('budget') end
  -- address
  local slots = 'curtsy:address:' .. grant.address
  if grant.address ~= '' then
    redis.call('ZREMRANGEBYSCORE', slots, '-inf', whole(now))
    if redis.call('ZCARD', slots) >= grant.cap then
      local first = redis.call('ZRANGE', slots, 0, 0, 'WITHSCORES')
      return answer('address', first[2] and whole(tonumber(first[2])) or whole(now))
    end
  end

  -- The check has passed: everything is written.
  if grant.address ~= '' then
    redis.call('ZADD', slots, whole(grant.til), grant.lease)
    redis.call('PEXPIRE', slots, FORGET_MS)
  end
  if grant.charge ~= '' then redis.call('HINCRBY', STORE, 'pages', 1) end
end
if release ~= '' then redis.call('ZREM', 'curtsy:address:' .. release, released) end
for _ = 1, number() do
  local key, text, etag, modified = 'curtsy:robots:' .. take(), take(), take(), take()
  redis.call('HSET', key, 'text', text, 'etag', etag, 'last_modified', modified)
  redis.call('PEXPIRE', key, FORGET_MS)
  -- Also under the name of its authority, for readers outside of curtsy.
  for _ = 1, number() do
    redis.call('SET', 'robots:' .. take(), text, 'PX', take())
  end
end
if has_state then
  held = redis.call('HINCRBY', STORE, 'versions', 1)
  redis.call('HSET', state_key(host), 's', state, 'v', held)
end
for _, write in ipairs(writes) do write_url(write) end
reschedule(host, not_before)
return answer('done', tostring(held))
