-- Claims entries of the queue for a worker. They stay on the worker's list of claims until they are
-- offered. Arguments: the clock, the worker, how many of its last claims have been offered, the
-- number of the first of them, the number of entries at most, after how long an inactive worker
-- counts as gone, and the queues, the most urgent first.
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
-- They may be removed already, if the answer to that was lost.
local head = offered > 0 and redis.call('LINDEX', claims, 0)
if head and string.match(head, '^%d+') == first then redis.call('LTRIM', claims, offered, -1) end
local open = redis.call('HMGET', STORE, 'epoch', 'paused', 'draining')
if not open[1] then return {'empty'} end
-- The answer with the remaining claims was lost.
local claimed = redis.call('LRANGE', claims, 0, -1)
-- The claims of workers that are gone. They keep their numbers, since they may have been offered
-- already.
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
      -- Its number and priority precede it.
      entry = redis.call('HINCRBY', STORE, 'wishes', 1) .. ' ' .. (n - 7) .. ' ' .. entry
      redis.call('RPUSH', claims, entry)
      claimed[#claimed + 1] = entry
    end
    -- Last, so that no entry is lost if the script is aborted.
    if #entries > 0 then redis.call('LTRIM', ARGV[n], #entries, -1) end
  end
end
return {'claimed', claimed}
