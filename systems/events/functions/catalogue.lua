#!lua name=events_catalogue

-- Places, figures and popularity of events, and what is searched for, as keyward.toml
-- declares them. Lifetimes and the length of lists are kept by the schema.

local NOTLOADED = 'NOTLOADED the row is not here: load it from the database of record and try again'

-- The places of an event and how many are taken; nothing where the row is absent.
local function places_of(key)
  local places = redis.call('HMGET', key, 'max_attendees', 'current_registrations')
  local max, taken = tonumber(places[1] or nil), tonumber(places[2] or nil)
  if max and taken then
    return max, taken
  end
end

-- Writes how many places are taken, and answers how many are left. The figures are those
-- of the database of record, which may have been read before: they never fall below zero.
local function set_taken(keys, max, taken, change, at)
  local counted = redis.call('HGET', keys[2], 'registration_count')
  local left = max - taken
  redis.call(
    'HSET', keys[1],
    'current_registrations', taken,
    'available_spots', left,
    'is_full', tostring(left == 0)
  )
  if counted then
    local count = math.max(0, tonumber(counted) + change)
    redis.call('HSET', keys[2], 'registration_count', count, 'last_updated', at)
  end
  return left
end

local function register_attendee(keys, args)
  local max, taken = places_of(keys[1])
  if not max then
    return redis.error_reply(NOTLOADED)
  end
  if taken >= max then
    return redis.error_reply('EVENT_FULL no place is left')
  end
  return set_taken(keys, max, taken + 1, 1, args[1])
end

local function cancel_registration(keys, args)
  local max, taken = places_of(keys[1])
  if not max then
    return redis.error_reply(NOTLOADED)
  end
  if taken == 0 then
    return redis.error_reply('NOBODY_REGISTERED no place is taken')
  end
  return set_taken(keys, max, taken - 1, -1, args[1])
end

local function count_interaction(keys, args)
  local field, change = args[1] .. '_count', args[3]
  if redis.call('HEXISTS', keys[1], field) == 0 then
    return redis.error_reply(NOTLOADED)
  end
  local count = redis.call('HINCRBY', keys[1], field, change and change ~= '' and change or 1)
  redis.call('HSET', keys[1], 'last_updated', args[2])
  return count
end

local function raise_popularity(keys, args)
  local trending = redis.call('ZINCRBY', keys[1], args[2], args[1])
  local popularity = redis.call('ZINCRBY', keys[2], args[2], args[1])
  return { 'trending', trending, 'popularity', popularity }
end

-- A query that is searched for again moves to the front. It is written even if it stands
-- there already: each search gives the list another seven days.
local function remember_search(keys, args)
  redis.call('LREM', keys[1], 1, args[1])
  redis.call('LPUSH', keys[1], args[1])
  return tonumber(redis.call('ZINCRBY', keys[2], 1, args[1]))
end

redis.register_function('register_attendee', register_attendee)
redis.register_function('cancel_registration', cancel_registration)
redis.register_function('count_interaction', count_interaction)
redis.register_function('raise_popularity', raise_popularity)
redis.register_function('remember_search', remember_search)
