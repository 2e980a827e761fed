#!lua name=events_websocket

-- Connections, rooms, the gateway's nodes and messages for users who are offline, as
-- keyward.toml declares them. A room is the mirror of its connections' rooms, which the
-- schema keeps, as it does the length of the queues and how long a heartbeat lives.

local function connection_of(key)
  return key:match('^websocket:connection:(.*):[^:]+$')
end

local function room_of(key)
  return key:match('^websocket:room:(.*)$')
end

local function node_of(key)
  return key:match('^websocket:node:([^:]*)')
end

-- Whether a node's heartbeat has ended while it had connections: whoever sweeps takes it for
-- dead, and it has to begin anew.
local function is_given_up(connections, alive)
  return redis.call('EXISTS', alive) == 0 and redis.call('EXISTS', connections) == 1
end

local function ws_connect(keys)
  local connection, node = connection_of(keys[2]), node_of(keys[6])
  if is_given_up(keys[6], keys[7]) then
    return redis.error_reply('NODE_GIVEN_UP its heartbeat has ended: it begins anew by ws_start')
  end
  local user_id = keys[3]:match('^websocket:user:(.*)$')
  if not redis.call('SET', keys[2], user_id, 'NX') then
    return 'duplicate'
  end
  redis.call('SADD', keys[1], connection)
  redis.call('SADD', keys[3], connection)
  redis.call('SET', keys[4], node)
  redis.call('SADD', keys[5], node)
  redis.call('SADD', keys[6], connection)
  redis.call('SET', keys[7], '1')
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

-- Closes a connection whose user is known by its own key.
local function close(connections, connection, user_id)
  local own = 'websocket:connection:' .. connection
  redis.call('SREM', connections, connection)
  if user_id then
    redis.call('SREM', 'websocket:user:' .. user_id, connection)
  end
  redis.call('DEL', own .. ':user', own .. ':rooms', own .. ':node')
end

-- Takes a connection from its node, and the node from the nodes with its last one.
local function leave_node(nodes, node, connection)
  local own = 'websocket:node:' .. node
  redis.call('SREM', own, connection)
  if redis.call('EXISTS', own) == 0 then
    redis.call('SREM', nodes, node)
  end
end

local function ws_disconnect(keys)
  local connection, user_id = connection_of(keys[2]), redis.call('GET', keys[2])
  if not user_id then
    return 'absent'
  end
  local node = redis.call('GET', keys[4])
  close(keys[1], connection, user_id)
  if node then
    leave_node(keys[5], node, connection)
  end
  return 'disconnected'
end

local function ws_heartbeat(keys)
  if is_given_up(keys[1], keys[2]) then
    return 0
  end
  redis.call('SET', keys[2], '1')
  return redis.call('SCARD', keys[1])
end

-- Closes some connections of a node, and answers how many.
local function close_some(keys, args)
  local count = (args[1] or '') == '' and 100 or tonumber(args[1])
  local found = redis.call('SRANDMEMBER', keys[3], count)
  for _, connection in ipairs(found) do
    close(keys[1], connection, redis.call('GET', 'websocket:connection:' .. connection .. ':user'))
    leave_node(keys[2], node_of(keys[3]), connection)
  end
  return #found
end

-- What a node of this name has left open is not its own: it has only begun.
local function ws_start(keys, args)
  redis.call('SET', keys[4], '1')
  return close_some(keys, args)
end

local function ws_sweep(keys, args)
  if redis.call('EXISTS', keys[4]) == 1 then
    return redis.error_reply("NODE_ALIVE the node's heartbeat is there")
  end
  return close_some(keys, args)
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
redis.register_function('queue_message', queue_message)

-- These free memory, or change what is there: they run when it is full, too.
redis.register_function{
  function_name = 'ws_leave', callback = ws_leave, flags = { 'allow-oom' },
}
redis.register_function{
  function_name = 'ws_disconnect', callback = ws_disconnect, flags = { 'allow-oom' },
}
redis.register_function{
  function_name = 'ws_heartbeat', callback = ws_heartbeat, flags = { 'allow-oom' },
}
redis.register_function{
  function_name = 'ws_start', callback = ws_start, flags = { 'allow-oom' },
}
redis.register_function{
  function_name = 'ws_sweep', callback = ws_sweep, flags = { 'allow-oom' },
}
redis.register_function{
  function_name = 'drain_messages', callback = drain_messages, flags = { 'allow-oom' },
}
