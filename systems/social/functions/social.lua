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

-- Counts a view by these counters, unless the user's last one is too near.
local function count_view(viewed, counters, queue, at)
  if not redis.call('SET', viewed, '1', 'NX') then
    return 'duplicate'
  end
  for _, counter in ipairs(counters) do
    redis.call('INCR', counter)
  end
  local user, entity, id = viewed:match('^viewed:([^:]*):([^:]*):(.*)$')
  redis.call('RPUSH', queue, object('entity', entity, 'id', id, 'user_id', user, 'at', at))
  return 'counted'
end

local function view(keys, args)
  return count_view(keys[1], { keys[2] }, keys[3], args[1])
end

local function view_by_day(keys, args)
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
    object('comment_id', id, 'entity', entity, 'id', entity_id, 'user_id', user, 'at', at))
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

local function drain_queue(keys, args)
  local count = tonumber(args[1])
  if count == 0 then
    return {}
  end
  if redis.call('EXISTS', keys[2]) == 0 then
    for _ = 1, math.min(count, redis.call('LLEN', keys[1])) do
      redis.call('LMOVE', keys[1], keys[2], 'LEFT', 'RIGHT')
    end
  end
  return redis.call('LRANGE', keys[2], 0, count - 1)
end

local function confirm_drained(keys, args)
  local count = math.min(tonumber(args[1]), redis.call('LLEN', keys[1]))
  if count > 0 then
    redis.call('LTRIM', keys[1], count, -1)
  end
  return count
end

redis.register_function('follow', follow)
redis.register_function('unfollow', unfollow)
redis.register_function('retweet', retweet)
redis.register_function('undo_retweet', undo_retweet)
redis.register_function('like', like)
redis.register_function('unlike', unlike)
redis.register_function('view', view)
redis.register_function('view_by_day', view_by_day)
redis.register_function('comment_on', comment_on)
redis.register_function('reply_to', reply_to)
redis.register_function('drain_queue', drain_queue)
redis.register_function('confirm_drained', confirm_drained)
