-- Hands out due hosts. They are not removed: they become due again by themselves after the hold.
-- Arguments: hosts, URLs of each, the hold, the number of order changes that the caller knows.
local hosts, urls, hold, heard = number(), number(), number(), take()
local visits = {}
local quiet = tonumber(line[3] or '')
if line[12] == '1' or quiet and quiet > now then hosts = 0 end
if hosts > 0 then
  for n, host in ipairs(redis.call('ZRANGEBYSCORE', DUE, '-inf', whole(now), 'LIMIT', 0, hosts)) do
    set_due(host, now + hold)
    redis.call('HSET', state_key(host), 'h', '1')
    redis.call('HDEL', state_key(host), 'l')
    local ids = redis.call('ZRANGE', queue_key(host), 0, urls - 1)
    for m = 1, #ids do ids[m] = string.sub(ids[m], 12) end
    local records = #ids > 0 and redis.call('HMGET', urls_key(host), unpack(ids)) or {}
    visits[n] = {host, view(host), ids, records}
  end
end
local first = redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')
local orders = heard ~= line[8] and redis.call('HGETALL', ORDERS) or {}
return answer('took', line[11], first[2] and whole(tonumber(first[2])) or '', line[12] or '0', line[8], orders, visits)
