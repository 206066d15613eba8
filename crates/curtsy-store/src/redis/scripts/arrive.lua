-- Registers a new connection of a worker, and finds out whether the store has lost anything.
-- Arguments: the clock, the server's run id, whether the server keeps every acknowledged write, the
-- quiet time of a new epoch, whether an empty store is a new one, and the epoch of the store that the
-- worker knows ('' = none).
local STORE = 'curtsy:store'
local function whole(n) return string.format('%.0f', n) end
local raw, run, lossless, quiet, new = ARGV[1], ARGV[2], ARGV[3] == '1', tonumber(ARGV[4]), ARGV[5] == '1'
local seen = ARGV[6]
if raw == '' then
  local time = redis.call('TIME')
  raw = time[1] * 1000000 + time[2]
end
local known = redis.call('HMGET', STORE, 'epoch', 'run', 'offset', 'version', 'floor')
if known[4] and known[4] ~= '1' then
  return {'version', known[4]}
end
local now = tonumber(raw) + tonumber(known[3] or '0')
local function begin(id, emptied)
  redis.call('HSET', STORE, 'epoch', whole(id), 'floor', whole(now), 'quiet', whole(now + quiet), 'emptied', emptied)
  redis.call('DEL', 'curtsy:reminded')
  redis.call('HINCRBY', STORE, 'reminders', 1)
end
if not known[1] then
  redis.call('HSET', STORE, 'version', '1', 'offset', '0', 'steps', '0', 'orders', '0', 'started', whole(now), 'pages', '0', 'queued', '0', 'run', run)
  if new then
    redis.call('HSET', STORE, 'epoch', whole(now), 'floor', '', 'quiet', '', 'emptied', '0', 'reminders', '0')
  else
    -- Differs from the number of a store that is new at the same moment.
    begin(now + 1, '1')
  end
  return {'begun', whole(now)}
end
if seen ~= '' and seen ~= known[1] and known[5] == '' then
  -- This store began as a new one, but the worker knows an earlier one: that one was emptied, and a
  -- worker that never saw it came back first.
  redis.call('HSET', STORE, 'run', run)
  begin(math.max(now, tonumber(known[1]) + 1), '1')
  return {'lost', whole(now)}
end
if known[2] ~= run then
  redis.call('HSET', STORE, 'run', run)
  if not lossless then
    begin(math.max(now, tonumber(known[1]) + 1), '0')
    return {'lost', whole(now)}
  end
  return {'restarted', whole(now)}
end
return {'same', whole(now)}
