-- The queues of the hosts. A stored record is its place (rank: 1 byte, worth: 1, depth: 2, number:
-- 7), its claim (9), whether it stays known (1), and the rest.
local function first_ready(host)
  local first = redis.call('ZRANGE', queue_key(host), 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2])
end

local function set_due(host, due)
  if due then
    redis.call('ZADD', DUE, whole(due), host)
  else
    redis.call('ZREM', DUE, host)
  end
end

-- Returns when to hand a host out whose first URL is ready then: not before its wait, unless it is
-- to be looked at.
local function due_from(ready, not_before, look)
  if not ready or look then return ready end
  return math.max(ready, tonumber(not_before or '0'))
end

-- Sets the schedule of a host, which no visit has any more.
local function reschedule(host, not_before)
  redis.call('HSET', state_key(host), 'n', whole(not_before))
  redis.call('HDEL', state_key(host), 'h')
  redis.call('PEXPIRE', state_key(host), FORGET_MS)
  local look = redis.call('HGET', state_key(host), 'l')
  set_due(host, due_from(first_ready(host), not_before, look))
end

-- Updates the due time of a host whose queue has changed, unless a visit has the host.
local function reschedule_unless_held(host)
  local known = redis.call('HMGET', state_key(host), 'n', 'h', 'l')
  local wanted = due_from(first_ready(host), known[1], known[3])
  local due = redis.call('ZSCORE', DUE, host)
  local sooner = due and wanted and tonumber(due) > wanted and not known[2]
  if not due or not wanted or sooner then set_due(host, wanted) end
end

-- Takes a record from the arguments: its blob, ready time, and rank with worth and depth.
local function take_record()
  return {blob = take(), ready = take(), rank = take()}
end

local function insert(host, id, record)
  if redis.call('HEXISTS', urls_key(host), id) == 1 then return end
  local sequence = struct.pack('>I8', redis.call('HINCRBY', STORE, 'sequence', 1))
  local place = record.rank .. string.sub(sequence, 2)
  redis.call('HSET', urls_key(host), id, place .. record.blob)
  redis.call('ZADD', queue_key(host), record.ready, place .. id)
  redis.call('HINCRBY', STORE, 'queued', 1)
  if string.byte(record.rank, 1) == 0 then
    -- Other URLs wait for this one, which may need no request: the host is handed out once without
    -- its wait.
    redis.call('HSET', state_key(host), 'l', '1')
  end
  reschedule_unless_held(host)
end

local function claim_of(blob) return string.sub(blob, 12, 20) end

-- Returns the record of a URL, if it has this claim.
local function claimed(host, id, claim)
  local old = redis.call('HGET', urls_key(host), id)
  return old and claim_of(old) == claim and old or nil
end

local function remove(host, id, old)
  redis.call('HDEL', urls_key(host), id)
  redis.call('ZREM', queue_key(host), string.sub(old, 1, 11) .. id)
  redis.call('HINCRBY', STORE, 'queued', -1)
end

-- Takes changes of URLs from the arguments: the host whose queue it is in, its identity, the claim
-- that the writer knows, and what it becomes: 'end', 'same' (in its queue) or 'move' (to another
-- host's queue).
local function take_writes()
  local writes = {}
  for n = 1, number() do
    local write = {from = take(), id = take(), claim = take(), becomes = take()}
    if write.becomes == 'move' then write.to = take() end
    if write.becomes ~= 'end' then write.record = take_record() end
    writes[n] = write
  end
  return writes
end

-- Returns the URLs that changes bring into a queue.
local function coming(writes)
  local ids = {}
  for _, write in ipairs(writes) do
    if write.becomes == 'move' then ids[#ids + 1] = write.id end
  end
  return ids
end

-- Applies a change, unless the URL has another claim. The caller reschedules the host.
local function write_url(write)
  if write.from == '' then
    insert(write.to, write.id, write.record)
    return
  end
  local old = claimed(write.from, write.id, write.claim)
  if not old then return end
  if write.becomes == 'same' then
    local place = write.record.rank .. string.sub(old, 5, 11)
    local before = string.sub(old, 1, 11)
    if place ~= before then redis.call('ZREM', queue_key(write.from), before .. write.id) end
    redis.call('HSET', urls_key(write.from), write.id, place .. write.record.blob)
    redis.call('ZADD', queue_key(write.from), write.record.ready, place .. write.id)
    return
  end
  if write.becomes == 'move' then
    -- First, so that no URL is lost if the script is aborted.
    insert(write.to, write.id, write.record)
  elseif string.byte(old, 21) == 0 then
    -- It may be queued again.
    redis.call('DEL', known_key(write.id))
  end
  remove(write.from, write.id, old)
end

-- Returns the reminders of URLs that come into a queue, if the caller has not seen the newest: the
-- caller merges them and calls again.
local function behind_reminders(reminders, ids)
  if reminders == line[7] or #ids == 0 then return nil end
  local remembered = redis.call('HMGET', REMINDED, unpack(ids))
  for n = 1, #ids do remembered[n] = remembered[n] or '' end
  return answer('reminded', line[7], remembered)
end
