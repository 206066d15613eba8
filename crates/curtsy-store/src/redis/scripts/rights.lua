-- Finds out which of these commands the user may run on which of these keys. Arguments: how many
-- keys, the keys, the commands. The answer has a '1' or a '0' for each command and key. Nothing is
-- run.
local count = tonumber(ARGV[1])
-- Commands whose first argument is not a key.
local OTHERS = {['EVALSHA'] = {'EVALSHA', '0', '0'}, ['SCRIPT|LOAD'] = {'SCRIPT', 'LOAD', ''}}
local may = {}
for n = count + 2, #ARGV do
  for k = 2, count + 1 do
    may[#may + 1] = redis.acl_check_cmd(unpack(OTHERS[ARGV[n]] or {ARGV[n], ARGV[k]})) and '1' or '0'
  end
end
return table.concat(may)
