-- Reads the metadata of many pages. Arguments: their keys.
local found = {'pages'}
for n = 1, #ARGV do found[n + 1] = look(ARGV[n]) end
return found
