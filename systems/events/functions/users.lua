#!lua name=events_users

-- Sessions, one-time tokens and rate limits of the user service, as keyward.toml
-- declares them. How long sessions and tokens live is kept by the schema.

-- Adds a field to a list of names and values, unless it was left out.
local function add(fields, name, value)
  if value and value ~= '' then
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
end

-- The server's time as RFC 3339 has it.
local function now()
  local seconds = tonumber(redis.call('TIME')[1])
  local days = math.floor(seconds / 86400)
  -- The calendar of Gregory, counted in eras of 400 years from 1 March of the year 0.
  local day = days + 719468
  local era = math.floor(day / 146097)
  day = day - era * 146097
  local year = math.floor((day - math.floor(day / 1460) + math.floor(day / 36524) - math.floor(day / 146096)) / 365)
  day = day - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * day + 2) / 153)
  day = day - math.floor((153 * month + 2) / 5) + 1
  month = month < 10 and month + 3 or month - 9
  year = year + era * 400 + (month <= 2 and 1 or 0)
  local rest = seconds - days * 86400
  return string.format(
    '%04d-%02d-%02dT%02d:%02d:%02dZ',
    year, month, day, math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60
  )
end

local function sign_in(keys, args)
  if redis.call('EXISTS', keys[1]) == 1 then
    return 'duplicate'
  end
  local at = args[4]
  if not at or at == '' then
    at = now()
  end
  local fields = {
    'user_id', args[1], 'email', args[2], 'role', args[3], 'created_at', at, 'last_activity', at,
  }
  add(fields, 'ip_address', args[5])
  add(fields, 'user_agent', args[6])
  redis.call('HSET', keys[1], unpack(fields))
  return 'signed_in'
end

local function touch_session(keys, args)
  if redis.call('EXISTS', keys[1]) == 0 then
    return 'absent'
  end
  redis.call('HSET', keys[1], 'last_activity', args[1])
  return 'touched'
end

local function sign_out(keys)
  return redis.call('DEL', keys[1]) == 1 and 'signed_out' or 'absent'
end

local function issue_token(keys, args)
  return redis.call('SET', keys[1], args[1], 'NX') and 'issued' or 'duplicate'
end

local function consume_token(keys)
  local user_id = redis.call('GETDEL', keys[1])
  return user_id
    or redis.error_reply('TOKEN_UNKNOWN it was never issued, has expired, or was consumed before')
end

local function take_api_call(keys, args)
  local limit, taken = tonumber(args[1]), tonumber(redis.call('GET', keys[1]) or 0)
  if taken >= limit then
    local wait_ms = redis.call('PTTL', keys[1])
    if wait_ms < 0 then
      -- A limit of 0: no window has begun that would end.
      wait_ms = args[2] * 1000
    end
    return { 'allowed', 0, 'remaining', 0, 'retry_after', math.ceil(wait_ms / 1000) }
  end
  if not redis.call('SET', keys[1], '1', 'NX', 'EX', args[2]) then
    redis.call('INCR', keys[1])
  end
  return { 'allowed', 1, 'remaining', limit - taken - 1, 'retry_after', 0 }
end

redis.register_function('sign_in', sign_in)
redis.register_function('issue_token', issue_token)
redis.register_function('take_api_call', take_api_call)

-- These free memory, or change what is there: they run when it is full, too.
redis.register_function{
  function_name = 'touch_session', callback = touch_session, flags = { 'allow-oom' },
}
redis.register_function{
  function_name = 'sign_out', callback = sign_out, flags = { 'allow-oom' },
}
redis.register_function{
  function_name = 'consume_token', callback = consume_token, flags = { 'allow-oom' },
}
