#!lua name=gateway

-- The operations of telegram-gateway, as keyward.toml declares them. Lifetimes, and
-- that a message leaves the index when it ends, are kept by the schema.

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
  local kept, ending = split_end(text)
  -- What stands behind a colon or a comma: JavaScript writes nothing, Python a space.
  local space = text:find('":%s') and ' ' or ''
  local comma = kept:find('^%s*{$') and '' or ',' .. space
  return kept .. comma .. '"' .. name .. '":' .. space .. value .. ending
end

local function quote(text)
  local escaped = text:gsub('[%c"\\]', function(byte)
    return byte:find('%c') and string.format('\\u%04x', byte:byte()) or '\\' .. byte
  end)
  return '"' .. escaped .. '"'
end

-- ── Messages ─────────────────────────────────────────────────────────────────────

-- Rows that are read at a time while the index is walked.
local CHUNK = 100
local BACKSLASH = 92

-- A message's status if it stands before whatever is nested, as it mostly does, and has
-- nothing escaped in it.
local function plain_status_of(message)
  local at = message:find('"status"', 1, true)
  local object, array = message:find('{', 2, true), message:find('[', 2, true)
  if not at or (object and object < at) or (array and array < at) then
    return
  end
  return message:byte(at - 1) ~= BACKSLASH and message:match('^%s*:%s*"([^"\\]*)"', at + 8)
end

-- A message's status. One that came without, or with null, is as it was received.
local function status_of(message)
  local plain = plain_status_of(message)
  if plain then
    return plain
  end
  local first, last = find_member(message, 'status')
  local written = first and message:sub(first, last)
  if not first or written == 'null' then
    return 'received'
  end
  return written:match('^"([^"\\]*)"$') or said(written)
end

-- A test for a status that seldom needs to read a message whole. Quotes within a text
-- are escaped: `"status"` is a word of its own wherever it stands. Other programs escape what
-- need not be (`a\/b`), so a text with a backslash in it says nothing.
local function test_for(status)
  local wanted = quote(status)
  return function(message)
    local is_likely = message:find(wanted, 1, true) or message:find('\\', 1, true)
      or not message:find('"status"', 1, true) or message:find('"status"%s*:%s*null')
    return is_likely and status_of(message) == status
  end
end

-- Messages that pass a test, until so many are found. `next_ids` answers the next ids to
-- look at. A Redis without the schema has ids of ended messages among them.
local function collect(index, next_ids, count, test)
  local found = {}
  local message_key = index:gsub('^telegram:channel:(.*):recent$', 'telegram:msg:%1:')
  while #found < count do
    local ids = next_ids()
    if #ids == 0 then
      break
    end
    local keys = {}
    for place, id in ipairs(ids) do
      keys[place] = message_key .. id
    end
    local messages = redis.call('MGET', unpack(keys))
    for place, id in ipairs(ids) do
      local message = messages[place]
      if message and #found < count and test(message) then
        found[#found + 1] = { 'message_id', id, 'message', message }
      end
    end
  end
  return found
end

-- The ids of an index, from its old end (ZRANGE) or its new one (ZREVRANGE).
local function indexed(index, range)
  local rank = -CHUNK
  return function()
    rank = rank + CHUNK
    return redis.call(range, index, rank, rank + CHUNK - 1)
  end
end

-- The ids of a part of the index, in its order. Whoever was taken from the index, or is not in
-- it yet, is left out.
local function indexed_part(index, part)
  local next_ids = indexed(part, 'ZRANGE')
  return function()
    local known
    repeat
      local ids = next_ids()
      known = {}
      local times = #ids > 0 and redis.call('ZMSCORE', index, unpack(ids))
      for place, id in ipairs(ids) do
        known[#known + 1] = times[place] and id or nil
      end
    until #known > 0 or #ids == 0
    return known
  end
end

local function receive_message(keys, args)
  local message, at = args[1], args[2]
  if not message:find('^%s*{') then
    return redis.error_reply('NOT_A_MESSAGE a message is a JSON object')
  end
  if redis.call('EXISTS', keys[2]) == 1 then
    return 'duplicate'
  end
  local first, last = find_member(message, 'status')
  if not first or message:sub(first, last) == 'null' then
    message = with_member(message, 'status', '"received"')
  end
  -- First what can fail: a stock Redis finds out here whether `at` is a number.
  redis.call('ZADD', keys[3], at, keys[1]:match('[^:]*$'))
  redis.call('SET', keys[1], message)
  redis.call('SET', keys[2], '1')
  return 'stored'
end

local function poll_messages(keys, args)
  local recent, open, taken = keys[1], keys[2], keys[3]
  local status, count = args[1], tonumber(args[2])
  local ids
  if status == 'processed' then
    ids = indexed(recent, 'ZRANGE')
  else
    ids = indexed_part(recent, status == 'received' and open or taken)
  end
  return collect(recent, ids, count, test_for(status))
end

local function newest_messages(keys, args)
  local count = (args[1] or '') == '' and 100 or tonumber(args[1])
  local newest = collect(keys[1], indexed(keys[1], 'ZREVRANGE'), count, function() return true end)
  local oldest_first = {}
  for place = #newest, 1, -1 do
    oldest_first[#oldest_first + 1] = newest[place]
  end
  return oldest_first
end

local function set_message_status(keys, args)
  local message = redis.call('GET', keys[1])
  if not message then
    return redis.error_reply('MESSAGE_UNKNOWN the message is not there, or no longer')
  end
  local status, from = status_of(message), args[2] or ''
  if status == args[1] or (from ~= '' and status ~= from) then
    return 'unchanged'
  end
  redis.call('SET', keys[1], with_member(message, 'status', quote(args[1])), 'KEEPTTL')
  return 'updated'
end

redis.register_function('receive_message', receive_message)
redis.register_function('set_message_status', set_message_status)
redis.register_function{
  function_name = 'poll_messages', callback = poll_messages, flags = { 'no-writes' },
}
redis.register_function{
  function_name = 'newest_messages', callback = newest_messages, flags = { 'no-writes' },
}
