-- Removes a worker. Its claims are available to the others at once. Arguments: the worker.
if redis.call('LLEN', 'curtsy:claims:' .. ARGV[1]) == 0 then
  redis.call('ZREM', 'curtsy:workers', ARGV[1])
else
  redis.call('ZADD', 'curtsy:workers', 0, ARGV[1])
end
return {'left'}
