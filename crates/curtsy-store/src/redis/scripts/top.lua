-- The beginning of every script: arguments, the store's own fields, and this server's time without
-- its steps. Neither this nor any other script contains a rule of politeness: they compare
-- versions, claims, caps and times.
--
-- Arguments of every script: the clock ('' = this server's own), the time by the caller's clock (''
-- = not known yet), how many steps of the clock the caller knows, and how far the clocks may
-- differ.
local at = 0
local function take()
  at = at + 1
  return ARGV[at]
end
local function number()
  return tonumber(take())
end
-- Returns a whole number with all of its digits.
local function whole(n)
  return string.format('%.0f', n)
end

local STORE = 'curtsy:store'
local DUE = 'curtsy:due'
local ORDERS = 'curtsy:orders'
local REMINDED = 'curtsy:reminded'
-- How long an unused host is kept, and a robots.txt: five days more than the thirty for which a
-- good copy is valid.
local FORGET_MS = 35 * 86400 * 1000

local line = redis.call('HMGET', STORE, 'epoch', 'floor', 'quiet', 'emptied', 'offset', 'steps', 'reminders', 'orders', 'started',
  'pages', 'queued', 'paused')
local function clock(raw)
  if raw ~= '' then return tonumber(raw) end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
if not line[1] then
  -- The store is new, or everything is lost.
  return {'empty'}
end
local now = clock(take()) + tonumber(line[5])
do
  local expected, steps, step = take(), take(), number()
  if expected ~= '' and steps == line[6] then
    local off = now - tonumber(expected)
    if off > step or off < -step then
      -- The clock stepped, or this call took long: the caller knows which.
      return {'step', whole(now), line[6]}
    end
  end
end

-- Returns an answer with the fields that every answer begins with.
local function answer(kind, ...)
  return {kind, whole(now), line[6], {line[1], line[2], line[3], line[4]}, {line[9], line[10]}, ...}
end

local function state_key(host) return 'rate_limit:' .. host end
local function queue_key(host) return 'curtsy:queue:' .. host end
local function urls_key(host) return 'curtsy:urls:' .. host end
local function known_key(id) return 'curtsy:known:' .. id end

local function is_stopped(host)
  local order = redis.call('HGET', ORDERS, host)
  return order and string.sub(order, 1, 1) == '1' or false
end

-- Returns a host as a worker sees it: state, version, whether it is stopped.
local function view(host)
  local known = redis.call('HMGET', state_key(host), 's', 'v')
  return {known[1] or '', known[2] or '0', is_stopped(host) and '1' or '0'}
end
