#!lua name=events_analytics

-- Counters, visits, experiments and models, as keyward.toml declares them. How long a
-- visit lives, and the end of what belongs to it, are kept by the schema.

local function given(argument)
  return argument ~= '' and argument or nil
end

local function count_metric(keys, args)
  local change = given(args[2]) or 1
  if redis.call('SET', keys[1], change, 'NX', 'EX', args[1]) then
    return tonumber(change)
  end
  return redis.call('INCRBY', keys[1], change)
end

local function track_page_view(keys, args)
  local at, user_id, event_id = args[1], given(args[2]), given(args[3])
  local fields = { 'last_activity', at }
  if redis.call('EXISTS', keys[1]) == 0 then
    fields = { 'start_time', at, 'last_activity', at }
  end
  if user_id then
    fields[#fields + 1] = 'user_id'
    fields[#fields + 1] = user_id
  end
  redis.call('HSET', keys[1], unpack(fields))
  local page_views = redis.call('HINCRBY', keys[1], 'page_views', 1)
  if event_id then
    redis.call('SADD', keys[2], event_id)
  end
  return page_views
end

local function assign_variant(keys, args)
  redis.call('SET', keys[1], args[1], 'NX', 'EX', args[2])
  return redis.call('GET', keys[1])
end

-- Sets a key, for so many seconds if they are given.
local function set(key, value, seconds)
  if seconds then
    redis.call('SET', key, value, 'EX', seconds)
  else
    redis.call('SET', key, value)
  end
end

-- Data may be evicted and are then published again, under the same version.
local function publish_model(keys, args)
  local version, data, seconds = args[1], args[2], given(args[3])
  if redis.call('GET', keys[1]) == version and redis.call('EXISTS', keys[2]) == 1 then
    return 'duplicate'
  end
  set(keys[1], version, seconds)
  set(keys[2], data, seconds)
  return 'published'
end

redis.register_function('count_metric', count_metric)
redis.register_function('track_page_view', track_page_view)
redis.register_function('assign_variant', assign_variant)
redis.register_function('publish_model', publish_model)
