-- Keeps a page: its content under the name that consumers use, its metadata under its own key.
-- Arguments: the page's key, the name of its content, for how many milliseconds, until when it is
-- fresh, ETag, Last-Modified, its type, '1' = the content follows (else the kept content is
-- confirmed), the content.
local key, body, ms = 'curtsy:page:' .. ARGV[1], ARGV[2], ARGV[3]
if ARGV[8] == '1' then
  redis.call('SET', body, ARGV[9], 'PX', ms)
  redis.call('HSET', key, 'fresh', ARGV[4], 'etag', ARGV[5], 'modified', ARGV[6], 'type', ARGV[7], 'body', body)
elseif redis.call('EXISTS', key) == 1 then
  redis.call('HSET', key, 'fresh', ARGV[4], 'etag', ARGV[5], 'modified', ARGV[6])
  redis.call('PEXPIRE', redis.call('HGET', key, 'body'), ms)
end
redis.call('PEXPIRE', key, ms)
return {'kept'}
