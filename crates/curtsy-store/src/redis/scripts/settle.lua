-- Records the fates of URLs. Arguments: the counter of reminders that the caller knows, and the
-- changes.
local reminders = take()
local writes = take_writes()
local behind = behind_reminders(reminders, coming(writes))
if behind then return behind end
local hosts = {}
for _, write in ipairs(writes) do
  write_url(write)
  hosts[write.from] = true
end
hosts[''] = nil
for host in pairs(hosts) do reschedule_unless_held(host) end
return answer('settled')
