"""api-billing on Keyward and on a stock Redis: the same users, and what was not kept.

On Redis the bot sends the commands and the scripts of its document. On Keyward it calls the
functions, and leaves indexes, lengths and lifetimes to the schema; what its document does by
plain commands is sent to both. Works are generators that yield between their commands, so that
both servers see the same callers at once, and the same callers die.
"""

import json
from collections import Counter
from datetime import datetime
from decimal import Decimal
from functools import partial

from stage import (
    DAY,
    REDIS,
    SECOND,
    advance,
    answer,
    expect,
    immortal,
    interleaved,
    now_ms,
    run,
    tell_unkept,
)

DB = 2
AT = "2025-12-04T15:30:00Z"
USERS = range(1, 11)
PASSING = ("ratelimit:", "session:", "usage:", "webhook:")

BALANCE_SCRIPT = """
local current = redis.call('HGET', KEYS[1], 'balance_usd')
local new_balance = tonumber(current) + tonumber(ARGV[1])

if new_balance < 0 then
    return {err = 'insufficient_balance'}
end

redis.call('HSET', KEYS[1], 'balance_usd', tostring(new_balance))
redis.call('RPUSH', KEYS[2], ARGV[2])

return new_balance
"""


def play(server):
    """The bot's users, the same on both servers; then time passes."""
    run(DB, [partial(sign_up, user=user) for user in USERS])
    expect(len(server.keys("users:by_api_key:*")), 10, "keys by the index")
    for user in (1, 2, 3):
        server.delete(f"api_key:kikuai_{user}")
    counts = {"entries of the index whose API key was deleted": dangling(server)}

    interleaved(DB, [partial(use_key, user=user, at=AT) for user in range(4, 8)])
    later = "2025-12-04T16:00:00Z"
    interleaved(DB, [partial(use_key, user=user, at=later) for user in (4, 5)], commands=1)
    expect(server.zcard("users:active"), 4)
    counts["users whose rank is not their last activity"] = misranked(server)

    run(DB, [partial(change_balance, user=user, name="in", amount="5.00") for user in USERS])
    charge = [partial(change_balance, user=user, name="out", amount="-0.50") for user in USERS]
    interleaved(DB, charge[:6])
    interleaved(DB, charge[6:], commands=1)
    expect({server.hget(f"user:{user}", "balance_usd") for user in USERS}, {"4.5"})
    counts["users whose spending is not the sum of their charges"] = misspent(server)
    counts["users whose recent transactions lack the last one"] = lagging(server)

    # The document's "update balance", for a user who has 4.50 and for one who is not there.
    answer(lambda: server.hincrbyfloat("user:1", "balance_usd", -10))
    answer(lambda: server.hincrbyfloat("user:404", "balance_usd", 10))
    rows = [server.hgetall(f"user:{user}") for user in (*USERS, 404)]
    counts["balances below zero"] = sum(Decimal(row.get("balance_usd", 0)) < 0 for row in rows)
    counts["users who never signed up"] = sum(bool(row) and "user_id" not in row for row in rows)

    interleaved(DB, [partial(webhook, user=2)] * 5)
    counts["top-ups that were booked again"] = booked_again(server, 2)

    counts["requests that a limit counts though their minute is over"] = overcounted(server)
    run(DB, [partial(count_usage, user=user) for user in range(1, 4)])
    interleaved(DB, [partial(count_usage, user=user) for user in range(4, 8)], commands=1)
    expect(len(server.keys("usage:*:2025-12")), 7)
    advance(server, 91 * DAY)
    counts["keys that never end, though the document says when"] = immortal(server, *PASSING)
    tell_unkept(server, counts)


def sign_up(server, user):
    key = f"kikuai_{user}"
    if not REDIS:
        keys = [f"user:{user}", f"api_key:{key}"]
        expect(server.fcall("create_user", 2, *keys, "sha256:01", AT, "@john"), "created")
        return
    row = {"user_id": user, "telegram_username": "@john", "api_key": key, "balance_usd": "0.00"}
    server.hset(f"user:{user}", mapping={**row, "status": "active", "created_at": AT})
    yield
    row = {"key": key, "key_hash": "sha256:01", "user_id": user, "created_at": AT}
    server.set(f"api_key:{key}", json.dumps({**row, "status": "active"}))
    yield
    server.set(f"users:by_api_key:{key}", user)


def use_key(server, user, at):
    if not REDIS:
        server.fcall("use_api_key", 2, f"api_key:kikuai_{user}", f"user:{user}", at)
        return
    server.hset(f"user:{user}", "last_active_at", at)
    yield
    server.zadd("users:active", {user: milliseconds(at)})


def change_balance(server, user, name, amount, source=None):
    """The document's script, and its list of the 50 most recent."""
    kind = "usage" if amount.startswith("-") else "topup"
    keys = [f"user:{user}", f"transactions:{user}", f"transactions:{user}:recent"]
    if not REDIS:
        server.fcall("change_balance", 3, *keys, f"txn_{name}_{user}", kind, amount, AT)
        return
    row = {"id": f"txn_{name}_{user}", "type": kind, "amount_usd": float(amount), "created_at": AT}
    row = json.dumps({**row, "paddle_transaction_id": source} if source else row)
    server.eval(BALANCE_SCRIPT, 2, *keys[:2], amount, row)
    yield
    server.lpush(keys[2], row)
    yield
    server.ltrim(keys[2], 0, 49)


def webhook(server, user):
    mark = "webhook:paddle:ptx_123"
    if not REDIS:
        keys = [f"user:{user}", f"transactions:{user}", f"transactions:{user}:recent"]
        server.fcall("process_webhook", 4, mark, *keys, "txn_w", "topup", "10.00", AT)
        return
    if server.exists(mark):
        return
    yield
    yield from change_balance(server, user, "w", "10.00", "ptx_123")
    yield
    server.set(mark, "processed", ex=604800)


def count_usage(server, user):
    month, day = f"usage:{user}:2025-12", f"usage:{user}:2025-12-04"
    if not REDIS:
        server.fcall("count_usage", 2, month, day, "reliapi", 1, 750, AT)
        return
    server.hincrby(month, "total_requests", 1)
    yield
    server.hincrby(month, "reliapi_requests", 1)
    yield
    server.expire(month, 3024000)


def overcounted(server):
    """The document's MULTI, sent to both, every 40 seconds: the third request is alone in its
    minute, since that of the first two is over."""
    begun_ms, count = now_ms(server), 0
    for _ in range(3):
        with server.pipeline(transaction=True) as multi:
            multi.incr("ratelimit:1:minute").expire("ratelimit:1:minute", 60)
            count, _ = multi.execute()
        advance(server, 40 * SECOND)
    expect(now_ms(server) - begun_ms >= 120 * SECOND, True, "two minutes")
    return count - 1


def dangling(server):
    indexed = [key.split(":")[2] for key in server.keys("users:by_api_key:*")]
    return sum(not server.exists(f"api_key:{key}") for key in indexed)


def misranked(server):
    found = dict(server.zrange("users:active", 0, -1, withscores=True))
    wanted = {user: server.hget(f"user:{user}", "last_active_at") for user in found}
    return sum(found[user] != milliseconds(at) for user, at in wanted.items())


def transactions(server, key):
    return [json.loads(row, parse_float=Decimal) for row in server.lrange(key, 0, -1)]


def misspent(server):
    count = 0
    for user in USERS:
        rows = transactions(server, f"transactions:{user}")
        spent = -sum(row["amount_usd"] for row in rows if row["type"] == "usage")
        count += Decimal(server.hget(f"user:{user}", "total_spent_usd") or 0) != spent
    return count


def lagging(server):
    pairs = [(f"transactions:{user}", f"transactions:{user}:recent") for user in USERS]
    return sum(server.lindex(whole, -1) != server.lindex(recent, 0) for whole, recent in pairs)


def booked_again(server, user):
    rows = transactions(server, f"transactions:{user}")
    sources = Counter(row.get("paddle_transaction_id") for row in rows)
    expect(sources["ptx_123"] >= 1, True, "it was booked")
    return sources["ptx_123"] - 1


def milliseconds(at):
    return int(datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp() * 1000)
