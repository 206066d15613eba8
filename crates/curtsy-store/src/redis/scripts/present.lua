-- Finds out which contents are missing, and extends the life of the others. Arguments:
-- milliseconds, names.
local missing = {}
for n = 2, #ARGV do
  if redis.call('PEXPIRE', ARGV[n], ARGV[1]) == 0 then missing[#missing + 1] = n - 1 end
end
return {'missing', missing}
