-- Entries of the queue for a worker, which keeps them on a list of its own until they are offered. Arguments: the clock, the worker, how many
-- of its last claims are offered by now, the number of the first of them, entries at most, after how long a worker that is not heard of counts as gone, and the
-- queues, first the one that goes first.
local STORE = 'curtsy:store'
local WORKERS = 'curtsy:workers'
local function whole(n) return string.format('%.0f', n) end
local raw, worker, offered, first = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local most, gone = tonumber(ARGV[5]), tonumber(ARGV[6])
if raw == '' then
  local time = redis.call('TIME')
  raw = time[1] * 1000000 + time[2]
end
local now = tonumber(raw)
local claims = 'curtsy:claims:' .. worker
redis.call('ZADD', WORKERS, whole(now), worker)
-- They may be gone already, if the answer to that got lost.
local head = offered > 0 and redis.call('LINDEX', claims, 0)
if head and string.match(head, '^%d+') == first then redis.call('LTRIM', claims, offered, -1) end
local open = redis.call('HMGET', STORE, 'epoch', 'paused', 'draining')
if not open[1] then return {'empty'} end
-- What is still there was given in an answer that got lost.
local claimed = redis.call('LRANGE', claims, 0, -1)
-- What somebody had who is gone. It keeps its number: it may have been offered after all.
for _, other in ipairs(redis.call('ZRANGEBYSCORE', WORKERS, '-inf', whole(now - gone), 'LIMIT', 0, 8)) do
  for _, entry in ipairs(redis.call('LRANGE', 'curtsy:claims:' .. other, 0, -1)) do
    redis.call('RPUSH', claims, entry)
    claimed[#claimed + 1] = entry
  end
  redis.call('DEL', 'curtsy:claims:' .. other)
  redis.call('ZREM', WORKERS, other)
end
if open[2] ~= '1' and open[3] ~= '1' then
  for n = 7, #ARGV do
    if #claimed >= most then break end
    local entries = redis.call('LRANGE', ARGV[n], 0, most - #claimed - 1)
    for _, entry in ipairs(entries) do
      -- Its number and how urgent it is go with it.
      entry = redis.call('HINCRBY', STORE, 'wishes', 1) .. ' ' .. (n - 7) .. ' ' .. entry
      redis.call('RPUSH', claims, entry)
      claimed[#claimed + 1] = entry
    end
    -- Last: whatever ends this script in its middle, no entry is nowhere.
    if #entries > 0 then redis.call('LTRIM', ARGV[n], #entries, -1) end
  end
end
return {'claimed', claimed}
