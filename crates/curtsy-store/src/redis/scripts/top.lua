-- What every script begins with: its arguments, the store's own line, and the time with the steps of this server's clock taken out.
-- No rule of politeness is here or in any other script: versions, claims and caps are compared, times are compared, and that is all.
--
-- Arguments of every script: the clock ('' = this server's own), what the time should be by the caller's clock ('' = not known yet), and how
-- many steps of the clock the caller knows of.
local at = 0
local function take()
  at = at + 1
  return ARGV[at]
end
local function number()
  return tonumber(take())
end
-- A whole number, with all of its digits.
local function whole(n)
  return string.format('%.0f', n)
end

local STORE = 'curtsy:store'
local DUE = 'curtsy:due'
local ORDERS = 'curtsy:orders'
local REMINDED = 'curtsy:reminded'
-- Later than any moment that comes.
local NEVER = 9007199254740991
local SECOND = 1000000
-- A host that nobody asks for is forgotten after so many milliseconds, and so is a robots.txt: five days more than the thirty for which a good
-- copy is obeyed.
local FORGET_MS = 35 * 86400 * 1000

local line = redis.call('HMGET', STORE, 'epoch', 'floor', 'quiet', 'emptied', 'offset', 'steps', 'reminders', 'orders', 'started',
  'pages', 'queued', 'paused')
local function clock(raw)
  if raw ~= '' then return tonumber(raw) end
  local time = redis.call('TIME')
  return time[1] * SECOND + time[2]
end
if not line[1] then
  -- Nobody has been here, or everything is lost.
  return {'empty'}
end
local now = clock(take()) + tonumber(line[5])
do
  local expected, steps = take(), take()
  if expected ~= '' and steps == line[6] then
    local off = now - tonumber(expected)
    if off > SECOND or off < -SECOND then
      -- The clock stepped, or this call was long on its way: the caller knows which.
      return {'step', whole(now), line[6]}
    end
  end
end

-- What every answer begins with.
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

-- A host as a worker sees it: state, version, whether it is stopped.
local function view(host)
  local known = redis.call('HMGET', state_key(host), 's', 'v')
  return {known[1] or '', known[2] or '0', is_stopped(host) and '1' or '0'}
end
