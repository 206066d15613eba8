-- A worker goes. What it has claimed is for the others, at once; without claims nothing is left of it.
if redis.call('LLEN', 'curtsy:claims:' .. ARGV[1]) == 0 then
  redis.call('ZREM', 'curtsy:workers', ARGV[1])
else
  redis.call('ZADD', 'curtsy:workers', 0, ARGV[1])
end
return {'left'}
