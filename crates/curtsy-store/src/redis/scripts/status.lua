-- Reads the status of the fleet. Arguments: the lists whose lengths are wanted.
local time = redis.call('TIME')
local raw = time[1] * 1000000 + time[2]
local line = redis.call('HMGET', 'curtsy:store', 'epoch', 'offset', 'quiet', 'queued', 'paused', 'draining', 'pages', 'emptied')
if not line[1] then return {'empty'} end
local now = raw + tonumber(line[2])
local function whole(n) return string.format('%.0f', n) end
local lengths = {}
for n = 1, #ARGV do lengths[n] = redis.call('LLEN', ARGV[n]) end
local known = redis.call('ZRANGE', 'curtsy:workers', 0, -1, 'WITHSCORES')
local workers, claims = {}, 0
for n = 1, #known, 2 do
  claims = claims + redis.call('LLEN', 'curtsy:claims:' .. known[n])
  -- A score of 0: the worker has left, and others take over its claims.
  if tonumber(known[n + 1]) > 0 then
    workers[#workers + 1] = known[n]
    workers[#workers + 1] = whole(math.max(0, raw - tonumber(known[n + 1])))
  end
end
return {'status', line[1], whole(math.max(0, (tonumber(line[3] or '') or now) - now)), line[4], line[5] or '0', line[6] or '0', line[7],
  redis.call('ZCARD', 'curtsy:due'), redis.call('ZCOUNT', 'curtsy:due', '-inf', whole(now)), claims, workers, lengths, line[8] or '0'}
