#!lua name=social

-- The operations of social, as keyward.toml declares them. Lifetimes, and the other
-- side of followers and following, are kept by the schema.

-- ── Texts ────────────────────────────────────────────────────────────────────────

local function quote(text)
  local escaped = text:gsub('[%c"\\]', function(byte)
    return byte:find('%c') and string.format('\\u%04x', byte:byte()) or '\\' .. byte
  end)
  return '"' .. escaped .. '"'
end

-- A JSON object of texts: names and values in turn.
local function object(...)
  local words, members = { ... }, {}
  for place = 1, #words, 2 do
    members[#members + 1] = quote(words[place]) .. ':' .. quote(words[place + 1])
  end
  return '{' .. table.concat(members, ',') .. '}'
end

-- What a key is about: `team:7:likes` is about `team` and `7`.
local function subject(key)
  return key:match('^([^:]*):([^:]*)')
end

-- ── Users and shouts ─────────────────────────────────────────────────────────────

local function follow(keys)
  local _, user = subject(keys[1])
  local _, target = subject(keys[2])
  if user == target then
    return redis.error_reply('FOLLOW_SELF nobody follows himself')
  end
  return redis.call('SADD', keys[1], target) == 1 and 'followed' or 'duplicate'
end

local function unfollow(keys)
  local _, target = subject(keys[2])
  return redis.call('SREM', keys[1], target) == 1 and 'unfollowed' or 'absent'
end

local function retweet(keys, args)
  return redis.call('SADD', keys[1], args[1]) == 1 and 'retweeted' or 'duplicate'
end

local function undo_retweet(keys, args)
  return redis.call('SREM', keys[1], args[1]) == 1 and 'undone' or 'absent'
end

-- ── Likes and views ──────────────────────────────────────────────────────────────

-- Queues a like or its end.
local function queue_like(keys, args, change)
  local entity, id = subject(keys[1])
  local item = object('entity', entity, 'id', id, 'user_id', args[1], 'change', change, 'at', args[2])
  redis.call('RPUSH', keys[2], item)
end

local function like(keys, args)
  if redis.call('SADD', keys[1], args[1]) == 0 then
    return 'duplicate'
  end
  queue_like(keys, args, 'like')
  return 'liked'
end

local function unlike(keys, args)
  if redis.call('SREM', keys[1], args[1]) == 0 then
    return 'absent'
  end
  queue_like(keys, args, 'unlike')
  return 'unliked'
end

-- Queues a view: as one more of the update at the queue's end if that is about the
-- same thing on the same day, and else as an update of its own.
local function queue_view(queue, entity, id, at)
  local opening = '{"entity":' .. quote(entity) .. ',"id":' .. quote(id) .. ',"count":'
  local last = redis.call('LINDEX', queue, -1) or ''
  local count, last_at
  if last:sub(1, #opening) == opening then
    count, last_at = last:match('^(%d+),"at":"([^"]*)"}$', #opening + 1)
  end
  if count and last_at:sub(1, 10) == at:sub(1, 10) then
    redis.call('LSET', queue, -1, opening .. string.format('%d', count + 1) .. ',"at":' .. quote(at) .. '}')
  else
    redis.call('RPUSH', queue, opening .. '1,"at":' .. quote(at) .. '}')
  end
end

-- Counts a view by these counters, unless the user's last one is too near.
local function count_view(viewed, counters, queue, at)
  if not redis.call('SET', viewed, '1', 'NX') then
    return 'duplicate'
  end
  for _, counter in ipairs(counters) do
    redis.call('INCR', counter)
  end
  local entity, id = viewed:match('^viewed:[^:]*:([^:]*):(.*)$')
  queue_view(queue, entity, id, at)
  return 'counted'
end

local function view(keys, args)
  return count_view(keys[1], { keys[2] }, keys[3], args[1])
end

local function view_by_day(keys, args)
  if keys[3]:match('[^:]*$') ~= args[1]:sub(1, 10) then
    return redis.error_reply('DAY_MISMATCH the day is not that of the time')
  end
  return count_view(keys[1], { keys[2], keys[3] }, keys[4], args[1])
end

-- ── Comments ─────────────────────────────────────────────────────────────────────

-- Writes a comment on something, behind the others of that.
local function write_comment(comment, parent, others, queue, args)
  local entity, entity_id = subject(parent)
  local _, id = subject(comment)
  local user, text, at = args[1], args[2], args[3]
  redis.call('HSET', comment, 'user_id', user, 'text', text, 'entity', entity,
    'entity_id', entity_id, 'created_at', at)
  redis.call('RPUSH', others, id)
  redis.call('RPUSH', queue,
    object('comment_id', id, 'entity', entity, 'id', entity_id, 'user_id', user, 'text', text, 'at', at))
  return 'written'
end

local function comment_on(keys, args)
  if redis.call('EXISTS', keys[1]) == 1 then
    return 'duplicate'
  end
  return write_comment(keys[1], keys[2], keys[2], keys[3], args)
end

local function reply_to(keys, args)
  if redis.call('EXISTS', keys[2]) == 0 then
    return redis.error_reply('COMMENT_UNKNOWN the comment that is replied to is not there')
  end
  if redis.call('EXISTS', keys[1]) == 1 then
    return 'duplicate'
  end
  return write_comment(keys[1], keys[2], keys[3], keys[4], args)
end

-- ── Queues ───────────────────────────────────────────────────────────────────────

-- The most items of a batch.
local BATCH_MAX = 1000

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The key of a batch without its name, and the name.
local function batch_name(key)
  return key:match('^(.*:)([^:]*)$')
end

local function drain_queue(keys, args)
  local queue, leases, batch = keys[1], keys[2], keys[3]
  local family, name = batch_name(batch)
  local now = now_ms()
  if redis.call('EXISTS', batch) == 0 then
    local is_over = redis.call('ZRANGEBYSCORE', leases, '-inf', string.format('%d', now), 'LIMIT', 0, 1)
    if is_over[1] then
      -- Which key this is depends on the leases: the caller cannot name it.
      name = is_over[1]
      batch = family .. name
    else
      local count = math.min(tonumber(args[1]), BATCH_MAX, redis.call('LLEN', queue))
      if count == 0 then
        return { 'batch', false, 'items', {} }
      end
      for _ = 1, count do
        redis.call('LMOVE', queue, batch, 'LEFT', 'RIGHT')
      end
    end
  end
  redis.call('ZADD', leases, string.format('%d', now + args[2] * 1000), name)
  return { 'batch', name, 'items', redis.call('LRANGE', batch, 0, -1) }
end

local function confirm_drained(keys)
  local leases, batch = keys[1], keys[2]
  if redis.call('DEL', batch) == 0 then
    return 'absent'
  end
  local _, name = batch_name(batch)
  redis.call('ZREM', leases, name)
  return 'confirmed'
end

redis.register_function('follow', follow)
redis.register_function('retweet', retweet)
redis.register_function('like', like)
redis.register_function('unlike', unlike)
redis.register_function('view', view)
redis.register_function('view_by_day', view_by_day)
redis.register_function('comment_on', comment_on)
redis.register_function('reply_to', reply_to)

-- These free memory, or change what is there: they run when it is full, too.
redis.register_function{
  function_name = 'unfollow', callback = unfollow, flags = { 'allow-oom' },
}
redis.register_function{
  function_name = 'undo_retweet', callback = undo_retweet, flags = { 'allow-oom' },
}
redis.register_function{
  function_name = 'drain_queue', callback = drain_queue, flags = { 'allow-oom' },
}
redis.register_function{
  function_name = 'confirm_drained', callback = confirm_drained, flags = { 'allow-oom' },
}
