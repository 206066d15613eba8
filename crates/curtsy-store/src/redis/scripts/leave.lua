-- A worker goes: what it has claimed is for the others, at once.
redis.call('ZADD', 'curtsy:workers', 0, ARGV[1])
return {'left'}
