-- Reads a robots.txt by its hash.
local key = 'curtsy:robots:' .. take()
local found = redis.call('HMGET', key, 'text', 'etag', 'last_modified')
return answer('robots', found[1] and '1' or '0', found[1] or '', found[2] or '', found[3] or '')
