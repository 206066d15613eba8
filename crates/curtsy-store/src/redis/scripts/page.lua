-- Reads a page, if its content is there. Arguments: the page's key, '1' = with its content.
local page = look(ARGV[1])
if page[1] == 'page' and ARGV[2] == '1' then page[#page + 1] = redis.call('GET', redis.call('HGET', 'curtsy:page:' .. ARGV[1], 'body')) end
return page
