-- Which of these contents are not there? Those that are stay for as long again. Arguments: milliseconds, names.
local missing = {}
for n = 2, #ARGV do
  if redis.call('PEXPIRE', ARGV[n], ARGV[1]) == 0 then missing[#missing + 1] = n - 1 end
end
return {'missing', missing}
