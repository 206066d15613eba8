-- What is kept of a page, if its content is there too. Arguments: the page's key, '1' = with its content.
local page = redis.call('HMGET', 'curtsy:page:' .. ARGV[1], 'fresh', 'etag', 'modified', 'type', 'body')
if not page[1] then return {'none'} end
if ARGV[2] == '1' then
  local body = redis.call('GET', page[5])
  if not body then return {'none'} end
  return {'page', page[1], page[2], page[3], page[4], body}
end
if redis.call('EXISTS', page[5]) == 0 then return {'none'} end
return {'page', page[1], page[2], page[3], page[4]}
