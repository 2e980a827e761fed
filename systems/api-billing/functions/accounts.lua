#!lua name=api_billing_accounts

-- Users and API keys of api-billing, as keyward.toml declares them. The ways from a
-- key to its user and from the last activity to the users are kept by the schema.

-- ── JSON as text ─────────────────────────────────────────────────────────────────

-- Where the text behind a JSON value begins. The value begins at `at`.
local function past_value(text, at)
  local opening = text:sub(at, at)
  if opening == '"' then
    local stop = text:find('"', at + 1, true)
    if text:sub(stop - 1, stop - 1) == '\\' then
      stop = text:find('["\\]', at + 1)
      while text:sub(stop, stop) == '\\' do
        stop = text:find('["\\]', stop + 2)
      end
    end
    return stop + 1
  end
  if opening ~= '{' and opening ~= '[' then
    return text:find('[%s,%]}]', at)
  end
  local depth = 0
  repeat
    at = text:find('["{}%[%]]', at)
    local mark = text:sub(at, at)
    if mark == '"' then
      at = past_value(text, at)
    else
      depth = depth + ((mark == '{' or mark == '[') and 1 or -1)
      at = at + 1
    end
  until depth == 0
  return at
end

-- What a JSON text says. One that cannot be read, for half of a surrogate pair, is taken as it is
-- written.
local function said(written)
  local is_read, value = pcall(cjson.decode, '[' .. written .. ']')
  return is_read and value[1] or written
end

-- The first and the last byte of a member's value in the text of a JSON object.
local function find_member(text, name)
  local at = text:find('{', 1, true) + 1
  while true do
    local found, first = text:match('^[%s,]*"([^"\\]*)"%s*:%s*()', at)
    if not found then
      at = text:match('^[%s,]*()"', at)
      if not at then
        return
      end
      local behind_name = past_value(text, at)
      found = said(text:sub(at, behind_name - 1))
      first = text:find('[^%s:]', behind_name)
    end
    at = past_value(text, first)
    if found == name then
      return first, at - 1
    end
  end
end

-- A member's value as it is written, or nil.
local function member(text, name)
  local first, last = find_member(text, name)
  return first and text:sub(first, last)
end

-- An object's text up to what closes it, white space before that aside, and the rest.
local function split_end(text)
  local first = #text
  while first > 1 and text:byte(first) ~= 125 do
    first = first - 1
  end
  while text:find('^%s', first - 1) do
    first = first - 1
  end
  return text:sub(1, first - 1), text:sub(first)
end

-- The text with one member set, and everything else as it was.
local function with_member(text, name, value)
  local first, last = find_member(text, name)
  if first then
    return text:sub(1, first - 1) .. value .. text:sub(last + 1)
  end
  local space = text:find('":%s') and ' ' or ''
  local kept, ending = split_end(text)
  return kept .. ',' .. space .. '"' .. name .. '":' .. space .. value .. ending
end

local function quote(text)
  local escaped = text:gsub('[%c"\\]', function(byte)
    return byte:find('%c') and string.format('\\u%04x', byte:byte()) or '\\' .. byte
  end)
  return '"' .. escaped .. '"'
end

-- ── Keys ─────────────────────────────────────────────────────────────────────────

local function id_of(user)
  return user:match('^user:(.*)$')
end

local function name_of(api_key)
  return api_key:match('^api_key:(.*)$')
end

local function status_of(row)
  return said(member(row, 'status') or 'null')
end

local function is_active(row)
  return status_of(row) == 'active'
end

-- Why a key may not be used, or nil. `user` is the key of the user whom it names.
local function refusal(row, user)
  if not is_active(row) then
    return redis.error_reply('API_KEY_REVOKED it was revoked, or is otherwise not active')
  end
  local status = redis.call('HGET', user, 'status')
  if not status then
    return redis.error_reply('USER_UNKNOWN there is no such user')
  end
  if status ~= 'active' then
    return redis.error_reply('USER_SUSPENDED its user is suspended, or otherwise not active')
  end
end

-- The row of a key that may be used from now on. `inherited` are members of another
-- row, as they stand there.
local function new_row(api_key, key_hash, user_id, inherited, created_at)
  return '{"key":' .. quote(api_key) .. ',"key_hash":' .. quote(key_hash) .. ',"user_id":' .. user_id
    .. inherited .. ',"created_at":' .. quote(created_at) .. ',"status":"active"}'
end

local function create_user(keys, args)
  if redis.call('EXISTS', keys[1]) == 1 then
    return 'duplicate'
  end
  if redis.call('EXISTS', keys[2]) == 1 then
    return redis.error_reply("API_KEY_TAKEN this key is another user's")
  end
  local user_id, api_key = id_of(keys[1]), name_of(keys[2])
  local fields = {
    'user_id', user_id, 'api_key', api_key, 'created_at', args[2],
    'balance_usd', '0', 'status', 'active',
  }
  for index, name in ipairs({ 'telegram_username', 'telegram_first_name' }) do
    local value = args[2 + index]
    if value and value ~= '' then
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
  end
  redis.call('SET', keys[2], new_row(api_key, args[1], user_id, '', args[2]))
  redis.call('HSET', keys[1], unpack(fields))
  return 'created'
end

local function validate_api_key(keys)
  local row = redis.call('GET', keys[1])
  if not row then
    return redis.error_reply('API_KEY_UNKNOWN there is no such key')
  end
  -- The user's key is made of the row: who validates a key does not know yet whose it is.
  return refusal(row, 'user:' .. member(row, 'user_id')) or row
end

-- Seconds since 1970 of an RFC 3339 time, in whatever zone; nil if it is none.
local function seconds_of(timestamp)
  local year, month, day, hour, minute, second, zone =
    timestamp:match('^(%d+)-(%d+)-(%d+).(%d+):(%d+):([%d.]+)(.*)$')
  if not year then
    return nil
  end
  -- Years that begin in March end with the day that leaps.
  local months = (month + 9) % 12
  local years = year - (months >= 10 and 1 or 0)
  local days = 365 * years + math.floor(years / 4) - math.floor(years / 100)
    + math.floor(years / 400) + math.floor((153 * months + 2) / 5) + day - 719469
  local seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
  local sign, zone_hours, zone_minutes = zone:match('^([+-])(%d+):(%d+)$')
  if sign then
    local ahead = (zone_hours * 60 + zone_minutes) * 60
    seconds = seconds - (sign == '+' and ahead or -ahead)
  end
  return seconds
end

-- Whether a time lies before another, if there is one.
local function is_before(time, other)
  local seconds, others = seconds_of(time), other and seconds_of(other)
  return seconds and others and seconds < others
end

local function use_api_key(keys, args)
  local row = redis.call('GET', keys[1])
  if not row or member(row, 'user_id') ~= id_of(keys[2]) then
    return redis.error_reply('API_KEY_UNKNOWN this user has no such key')
  end
  local refused = refusal(row, keys[2])
  if refused then
    return refused
  end
  local used_at = member(row, 'last_used_at')
  if not is_before(args[1], used_at and used_at ~= 'null' and said(used_at)) then
    row = with_member(row, 'last_used_at', quote(args[1]))
    redis.call('SET', keys[1], row)
  end
  if not is_before(args[1], redis.call('HGET', keys[2], 'last_active_at')) then
    redis.call('HSET', keys[2], 'last_active_at', args[1])
  end
  return row
end

local function rotate_api_key(keys, args)
  local user_id, old_key, new_key = id_of(keys[1]), name_of(keys[2]), name_of(keys[3])
  if redis.call('EXISTS', keys[1]) == 0 then
    return redis.error_reply('USER_UNKNOWN there is no such user')
  end
  local old = redis.call('GET', keys[2])
  if not old or member(old, 'user_id') ~= user_id then
    return redis.error_reply("API_KEY_UNKNOWN the old key is not this user's")
  end
  local new = redis.call('GET', keys[3])
  if not is_active(old) then
    if new and member(new, 'user_id') == user_id then
      return 'duplicate'
    end
    return redis.error_reply('API_KEY_REVOKED the old key was revoked, or is otherwise not active')
  end
  if new then
    return redis.error_reply('API_KEY_TAKEN the new key exists')
  end
  local inherited = ''
  for _, name in ipairs({ 'name', 'permissions' }) do
    local value = member(old, name)
    if value then
      inherited = inherited .. ',"' .. name .. '":' .. value
    end
  end
  local current = redis.call('HGET', keys[1], 'api_key')
  redis.call('SET', keys[3], new_row(new_key, args[1], user_id, inherited, args[2]))
  redis.call('SET', keys[2], with_member(old, 'status', '"revoked"'))
  if not current or current == old_key then
    redis.call('HSET', keys[1], 'api_key', new_key)
  end
  return 'rotated'
end

local function revoke_api_key(keys)
  local row = redis.call('GET', keys[2])
  if not row or member(row, 'user_id') ~= id_of(keys[1]) then
    return redis.error_reply('API_KEY_UNKNOWN this user has no such key')
  end
  if status_of(row) == 'revoked' then
    return 'duplicate'
  end
  redis.call('SET', keys[2], with_member(row, 'status', '"revoked"'))
  if redis.call('HGET', keys[1], 'api_key') == name_of(keys[2]) then
    redis.call('HDEL', keys[1], 'api_key')
  end
  return 'revoked'
end

redis.register_function('create_user', create_user)
redis.register_function('use_api_key', use_api_key)
redis.register_function('rotate_api_key', rotate_api_key)
redis.register_function{
  function_name = 'validate_api_key', callback = validate_api_key, flags = { 'no-writes' },
}

-- These free memory, or change what is there: they run when it is full, too.
redis.register_function{
  function_name = 'revoke_api_key', callback = revoke_api_key, flags = { 'allow-oom' },
}
