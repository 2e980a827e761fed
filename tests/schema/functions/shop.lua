#!lua name=shop

-- Moves money from a customer's balance; nothing is left behind by a refusal.
local function pay(keys, args)
  local left = redis.call('HINCRBYFLOAT', keys[1], 'balance', '-' .. args[1])
  redis.call('HSET', keys[1], 'seen_at', args[2])
  return left
end

-- Writes first and fails then, on purpose.
local function fail(keys, args)
  redis.call('HINCRBYFLOAT', keys[1], 'balance', args[1])
  return redis.error_reply('CLOSED the shop is closed')
end

redis.register_function('pay', pay)
redis.register_function('fail', fail)
