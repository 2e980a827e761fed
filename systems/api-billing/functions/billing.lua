#!lua name=api_billing

-- Balances, webhooks, usage and rate limits of api-billing, as keyward.toml declares
-- them. Lifetimes and the length of `transactions:…:recent` are kept by the schema.

local function quote(text)
  local escaped = text:gsub('[%c"\\]', function(byte)
    return byte:find('%c') and string.format('\\u%04x', byte:byte()) or '\\' .. byte
  end)
  return '"' .. escaped .. '"'
end

-- ── Balances ─────────────────────────────────────────────────────────────────────

-- An amount without its exponent, or nil if that is beyond reason: `-1e-05`, as Lua and Python write small floats, is
-- -0.00001. Digits are moved, never converted.
local function plain(amount)
  local sign, whole, part, exponent = amount:match('^(%-?)(%d+)%.?(%d*)[eE]([+-]?%d+)$')
  if not exponent then
    return amount
  end
  exponent = tonumber(exponent)
  -- Nobody has such an amount: it would only be long.
  if math.abs(exponent) > 30 then
    return nil
  end
  local point = #whole + exponent
  local digits = ('0'):rep(1 - point) .. whole .. part .. ('0'):rep(exponent - #part)
  point = math.max(point, 1)
  whole, part = digits:sub(1, point):gsub('^0+(%d)', '%1'), digits:sub(point + 1)
  return sign .. whole .. (part ~= '' and '.' .. part or '')
end

-- Whether one amount of money is at least another. Both are plain texts without a sign:
-- digits are compared, never converted.
local function covers(owned, asked)
  local owned_whole, owned_part = owned:match('^(%d+)%.?(%d*)$')
  local asked_whole, asked_part = asked:match('^(%d+)%.?(%d*)$')
  if #owned_whole ~= #asked_whole then
    return #owned_whole > #asked_whole
  end
  local scale = math.max(#owned_part, #asked_part)
  owned_part = owned_part .. ('0'):rep(scale - #owned_part)
  asked_part = asked_part .. ('0'):rep(scale - #asked_part)
  return owned_whole .. owned_part >= asked_whole .. asked_part
end

-- Whether an amount has the sign that its type of transaction asks for.
local function has_its_sign(change)
  local is_negative = change.amount:sub(1, 1) == '-'
  local is_zero = not change.amount:find('[1-9]')
  if change.type == 'topup' then
    return not is_negative and not is_zero
  end
  return change.type ~= 'usage' or is_negative and not is_zero
end

-- Changes a balance and writes the transaction down. Checks first, so an error means
-- that nothing was written. Answers the new balance, or nil and the error.
local function book(user, transactions, recent, change)
  if not change.amount then
    return nil, redis.error_reply('AMOUNT_TOO_LONG its exponent is beyond 30')
  end
  if not has_its_sign(change) then
    return nil, redis.error_reply('AMOUNT_INVALID a topup is positive and a usage negative')
  end
  local before = redis.call('HGET', user, 'balance_usd')
  if not before then
    return nil, redis.error_reply('USER_UNKNOWN there is no such user')
  end
  before = plain(before)
  if not before then
    return nil, redis.error_reply("AMOUNT_TOO_LONG the balance's exponent is beyond 30")
  end
  -- A balance is never below zero: one with a sign is a zero.
  before = before:gsub('^%-', '')
  local charge = change.amount:match('^%-(.*)$')
  if charge and not covers(before, charge) then
    return nil, redis.error_reply('INSUFFICIENT_BALANCE the balance would fall below zero')
  end
  local after = redis.call('HINCRBYFLOAT', user, 'balance_usd', change.amount)
  if charge and change.type == 'usage' then
    redis.call('HINCRBYFLOAT', user, 'total_spent_usd', charge)
  end
  local entry = '{"id":' .. quote(change.id) .. ',"type":' .. quote(change.type)
    .. ',"amount_usd":' .. change.amount .. ',"balance_before":' .. before
    .. ',"balance_after":' .. after
  if change.source then
    entry = entry .. ',"source":' .. quote(change.source)
  end
  if change.external_id then
    local name = change.source == 'paddle' and 'paddle_transaction_id' or 'external_id'
    entry = entry .. ',"' .. name .. '":' .. quote(change.external_id)
  end
  entry = entry .. ',"created_at":' .. quote(change.created_at) .. '}'
  redis.call('RPUSH', transactions, entry)
  redis.call('LPUSH', recent, entry)
  return after
end

-- An optional argument that is empty counts as left out.
local function given(argument)
  return argument ~= '' and argument or nil
end

local function change_balance(keys, args)
  local balance, refusal = book(keys[1], keys[2], keys[3], {
    id = args[1], type = args[2], amount = plain(args[3]), created_at = args[4],
    source = given(args[5]), external_id = given(args[6]),
  })
  return balance or refusal
end

local function process_webhook(keys, args)
  if redis.call('GET', keys[1]) == 'processed' then
    local balance = redis.call('HGET', keys[2], 'balance_usd')
    if not balance then
      return redis.error_reply('USER_UNKNOWN there is no such user')
    end
    return { 'outcome', 'duplicate', 'balance_usd', balance }
  end
  local provider, transaction_id = keys[1]:match('^webhook:([^:]+):(.*)$')
  local balance, refusal = book(keys[2], keys[3], keys[4], {
    id = args[1], type = args[2], amount = plain(args[3]), created_at = args[4],
    source = provider, external_id = transaction_id,
  })
  if not balance then
    return refusal
  end
  redis.call('SET', keys[1], 'processed')
  return { 'outcome', 'processed', 'balance_usd', balance }
end

-- ── Usage ────────────────────────────────────────────────────────────────────────

local function count_usage(keys, args)
  local month, day = keys[1], keys[2]
  local product, requests, tokens, at = args[1], args[2], args[3], args[4]
  if product == 'total' then
    return redis.error_reply('PRODUCT_RESERVED total is the sum of all products')
  end
  local of_month, of_day = month:match('[^:]*$'), day:match('[^:]*$')
  if of_month ~= at:sub(1, #of_month) or of_day ~= at:sub(1, #of_day) then
    return redis.error_reply('PERIOD_MISMATCH the month and the day are not those of the time')
  end
  local total = redis.call('HINCRBY', month, 'total_requests', requests)
  redis.call('HINCRBY', month, product .. '_requests', requests)
  redis.call('HINCRBY', day, 'requests', requests)
  redis.call('HINCRBY', day, product .. '_requests', requests)
  if tokens ~= '0' then
    redis.call('HINCRBY', month, product .. '_tokens', tokens)
    redis.call('HINCRBY', day, 'tokens', tokens)
    redis.call('HINCRBY', day, product .. '_tokens', tokens)
  end
  redis.call('HSET', month, 'last_updated', at)
  return total
end

-- ── Rate limits ──────────────────────────────────────────────────────────────────

-- How long the windows of a limit are, in milliseconds.
local WINDOW_MS = { minute = 60000, hour = 3600000, day = 86400000 }

local function take_request(keys, args)
  local wait_ms, is_allowed = 0, true
  local remaining
  for index, key in ipairs(keys) do
    local left = tonumber(args[index]) - tonumber(redis.call('GET', key) or 0)
    if left <= 0 then
      is_allowed = false
      -- A limit of 0 has no window that would end: nobody need come before one would have.
      local left_ms = redis.call('PTTL', key)
      wait_ms = math.max(wait_ms, left_ms >= 0 and left_ms or WINDOW_MS[key:match('[^:]*$')] or 0)
    end
    remaining = math.min(remaining or left, left)
  end
  if not is_allowed then
    return { 'allowed', 0, 'remaining', 0, 'retry_after', math.ceil(wait_ms / 1000) }
  end
  for _, key in ipairs(keys) do
    redis.call('INCR', key)
  end
  return { 'allowed', 1, 'remaining', remaining - 1, 'retry_after', 0 }
end

redis.register_function('change_balance', change_balance)
redis.register_function('process_webhook', process_webhook)
redis.register_function('count_usage', count_usage)
redis.register_function('take_request', take_request)
