"""api-billing from its first write to its last expiry.

The document's own commands and code first, as they stand there; then every operation,
many callers at once; then time passes, until only what lives for ever is left.
"""

import asyncio
import json
import socket
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import ConnectionError, ResponseError, TimeoutError

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parent.parent))

import beside
from stage import (
    DAY,
    HOUR,
    MINUTE,
    PORT,
    REDIS,
    SECOND,
    advance,
    all_keys,
    answer,
    at_once,
    begin,
    connect,
    expect,
    gone,
    in_processes,
    lives,
    lives_for_ever,
    now_ms,
    parts,
    pass_until,
    tell,
    there,
)

DB = 2
AT = "2025-12-04T15:30:00Z"

API_KEY = """{
  "key": "kikuai_abc123def456...",
  "key_hash": "sha256:...",
  "user_id": 123456789,
  "name": "Production Key",
  "created_at": "2025-12-01T10:00:00Z",
  "last_used_at": "2025-12-04T15:30:00Z",
  "status": "active",
  "permissions": ["reliapi:read", "reliapi:write"]
}"""
TRANSACTION = """{
  "id": "txn_abc123",
  "type": "topup",
  "amount_usd": 10.00,
  "balance_before": 5.00,
  "balance_after": 15.00,
  "source": "paddle",
  "paddle_transaction_id": "ptx_123",
  "created_at": "2025-12-04T15:30:00Z"
}"""
SESSION = """{
  "user_id": 123456789,
  "state": "awaiting_payment",
  "data": {
    "checkout_id": "chk_123",
    "amount": 10.00
  },
  "created_at": "2025-12-04T15:30:00Z"
}"""
PRODUCTS = """{
  "reliapi": {
    "id": "reliapi",
    "name": "ReliAPI",
    "status": "active",
    "pricing": {
      "per_request": 0.001
    },
    "endpoints": ["/proxy/llm", "/proxy/http"]
  }
}"""
LIMIT_SCRIPT = """
local current = redis.call('GET', KEYS[1])
if current and tonumber(current) >= tonumber(ARGV[1]) then
  return 0
end
local count = redis.call('INCR', KEYS[1])
if count == 1 then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return 1
"""


class RedisClient:
    """The document's client, as it stands there."""

    def __init__(self, url: str, max_retries: int = 3):
        self.pool = redis.ConnectionPool.from_url(url)
        self.max_retries = max_retries

    def get_connection(self):
        return redis.Redis(connection_pool=self.pool)

    def execute_with_retry(self, func, *args, **kwargs):
        for attempt in range(self.max_retries):
            try:
                return func(*args, **kwargs)
            except (ConnectionError, TimeoutError) as e:
                if attempt == self.max_retries - 1:
                    raise
                time.sleep(2**attempt)  # Exponential backoff


def the_document(server):
    """Its commands are taken as they stand, and keys live as long as it says."""
    expect(
        server.execute_command(
            "HSET",
            "user:123456789",
            "user_id",
            "123456789",
            "telegram_username",
            "@john",
            "api_key",
            "kikuai_abc123",
            "balance_usd",
            "0.00",
            "status",
            "active",
            "created_at",
            "2025-12-04T15:30:00Z",
        ),
        6,
    )
    expect(server.hgetall("user:123456789")["telegram_username"], "@john")
    expect(server.execute_command("HINCRBYFLOAT", "user:123456789", "balance_usd", "10.00"), 10)
    expect(server.exists("user:123456789"), 1)

    told = answer(
        lambda: server.execute_command(
            "SET", "api_key:kikuai_abc123", '{"user_id":123456789}', "EX", "-1"
        )
    )
    expect(told, "invalid", "Redis's own error")
    expect(server.set("api_key:kikuai_abc123", API_KEY), True)
    expect(server.get("api_key:kikuai_abc123"), API_KEY)
    expect(server.get("users:by_api_key:kikuai_abc123"), "123456789", "the index follows")
    expect(server.delete("api_key:kikuai_abc123"), 1)
    gone(server, "users:by_api_key:kikuai_abc123")

    with lives(server, "usage:123456789:2025-12", 35 * DAY):
        expect(server.hincrby("usage:123456789:2025-12", "total_requests", 1), 1)
        expect(server.hincrby("usage:123456789:2025-12", "reliapi_requests", 1), 1)
    expect(
        server.hgetall("usage:123456789:2025-12"), {"total_requests": "1", "reliapi_requests": "1"}
    )
    expect(server.expire("usage:123456789:2025-12", 3024000), True)
    expect(
        server.hset(
            "usage:123456789:2025-12",
            mapping={
                "total_requests": 1500,
                "reliapi_requests": 1000,
                "reliapi_tokens": 50000,
                "routellm_requests": 500,
                "last_updated": "2025-12-04T15:30:00Z",
            },
        ),
        3,
    )
    with lives(server, "usage:123456789:2025-12-04", 90 * DAY):
        expect(
            server.hset("usage:123456789:2025-12-04", mapping={"requests": 150, "tokens": 7500}), 2
        )

    expect(server.rpush("transactions:123456789", TRANSACTION), 1)
    expect(server.lpush("transactions:123456789:recent", TRANSACTION), 1)
    expect(server.ltrim("transactions:123456789:recent", 0, 49), True)
    with lives(server, "session:sess_123", 24 * HOUR):
        expect(server.set("session:sess_123", SESSION), True)
    with lives(server, "webhook:paddle:ptx_123", 7 * DAY):
        expect(server.set("webhook:paddle:ptx_123", "processed", ex=604800), True)
    with lives(server, "products:config", HOUR):
        expect(server.set("products:config", PRODUCTS), True)
    lives_for_ever(
        server, "user:123456789", "transactions:123456789", "transactions:123456789:recent"
    )

    its_client()
    asyncio.run(its_balance_script(server))
    tell("the document's commands are taken as they stand, and keys live as long as it says")


def its_client():
    """The document's client: three attempts, 1 and 2 seconds apart, then its error."""
    waits = []

    def read(port):
        client = RedisClient(f"redis://127.0.0.1:{port}/{DB}")
        return client.execute_with_retry(client.get_connection().hget, "user:123456789", "status")

    expect(read(PORT), b"active")
    # Nobody listens where a socket is bound; whoever does by the third attempt is found.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with patch("time.sleep", waits.append):
            try:
                read(port)
                raise AssertionError("nobody listens, and somebody answered")
            except ConnectionError:
                expect(waits, [1, 2], "seconds between three attempts")

        def opened_at_last(seconds):
            waits.append(seconds)
            if seconds == 2:
                closed.listen()
                threading.Thread(target=relay, args=(closed,), daemon=True).start()

        waits.clear()
        with patch("time.sleep", opened_at_last):
            expect(read(port), b"active", "the third attempt")
        expect(waits, [1, 2])


def relay(listener):
    """Hands what the first caller says on to the server, and the answers back."""
    caller, _ = listener.accept()
    ways = socket.create_connection(("127.0.0.1", PORT))
    threading.Thread(target=copy, args=(ways, caller), daemon=True).start()
    copy(caller, ways)


def copy(source, target):
    while received := source.recv(1 << 16):
        target.sendall(received)
    target.close()


async def its_balance_script(server):
    """The document's coroutine, as it stands there."""
    redis = AsyncRedis(port=PORT, db=DB, decode_responses=True)

    async def update_balance_atomic(user_id: str, amount: float, transaction: dict):
        """Atomically update balance and record transaction."""
        lua_script = """
        local current = redis.call('HGET', KEYS[1], 'balance_usd')
        local new_balance = tonumber(current) + tonumber(ARGV[1])

        if new_balance < 0 then
            return {err = 'insufficient_balance'}
        end

        redis.call('HSET', KEYS[1], 'balance_usd', tostring(new_balance))
        redis.call('RPUSH', KEYS[2], ARGV[2])

        return new_balance
        """

        result = await redis.eval(
            lua_script,
            2,  # number of keys
            f"user:{user_id}",
            f"transactions:{user_id}",
            str(amount),
            json.dumps(transaction),
        )

        return result

    transaction = json.loads(TRANSACTION)
    expect(await update_balance_atomic("123456789", 5.25, transaction), 15, "Lua's integer")
    expect(server.hget("user:123456789", "balance_usd"), "15.25")
    try:
        await update_balance_atomic("123456789", -20.0, transaction)
        raise AssertionError("a balance fell below zero")
    except ResponseError as error:
        expect(str(error), "insufficient_balance")
    expect(server.llen("transactions:123456789"), 2)
    # Prices are of that size: Lua's tostring of what is left is 1e-05, Python's too.
    server.hset("user:123456789", "balance_usd", "0.00002")
    charge = {**transaction, "type": "usage", "amount_usd": -0.00001}
    expect(await update_balance_atomic("123456789", -0.00001, charge), 0, "Lua's integer")
    expect(server.hget("user:123456789", "balance_usd"), "1e-05", "as it was written")
    expect("-1e-05" in server.lindex("transactions:123456789", -1), True)
    expect(server.hincrbyfloat("user:123456789", "balance_usd", "1e-5"), 0.00002)
    expect(server.hget("user:123456789", "balance_usd"), "0.00002", "without an exponent")
    expect(answer(lambda: server.hincrbyfloat("user:123456789", "balance_usd", "-3e-5")), "SCHEMA")
    await redis.aclose()


def accounts(server):
    """Twenty sign up as the same user, twenty with the same key."""

    def create(one, user, key):
        keys = [f"user:{user}", f"api_key:{key}"]
        return one.fcall("create_user", 2, *keys, "sha256:00", AT, f"@u{user}")

    answers = at_once(DB, [lambda one, n=n: create(one, 42, f"kikuai_k{n}") for n in range(20)])
    expect(sorted(answers), ["created"] + ["duplicate"] * 19)
    key = f"kikuai_k{answers.index('created')}"
    expect(server.hget("user:42", "api_key"), key)
    expect(list(server.scan_iter("api_key:kikuai_k*")), [f"api_key:{key}"])
    answers = at_once(
        DB, [lambda one, n=n: create(one, 1000 + n, "kikuai_same") for n in range(20)]
    )
    expect(sorted(answers), ["API_KEY_TAKEN"] * 19 + ["created"])
    owner = 1000 + answers.index("created")
    expect(server.get("users:by_api_key:kikuai_same"), str(owner))
    expect(list(server.scan_iter("user:10*")), [f"user:{owner}"])
    tell("of twenty sign-ups at once one succeeds")
    return owner, key


def charge(worker):
    """Charges 0.1 until nothing is left, and answers how often that went well."""
    with connect(DB) as server:
        keys = ["user:42", "transactions:42", "transactions:42:recent"]
        charges = 0
        while True:
            change = [f"txn_{worker}_{charges}", "usage", "-0.1", AT, "reliapi"]
            told = answer(lambda: server.fcall("change_balance", 3, *keys, *change))
            if told == "INSUFFICIENT_BALANCE":
                return charges
            # What is left; any other error would be told for ever.
            expect(Decimal(told) >= 0, True, f"charge {charges} of {worker}")
            charges += 1


def balances(server):
    """Fifty processes charge one balance of 100, a tenth at a time, to exactly zero."""
    keys = ["user:42", "transactions:42", "transactions:42:recent"]
    unknown = [key.replace("42", "43") for key in keys]
    told = answer(lambda: server.fcall("change_balance", 3, *unknown, "txn", "topup", "1", AT))
    expect(told, "USER_UNKNOWN")
    expect(
        server.fcall(
            "change_balance", 3, *keys, "txn_topup", "topup", "100.00", AT, "stars", "s_1"
        ),
        "100",
    )
    charged = in_processes(50, charge)
    expect(sum(charged), 1000, "charges")
    expect(server.hmget("user:42", "balance_usd", "total_spent_usd"), ["0", "100"])

    written = [
        json.loads(text, parse_float=Decimal, parse_int=Decimal)
        for text in server.lrange(keys[1], 0, -1)
    ]
    expect(len(written), 1001, "transactions")
    balance = Decimal(0)
    for entry in written:
        expect(entry["balance_before"], balance, "each begins where the last one ended")
        balance += entry["amount_usd"]
        expect(entry["balance_after"], balance)
    expect(len({entry["id"] for entry in written}), 1001, "no transaction twice")
    expect(
        server.lrange(keys[2], 0, -1), server.lrange(keys[1], -50, -1)[::-1], "the 50 most recent"
    )
    expect(answer(lambda: server.hincrbyfloat("user:42", "balance_usd", "-0.01")), "SCHEMA")
    tell("50 processes charged 0.1 a thousand times, from 100 to exactly zero")


def webhooks(server):
    """Each of twenty webhooks is delivered five times at once."""
    for number in range(20):
        keys = [
            f"webhook:paddle:ptx_w{number}",
            "user:42",
            "transactions:42",
            "transactions:42:recent",
        ]
        call = ["process_webhook", 4, *keys, f"txn_w{number}", "topup", "0.01", AT]
        with lives(server, keys[0], 7 * DAY):
            answers = at_once(DB, [lambda one: parts(one.fcall(*call))] * 5)
        outcomes = sorted(found["outcome"] for found in answers)
        expect(outcomes, ["duplicate"] * 4 + ["processed"])
        balance = str(Decimal("0.01") * (number + 1)).rstrip("0")
        expect({found["balance_usd"] for found in answers}, {balance})
    expect(server.hget("user:42", "balance_usd"), "0.2")
    expect(server.llen("transactions:42"), 1021)
    newest = json.loads(server.lindex("transactions:42:recent", 0))
    expect((newest["source"], newest["paddle_transaction_id"]), ("paddle", "ptx_w19"))
    # One that cannot be booked leaves no mark, and counts when it is delivered again.
    keys = ["webhook:paddle:ptx_r", "user:42", "transactions:42", "transactions:42:recent"]
    refund = ["process_webhook", 4, *keys, "txn_r", "refund", "-0.21", AT]
    expect(answer(lambda: server.fcall(*refund)), "INSUFFICIENT_BALANCE")
    gone(server, keys[0])
    server.fcall("change_balance", 3, *keys[1:], "txn_t", "topup", "0.01", AT)
    expect(parts(server.fcall(*refund)), {"outcome": "processed", "balance_usd": "0"})
    tell("a webhook that was delivered five times at once counted once")


def api_keys(server, owner, key):
    """Ten rotate the same key at once; the index names every active key, and no other."""

    def rotate(one, number):
        keys = ["user:42", f"api_key:{key}", f"api_key:kikuai_r{number}"]
        return one.fcall("rotate_api_key", 3, *keys, "sha256:01", AT)

    first = json.loads(server.get(f"api_key:{key}"))
    named = {**first, "name": "Production Key", "permissions": ["reliapi:read"], "last_used_at": AT}
    server.set(f"api_key:{key}", json.dumps(named))
    answers = at_once(DB, [lambda one, n=n: rotate(one, n) for n in range(10)])
    expect(sorted(answers), ["API_KEY_REVOKED"] * 9 + ["rotated"])
    current = f"kikuai_r{answers.index('rotated')}"
    expect(server.hget("user:42", "api_key"), current)
    expect(server.get(f"users:by_api_key:{current}"), "42")
    gone(server, f"users:by_api_key:{key}")
    expect(json.loads(server.get(f"api_key:{key}")), {**named, "status": "revoked"})
    row = json.loads(server.fcall_ro("validate_api_key", 1, f"api_key:{current}"))
    expect(
        (row["name"], row["permissions"], row["user_id"]), ("Production Key", ["reliapi:read"], 42)
    )
    expect(rotate(server, answers.index("rotated")), "duplicate", "repeated")
    for name, code in [(key, "API_KEY_REVOKED"), ("kikuai_none", "API_KEY_UNKNOWN")]:
        expect(answer(lambda: server.fcall_ro("validate_api_key", 1, f"api_key:{name}")), code)

    revoke = ["revoke_api_key", 2, "user:42", f"api_key:{current}"]
    answers = at_once(DB, [lambda one: one.fcall(*revoke)] * 10)
    expect(sorted(answers), ["duplicate"] * 9 + ["revoked"])
    expect(server.hget("user:42", "api_key"), None, "no key until the next")
    gone(server, f"users:by_api_key:{current}")
    foreign = ["revoke_api_key", 2, "user:42", "api_key:kikuai_same"]
    expect(answer(lambda: server.fcall(*foreign)), "API_KEY_UNKNOWN")
    expect(server.get("users:by_api_key:kikuai_same"), str(owner))
    # A second key of the same user: both are found, and each ends with its row.
    second = json.dumps({**named, "key": "kikuai_second"})
    server.set("api_key:kikuai_second", second)
    expect(server.get("users:by_api_key:kikuai_second"), "42")
    server.set("api_key:kikuai_second", second.replace("active", "paused"))
    gone(server, "users:by_api_key:kikuai_second")
    server.set("api_key:kikuai_second", second)
    expect(server.delete("api_key:kikuai_second"), 1)
    gone(server, "users:by_api_key:kikuai_second")
    # The index cannot be made to say anything else.
    for command in [("SET", "users:by_api_key:kikuai_same", "7"), ("DEL", "users:by_api_key:kikuai_same")]:
        expect(answer(lambda: server.execute_command(*command)), "SCHEMA", " ".join(command))
    expect(indexed(server), active_keys(server), "the index and the active keys")
    tell("of ten rotations at once one succeeds, and the index names the active keys")
    return current


def indexed(server):
    """What the index says: users by their keys."""
    return {key.split(":")[2]: server.get(key) for key in server.scan_iter("users:by_api_key:*")}


def active_keys(server):
    """What it should say, by the rows of the keys."""
    rows = {key.split(":")[1]: json.loads(server.get(key)) for key in server.scan_iter("api_key:*")}
    return {key: str(row["user_id"]) for key, row in rows.items() if row["status"] == "active"}


def activity(server, owner):
    """Users by their last activity, without a ZADD: using a key is enough."""
    server.hset("user:42", "last_active_at", "2025-12-04T15:30:00Z")
    used = ["use_api_key", 2, "api_key:kikuai_same", f"user:{owner}", "2025-12-04T15:30:00.250Z"]
    row = json.loads(server.fcall(*used))
    expect(row["last_used_at"], "2025-12-04T15:30:00.250Z")
    expect(json.loads(server.get("api_key:kikuai_same")), row)
    ranked = server.zrange("users:active", 0, -1, withscores=True)
    expect(
        [(user, score) for user, score in ranked],
        [("42", 1764862200000), (str(owner), 1764862200250)],
    )
    server.hdel(f"user:{owner}", "last_active_at")
    expect(server.zrange("users:active", 0, -1), ["42"])
    # A suspended user has no valid key, and using it leaves no trace.
    server.hset(f"user:{owner}", "status", "suspended")
    for call in [["validate_api_key", 1, "api_key:kikuai_same"], used]:
        expect(answer(lambda: server.fcall(*call)), "USER_SUSPENDED")
    expect(server.zrange("users:active", 0, -1), ["42"])
    server.hset(f"user:{owner}", "status", "active")
    expect(json.loads(server.fcall_ro("validate_api_key", 1, "api_key:kikuai_same")), row)
    tell("using a key notes when, and a suspended user has no valid one")


def usage(server):
    """Forty callers count at once, 25 times each, per month and per day."""

    def count(one):
        keys = ["usage:42:2025-12", "usage:42:2025-12-04"]
        for _ in range(25):
            last = one.fcall("count_usage", 2, *keys, "reliapi", 2, 30, AT)
        return last

    wrong = ["count_usage", 2, "usage:42:2025-11", "usage:42:2025-12-04", "reliapi", 2, 30, AT]
    expect(answer(lambda: server.fcall(*wrong)), "PERIOD_MISMATCH")
    gone(server, "usage:42:2025-11", "usage:42:2025-12-04")
    totals = at_once(DB, [count] * 40)
    expect(max(totals), 2000)
    expect(
        server.hgetall("usage:42:2025-12"),
        {
            "total_requests": "2000",
            "reliapi_requests": "2000",
            "reliapi_tokens": "30000",
            "last_updated": AT,
        },
    )
    expect(
        server.hgetall("usage:42:2025-12-04"),
        {
            "requests": "2000",
            "tokens": "30000",
            "reliapi_requests": "2000",
            "reliapi_tokens": "30000",
        },
    )
    # 35 and 90 days from the first count, whatever came later.
    for key, milliseconds in [("usage:42:2025-12", 35 * DAY), ("usage:42:2025-12-04", 90 * DAY)]:
        expect(milliseconds - MINUTE < server.pttl(key) <= milliseconds, True, key)
    tell("a thousand counts of 40 callers at once are all there")


def limits(server):
    """Of 200 requests at once a limit of 100 lets exactly 100 pass."""
    keys = [f"ratelimit:42:{window}" for window in ("minute", "hour", "day")]

    def take(one):
        return parts(one.fcall("take_request", 3, *keys, 100, 150, 1000))

    started = now_ms(server)
    answers = at_once(DB, [take] * 200)
    passed = [found for found in answers if found["allowed"]]
    expect(len(passed), 100, "allowed")
    expect(sorted(found["remaining"] for found in passed), list(range(100)))
    waits = {found["retry_after"] for found in answers if not found["allowed"]}
    expect(waits <= set(range(30, 61)), True, f"seconds to wait: {waits}")
    expect(server.mget(keys), ["100"] * 3, "what was not allowed was not counted")
    for key, seconds in zip(keys, (60, 3600, 86400)):
        deadline = server.pexpiretime(key)
        expect(
            started + seconds * SECOND <= deadline <= now_ms(server) + seconds * SECOND, True, key
        )

    # The window is not renewed: neither by requests nor by the document's MULTI.
    deadline = server.pexpiretime(keys[0])
    advance(server, 30 * SECOND)
    with server.pipeline(transaction=True) as multi:
        multi.incr("ratelimit:42:minute").expire("ratelimit:42:minute", 60)
        expect(multi.execute(), [101, False], "an EXPIRE that would prolong it")
    expect(server.pexpiretime(keys[0]), deadline)
    pass_until(server, deadline)
    gone(server, keys[0])
    answers = at_once(DB, [take] * 60)
    expect(sum(found["allowed"] for found in answers), 50, "the hour has 50 left")
    expect(
        {found["retry_after"] for found in answers if not found["allowed"]}
        <= set(range(3500, 3541)),
        True,
    )

    # The document's plain commands, for a user and for an API key, and its script.
    for subject in ("123456789", "kikuai_abc123"):
        with lives(server, f"ratelimit:{subject}:minute", MINUTE):
            told = server.execute_command("SET", f"ratelimit:{subject}:minute", "45", "EX", "60")
            expect(told, True)
        expect(server.incr(f"ratelimit:{subject}:minute"), 46)
    script = server.register_script(LIMIT_SCRIPT)
    with lives(server, "ratelimit:kikuai_abc123:hour", HOUR):
        answers = [script(keys=["ratelimit:kikuai_abc123:hour"], args=[3, 3600]) for _ in range(5)]
    expect(answers, [1, 1, 1, 0, 0])
    tell("a limit of 100 let 100 of 200 requests pass, and its window is not renewed")


def sessions(server):
    """Sessions are plain SET, GET, SET KEEPTTL and DEL."""
    with lives(server, "session:s1", 24 * HOUR):
        server.set("session:s1", SESSION)
    deadline = server.pexpiretime("session:s1")
    advance(server, HOUR)
    expect(
        server.set("session:s1", SESSION.replace("awaiting_payment", "paid"), keepttl=True), True
    )
    expect(server.pexpiretime("session:s1"), deadline)
    expect(json.loads(server.get("session:s1"))["state"], "paid")
    expect(server.delete("session:s1"), 1)


def refusals(server):
    """What the schema does not know is refused, and nothing is half done."""
    for command in [
        ("HSET", "user:7", "user_id", "7"),
        ("HSET", "user:42", "balance_usd", "-1"),
        ("HSET", "user:42", "user_id", "43"),
        ("SET", "users:by_api_key:kikuai_x", "42"),
        ("SET", "api_key:other", API_KEY),
        ("ZADD", "users:active", "1", "7"),
        ("RPUSH", "transactions:42", TRANSACTION.replace("10.00", "-10.00")),
        ("LPUSH", "transactions:42:recent", TRANSACTION.replace("topup", "usage")),
        ("SET", "ratelimit:42:week", "1"),
        ("RPUSH", "transactions:42", '{"id":"x"}'),
        ("EXPIRE", "user:42", "60"),
    ]:
        before = all_keys(server)
        expect(answer(lambda: server.execute_command(*command)), "SCHEMA", " ".join(command))
        expect(all_keys(server), before)
    expect(server.llen("transactions:42"), 1023)


def to_the_end(server, owner, old_key, current):
    """Time passes, and everything ends when it should."""
    there(server, "session:sess_123", "ratelimit:42:hour")
    advance(server, HOUR)
    gone(
        server,
        "products:config",
        "ratelimit:42:minute",
        "ratelimit:42:hour",
        "ratelimit:kikuai_abc123:hour",
    )
    there(server, "ratelimit:42:day")
    advance(server, 23 * HOUR)
    gone(server, "session:sess_123", "ratelimit:42:day")
    there(server, "webhook:paddle:ptx_123", "webhook:paddle:ptx_w0")
    advance(server, 6 * DAY)
    expect(list(server.scan_iter("webhook:*")), [])
    there(server, "usage:42:2025-12", "usage:123456789:2025-12")
    advance(server, 28 * DAY)
    gone(server, "usage:42:2025-12", "usage:123456789:2025-12")
    there(server, "usage:42:2025-12-04", "usage:123456789:2025-12-04")
    advance(server, 55 * DAY)
    expect(
        all_keys(server),
        sorted(
            [
                "user:123456789",
                "user:42",
                f"user:{owner}",
                "users:active",
                "users:by_api_key:kikuai_same",
                f"api_key:{old_key}",
                f"api_key:{current}",
                "api_key:kikuai_same",
                "transactions:123456789",
                "transactions:123456789:recent",
                "transactions:42",
                "transactions:42:recent",
            ]
        ),
        "what lives for ever",
    )
    tell("90 days later only what lives for ever is left")


def main():
    server = begin(DB)
    if REDIS:
        beside.play(server)
        return
    the_document(server)
    owner, key = accounts(server)
    balances(server)
    webhooks(server)
    current = api_keys(server, owner, key)
    activity(server, owner)
    sessions(server)
    usage(server)
    limits(server)
    refusals(server)
    to_the_end(server, owner, key, current)
    server.flushdb()
    beside.play(server)


if __name__ == "__main__":
    main()
