-- Reads a host.
return answer('view', view(take()))
