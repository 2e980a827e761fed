#!lua name=calls_bot

-- The operations of calls-bot, as keyward.toml declares them. Lifetimes, the sets of
-- subscribers and the way from a referral code to its owner are kept by the schema.

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

-- A member's value as it is written, or nil.
local function member(text, name)
  local first, last = find_member(text, name)
  return first and text:sub(first, last)
end

-- What stands behind a colon or a comma: JavaScript writes nothing, Python a space.
local function spacing(text)
  return text:find('":%s') and ' ' or ''
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
  local space = spacing(text)
  local comma = kept:find('^%s*{$') and '' or ',' .. space
  return kept .. comma .. '"' .. name .. '":' .. space .. value .. ending
end

local function quote(text)
  local escaped = text:gsub('[%c"\\]', function(byte)
    return byte:find('%c') and string.format('\\u%04x', byte:byte()) or '\\' .. byte
  end)
  return '"' .. escaped .. '"'
end

-- ── Time ─────────────────────────────────────────────────────────────────────────

-- Seconds since 1970 of an RFC 3339 time: `2026-01-01T00:00:00.5+02:00`.
local function seconds_of(timestamp)
  local year, month, day, hour, minute, second, zone =
    timestamp:match('^(%d+)-(%d+)-(%d+).(%d+):(%d+):([%d.]+)(.*)$')
  -- Years that begin in March end with the day that leaps.
  local months = (month + 9) % 12
  local years = year - (months >= 10 and 1 or 0)
  local days = 365 * years + math.floor(years / 4) - math.floor(years / 100)
    + math.floor(years / 400) + math.floor((153 * months + 2) / 5) + day - 719469
  local seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
  local sign, zone_hours, zone_minutes = zone:match('^([+-])(%d+):(%d+)$')
  if sign then
    local ahead = (zone_hours * 60 + zone_minutes) * 60
    seconds = seconds - (sign == '+' and ahead or -ahead)
  end
  return seconds
end

local function now()
  local time = redis.call('TIME')
  return time[1] + time[2] / 1000000
end

-- ── Tokens ───────────────────────────────────────────────────────────────────────

local function claim_token(keys, args)
  return redis.call('SET', keys[1], args[1], 'NX') and 'claimed' or 'duplicate'
end

local function raise_multiplier(keys, args)
  local row = redis.call('GET', keys[1])
  if not row then
    return redis.error_reply('MULTIPLIER_UNKNOWN this token is not tracked for this user')
  end
  local before, after = tonumber(member(row, 'highest_multiplier_sent')), tonumber(args[1])
  if after <= before then
    return {}
  end
  local notified = member(row, 'thresholds_notified') or '[]'
  local told, crossed = {}, {}
  for _, threshold in ipairs(cjson.decode(notified)) do
    told[threshold] = true
  end
  for index = 2, #args do
    local threshold = tonumber(args[index])
    if before < threshold and threshold <= after and not told[threshold] then
      told[threshold] = true
      crossed[#crossed + 1] = args[index]
    end
  end
  row = with_member(row, 'highest_multiplier_sent', args[1])
  if #crossed > 0 then
    local comma = ',' .. spacing(row)
    local kept = notified:match('^(.-)%s*%]$')
    local joint = kept:find('^%[%s*$') and '' or comma
    row = with_member(row, 'thresholds_notified', kept .. joint .. table.concat(crossed, comma) .. ']')
  end
  redis.call('SET', keys[1], row, 'KEEPTTL')
  return crossed
end

local function notification_state(keys)
  local found = redis.call('MGET', keys[1], keys[2], keys[3])
  return { 'settings', found[1], 'subscription', found[2], 'processed_token', found[3] }
end

-- ── Coupons ──────────────────────────────────────────────────────────────────────

local function redeem_coupon(keys)
  local coupon = redis.call('GET', keys[1])
  if not coupon then
    return redis.error_reply('COUPON_UNKNOWN there is no such coupon, or it has ended')
  end
  if seconds_of(said(member(coupon, 'valid_until'))) <= now() then
    return redis.error_reply('COUPON_EXPIRED it is no longer valid')
  end
  if redis.call('EXISTS', keys[2]) == 1 then
    return redis.error_reply('COUPON_USED this user has used it before')
  end
  local used, max_uses = member(coupon, 'used_count') + 1, tonumber(member(coupon, 'max_uses'))
  if used > max_uses then
    return redis.error_reply('COUPON_EXHAUSTED no uses are left')
  end
  redis.call('SET', keys[1], with_member(coupon, 'used_count', string.format('%d', used)), 'KEEPTTL')
  redis.call('SET', keys[2], '1')
  return { 'discount_percent', member(coupon, 'discount_percent'), 'uses_left', max_uses - used }
end

-- ── Payments ─────────────────────────────────────────────────────────────────────

local function activate_subscription(keys, args)
  if redis.call('EXISTS', keys[2]) == 1 then
    return redis.error_reply('TRANSACTION_USED this transaction has paid for a subscription before')
  end
  if redis.call('EXISTS', keys[1]) == 0 then
    return redis.error_reply('PAYMENT_UNVERIFIED the payment was not verified, or more than 24 hours ago')
  end
  if seconds_of(args[2]) <= now() then
    return redis.error_reply('SUBSCRIPTION_OVER its end is not in the future')
  end
  local tx_hash = keys[2]:match('^used_transaction:(.*)$')
  local subscription = '{"plan":' .. quote(args[1]) .. ',"status":"active","expires_at":' .. quote(args[2])
    .. ',"payment_method":' .. quote(args[3]) .. ',"tx_hash":' .. quote(tx_hash) .. '}'
  redis.call('SET', keys[2], '1')
  redis.call('SET', keys[3], subscription)
  return subscription
end

local function pay_commission(keys, args)
  if redis.call('EXISTS', keys[2]) == 1 then
    return redis.error_reply('COMMISSION_PAID it was paid before')
  end
  local commission = redis.call('GET', keys[1])
  if not commission then
    return redis.error_reply('COMMISSION_UNKNOWN it is neither pending nor paid')
  end
  local paid = with_member(commission, 'tx_hash', quote(args[1]))
  paid = with_member(paid, 'paid_at', quote(args[2]))
  redis.call('SET', keys[2], paid)
  redis.call('DEL', keys[1])
  return paid
end

-- ── Referrals ────────────────────────────────────────────────────────────────────

local function assign_referral_code(keys)
  local code = redis.call('GET', keys[1])
  if code then
    return code
  end
  if redis.call('EXISTS', keys[2]) == 1 then
    return redis.error_reply('REFERRAL_CODE_TAKEN another user has this code')
  end
  code = keys[2]:match('^referral_code:(.*)$')
  redis.call('SET', keys[1], code)
  return code
end

local function record_referral(keys)
  local owner = redis.call('GET', keys[2])
  if not owner then
    return redis.error_reply('REFERRAL_UNKNOWN nobody has this code')
  end
  if keys[1] == 'user_referred_by:' .. owner then
    return redis.error_reply('REFERRAL_SELF nobody refers himself')
  end
  return redis.call('SET', keys[1], owner, 'NX') and 'recorded' or 'duplicate'
end

redis.register_function('claim_token', claim_token)
redis.register_function('raise_multiplier', raise_multiplier)
redis.register_function('redeem_coupon', redeem_coupon)
redis.register_function('activate_subscription', activate_subscription)
redis.register_function('pay_commission', pay_commission)
redis.register_function('assign_referral_code', assign_referral_code)
redis.register_function('record_referral', record_referral)
redis.register_function{
  function_name = 'notification_state', callback = notification_state, flags = { 'no-writes' },
}
