#!lua name=events_websocket

-- Connections, rooms and messages for users who are offline, as keyward.toml declares
-- them. A room is the mirror of its connections' rooms, which the schema keeps, as it
-- does the length of the queues.

local function connection_of(key)
  return key:match('^websocket:connection:(.*):[^:]+$')
end

local function room_of(key)
  return key:match('^websocket:room:(.*)$')
end

local function ws_connect(keys)
  local connection = connection_of(keys[2])
  local user_id = keys[3]:match('^websocket:user:(.*)$')
  if not redis.call('SET', keys[2], user_id, 'NX') then
    return 'duplicate'
  end
  redis.call('SADD', keys[1], connection)
  redis.call('SADD', keys[3], connection)
  return 'connected'
end

local function ws_join(keys)
  if redis.call('EXISTS', keys[1]) == 0 then
    return redis.error_reply('CONNECTION_UNKNOWN there is no such connection')
  end
  return redis.call('SADD', keys[2], room_of(keys[3])) == 1 and 'joined' or 'duplicate'
end

local function ws_leave(keys)
  return redis.call('SREM', keys[1], room_of(keys[2])) == 1 and 'left' or 'absent'
end

local function ws_disconnect(keys)
  local connection, user_id = connection_of(keys[2]), redis.call('GET', keys[2])
  if not user_id then
    return 'absent'
  end
  redis.call('SREM', keys[1], connection)
  redis.call('SREM', 'websocket:user:' .. user_id, connection)
  redis.call('DEL', keys[2], keys[3])
  return 'disconnected'
end

local function queue_message(keys, args)
  if redis.call('EXISTS', keys[1]) == 1 then
    return 'online'
  end
  redis.call('RPUSH', keys[2], args[1])
  return 'queued'
end

local function drain_messages(keys)
  local messages = redis.call('LRANGE', keys[1], 0, -1)
  redis.call('DEL', keys[1])
  return messages
end

redis.register_function('ws_connect', ws_connect)
redis.register_function('ws_join', ws_join)
redis.register_function('ws_leave', ws_leave)
redis.register_function('ws_disconnect', ws_disconnect)
redis.register_function('queue_message', queue_message)
redis.register_function('drain_messages', drain_messages)
