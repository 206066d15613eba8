-- Reads entries of a list with their reasons. Arguments: the list, the first entry, how many.
local list, first, count = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local entries = redis.call('LRANGE', list, first, first + count - 1)
local reasons = {}
for n, entry in ipairs(entries) do reasons[n] = redis.call('HGET', list .. ':reasons', entry) or '' end
return {'list', redis.call('LLEN', list), entries, reasons}
