-- Returns the metadata of a page, if its content is there too.
local function look(key)
  local page = redis.call('HMGET', 'curtsy:page:' .. key, 'fresh', 'etag', 'modified', 'type', 'body')
  if not page[1] or redis.call('EXISTS', page[5]) == 0 then return {'none'} end
  return {'page', page[1], page[2], page[3], page[4]}
end
