"""api-billing's figures: its counts in 250 MB, and a balance that is exact."""

import json
import random
import time

from gauge import hset, latency, memory

DB = 2


def rows(scale, is_keyward):
    """The document's counts: users, keys, months, transactions and limits."""
    dice = random.Random(2)
    users = [str(123_456_789 + 7 * number) for number in range(int(10_000 * scale))]

    def until(seconds):
        return () if is_keyward else ("EX", str(seconds))

    def api_key():
        return "kikuai_" + "".join(dice.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=32))

    def key_row(key, user):
        return json.dumps(
            {
                "key": key,
                "key_hash": f"sha256:{dice.getrandbits(256):064x}",
                "user_id": int(user),
                "name": "Production Key",
                "created_at": "2025-12-01T10:00:00Z",
                "last_used_at": "2025-12-04T15:30:00Z",
                "status": "active",
                "permissions": ["reliapi:read", "reliapi:write"],
            }
        )

    for number, user in enumerate(users):
        key = api_key()
        active_ms = 1_764_862_200_000 + number * 1000
        active = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(active_ms // 1000))
        yield hset(
            f"user:{user}",
            user_id=user,
            telegram_username=f"@user_{number}",
            telegram_first_name="John",
            api_key=key,
            created_at="2025-12-01T10:00:00Z",
            balance_usd="10.50",
            total_spent_usd="45.00",
            status="active",
            last_active_at=active,
            settings='{"notifications_enabled": true, "low_balance_threshold": 5.0}',
        )
        if not is_keyward:
            yield "SET", f"users:by_api_key:{key}", user
            yield "ZADD", "users:active", str(active_ms), user
        yield "SET", f"api_key:{key}", key_row(key, user)
        if number % 2:
            second = api_key()
            yield "SET", f"api_key:{second}", key_row(second, user)
            if not is_keyward:
                yield "SET", f"users:by_api_key:{second}", user
        for month in range(1, 13):
            usage = f"usage:{user}:2025-{month:02}"
            requests = dice.randrange(2000)
            yield hset(
                usage,
                total_requests=str(requests),
                reliapi_requests=str(requests * 2 // 3),
                reliapi_tokens=str(requests * 33),
                routellm_requests=str(requests // 3),
                last_updated="2025-12-04T15:30:00Z",
            )
            if not is_keyward:
                yield "EXPIRE", usage, "3024000"
        balance = 0
        for entry in range(50):
            amount = dice.randrange(1, 2000)
            row = json.dumps(
                {
                    "id": f"txn_{number}_{entry}",
                    "type": "topup",
                    "amount_usd": amount / 100,
                    "balance_before": balance / 100,
                    "balance_after": (balance + amount) / 100,
                    "source": "paddle",
                    "paddle_transaction_id": f"ptx_{number}_{entry}",
                    "created_at": active,
                }
            )
            balance += amount
            yield "RPUSH", f"transactions:{user}", row
            yield "LPUSH", f"transactions:{user}:recent", row
            if not is_keyward:
                yield "LTRIM", f"transactions:{user}:recent", "0", "49"
        # Five limits for each user. Windows of a minute would end while others are loaded.
        for subject in (user, key, f"{user}-ip", f"{user}-bot", f"{user}-org"):
            yield ("SET", f"ratelimit:{subject}:day", "45", *until(86400))
        yield ("SET", f"webhook:paddle:ptx_{number}", "processed", *until(604800))
        yield (
            "SET",
            f"session:sess_{number}",
            json.dumps(
                {
                    "user_id": int(user),
                    "state": "awaiting_payment",
                    "data": {"checkout_id": f"chk_{number}", "amount": 10.00},
                    "created_at": active,
                }
            ),
            *until(86400),
        )


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


def settings(_):
    return []


def measure(server, scale, calls, is_keyward):
    _, seconds = server.load(DB, rows(scale, is_keyward))
    client = server.client(DB)
    figures = memory(server, client.dbsize(), used_memory="~250 MB")
    figures.append(("loading them", "", f"{seconds:.0f} s"))
    user = "123456789"
    keys = [f"user:{user}", f"transactions:{user}", f"transactions:{user}:recent"]
    script = client.register_script(BALANCE_SCRIPT)

    def change(number):
        if is_keyward:
            client.fcall(
                "change_balance", 3, *keys, f"txn_f{number}", "topup", "0.1", "2025-12-04T15:30:00Z"
            )
            return
        row = json.dumps(
            {
                "id": f"txn_f{number}",
                "type": "topup",
                "amount_usd": 0.1,
                "created_at": "2025-12-04T15:30:00Z",
            }
        )
        script(keys=keys[:2], args=["0.1", row])
        with client.pipeline(transaction=False) as pipeline:
            pipeline.lpush(keys[2], row).ltrim(keys[2], 0, 49).execute()

    before = client.hget(keys[0], "balance_usd")
    figures.append(("changing a balance, p50 / p99", "", latency(change, calls)))
    figures.append(
        (f"{before} and {calls:,} times 0.1", "exact", client.hget(keys[0], "balance_usd"))
    )
    return figures
