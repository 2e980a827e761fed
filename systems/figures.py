#!/usr/bin/env python3
"""The figures of the systems' documents, measured: Keyward beside redis-server.

    cargo build --release -p keyward
    python3 systems/figures.py calls-bot
    python3 systems/figures.py api-billing --scale 0.1 --keyward target/debug/keyward

Each server gets the same keyspace in turn. Redis gets it by the client code that the
documents show, with every lifetime, index and LTRIM; Keyward by the plain writes alone,
since the schema does the rest. Written is a table with the document's own claim. Needs
redis-py. Social's document has no figures.
"""

import argparse
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import redis

SYSTEMS = Path(__file__).resolve().parent
MB = 1_000_000
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


# ── Servers ───────────────────────────────────────────────────────────────────────


class Server:
    """A server of its own, on a free port, which ends with the block."""

    def __init__(self, program, arguments):
        self.folder = tempfile.TemporaryDirectory()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        common = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder.name]
        self.process = subprocess.Popen([*program, *common, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for _ in range(200):
            try:
                self.client().ping()
                self.empty_bytes = self.resident_bytes()
                return self
            except redis.ConnectionError:
                time.sleep(0.05)
        raise SystemExit("the server does not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def client(self, db=0):
        return redis.Redis(port=self.port, db=db, decode_responses=True)

    def resident_bytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1024

    def load(self, db, commands):
        """Sends commands whose replies have one line each; answers how many there were and
        the seconds it took."""
        stream = socket.create_connection(("127.0.0.1", self.port))
        counted = threading.Event()
        replies = {"count": 0}

        def count():
            rest = b""
            while not counted.is_set() or replies["count"] < replies["wanted"]:
                received = stream.recv(1 << 20)
                if not received:
                    raise SystemExit("the server closed the connection")
                *lines, rest = (rest + received).split(b"\r\n")
                refused = next((line for line in lines if line.startswith(b"-")), None)
                if refused:
                    print(refused.decode(), file=sys.stderr)
                    os._exit(1)
                replies["count"] += len(lines)

        reader = threading.Thread(target=count, daemon=True)
        reader.start()
        start, sent, batch = time.monotonic(), 1, [encoded(("SELECT", str(db)))]
        for command in commands:
            batch.append(encoded(command))
            if len(batch) == 2000:
                sent += len(batch)
                stream.sendall("".join(batch).encode())
                batch.clear()
        sent += len(batch) - 1
        replies["wanted"] = sent + 1
        counted.set()
        batch.append(encoded(("PING",)))
        stream.sendall("".join(batch).encode())
        reader.join()
        stream.close()
        return sent - 1, time.monotonic() - start


def encoded(command):
    """A command in RESP. All texts here are ASCII: characters are bytes."""
    words = [f"*{len(command)}\r\n"]
    for word in command:
        words.append(f"${len(word)}\r\n{word}\r\n")
    return "".join(words)


def latency(call, calls):
    """The p50 and p99 of a call in milliseconds, as the client sees them."""
    times = []
    for number in range(calls):
        start = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - start) * 1000)
    cuts = statistics.quantiles(times, n=100)
    return f"{cuts[49]:.2f} / {cuts[98]:.2f} ms"


def memory(server, keys):
    used = server.client().info("memory")["used_memory"]
    resident = server.resident_bytes() - server.empty_bytes
    return [
        ("keys", "", f"{keys:,}"),
        ("used_memory", "", f"{used / MB:,.0f} MB, {used / keys:.0f} bytes a key"),
        ("resident", "", f"{resident / MB:,.0f} MB, {resident / keys:.0f} bytes a key"),
    ]


def claimed(figures, claims):
    return [(title, claims.get(title, claim), value) for title, claim, value in figures]


# ── calls-bot ─────────────────────────────────────────────────────────────────────


def calls_bot_rows(scale, is_keyward):
    """25,000 tokens for 100 users: a processed token and a multiplier for each pair."""
    dice = random.Random(1)
    users = [str(dice.randrange(10**8, 10**10)) for _ in range(100)]
    channels = [f"@channel_{number}" for number in range(500)]

    def until(seconds):
        return () if is_keyward else ("EX", str(seconds))

    for user in users:
        settings = {"min_win_rate": 30, "min_avg_gain": 50, "min_fdv_at_call": 30000,
                    "blockchain_filter": "both", "target_channel": None, "preset": "preset_2"}
        yield "SET", f"user_settings:{user}", json.dumps(settings)
        subscription = {"plan": "monthly", "status": "active", "expires_at": "2100-01-25T10:00:00Z",
                        "payment_method": "solana", "tx_hash": "5Kd" + user}
        yield "SET", f"subscription:{user}", json.dumps(subscription)
        if not is_keyward:
            yield "EXPIREAT", f"subscription:{user}", "4104554400"
            yield "SADD", "active_subscribers", user
            yield "SADD", "active_subscribers:monthly", user
    for channel in channels:
        info = json.dumps({"win_rate": dice.randrange(1000) / 10, "avg_gain": dice.randrange(5000) / 10})
        yield ("SET", f"channel:{channel}:info", info, *until(1800))
    for _ in range(int(25_000 * scale)):
        token = "".join(dice.choices(BASE58, k=44))
        first, second = dice.sample(channels, 2)
        fdv = dice.randrange(10_000, 10_000_000) / 2
        minute = dice.randrange(60)
        price = json.dumps({"fdv": fdv, "marketcap": fdv * 0.8})
        yield ("SET", f"token_price:{token}", price, *until(300))
        for user in users:
            at = f"2025-12-25T{dice.randrange(24):02}:{minute:02}:{dice.randrange(60):02}Z"
            is_accepted = dice.random() < 0.6
            if is_accepted:
                row = (f'{{"status": "accepted", "timestamp": "{at}", "channels_checked": ["{first}", '
                       f'"{second}"], "channels_called_at": {{"{first}": "{at}"}}}}')
            else:
                row = f'{{"status": "rejected", "timestamp": "{at}", "channels_checked": ["{first}", "{second}"]}}'
            yield ("SET", f"processed_token:{token}:{user}", row, *until(1209600 if is_accepted else 3600))
            row = (f'{{"channel_id": "{first}", "fdv_at_call": {fdv}, "highest_multiplier_sent": '
                   f'{dice.randrange(2, 40) / 2}, "timestamp": "{at}"}}')
            yield ("SET", f"multiplier:{token}:{user}", row, *until(604800))


def calls_bot(server, scale, calls, is_keyward):
    _, seconds = server.load(14, calls_bot_rows(scale, is_keyward))
    client = server.client(14)
    figures = claimed(memory(server, client.dbsize()), {
        "keys": "~5M+", "used_memory": "~50-500 MB, 100-500 bytes a key"})
    figures.append(("loading them", "", f"{seconds:.0f} s"))
    user = next(client.scan_iter("subscription:*", count=1000)).split(":")[1]
    keys = [f"user_settings:{user}", f"subscription:{user}", f"processed_token:none:{user}"]

    def notification(_):
        if is_keyward:
            client.fcall_ro("notification_state", 3, *keys)
        else:
            with client.pipeline(transaction=False) as pipeline:
                pipeline.get(keys[0]).get(keys[1]).get(keys[2]).execute()

    figures.append(("what decides on a notification, p50 / p99", "", latency(notification, calls)))
    return figures


# ── api-billing ───────────────────────────────────────────────────────────────────


def api_billing_rows(scale, is_keyward):
    """The document's counts: users, keys, months, transactions and limits."""
    dice = random.Random(2)
    users = [str(123_456_789 + 7 * number) for number in range(int(10_000 * scale))]

    def until(seconds):
        return () if is_keyward else ("EX", str(seconds))

    def api_key():
        return "kikuai_" + "".join(dice.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=32))

    def key_row(key, user, status):
        return json.dumps({
            "key": key, "key_hash": f"sha256:{dice.getrandbits(256):064x}", "user_id": int(user),
            "name": "Production Key", "created_at": "2025-12-01T10:00:00Z",
            "last_used_at": "2025-12-04T15:30:00Z", "status": status,
            "permissions": ["reliapi:read", "reliapi:write"]})

    for number, user in enumerate(users):
        key = api_key()
        active_ms = 1_764_862_200_000 + number * 1000
        active = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(active_ms // 1000))
        yield ("HSET", f"user:{user}", "user_id", user, "telegram_username", f"@user_{number}",
               "telegram_first_name", "John", "api_key", key, "created_at", "2025-12-01T10:00:00Z",
               "balance_usd", "10.50", "total_spent_usd", "45.00", "status", "active", "last_active_at", active,
               "settings", '{"notifications_enabled": true, "low_balance_threshold": 5.0}')
        if not is_keyward:
            yield "SET", f"users:by_api_key:{key}", user
            yield "ZADD", "users:active", str(active_ms), user
        yield "SET", f"api_key:{key}", key_row(key, user, "active")
        if number % 2:
            old = api_key()
            yield "SET", f"api_key:{old}", key_row(old, user, "revoked")
        for month in range(1, 13):
            usage = f"usage:{user}:2025-{month:02}"
            requests = dice.randrange(2000)
            yield ("HSET", usage, "total_requests", str(requests), "reliapi_requests", str(requests * 2 // 3),
                   "reliapi_tokens", str(requests * 33), "routellm_requests", str(requests // 3),
                   "last_updated", "2025-12-04T15:30:00Z")
            if not is_keyward:
                yield "EXPIRE", usage, "3024000"
        balance = 0
        for entry in range(50):
            amount = dice.randrange(1, 2000)
            row = json.dumps({
                "id": f"txn_{number}_{entry}", "type": "topup", "amount_usd": amount / 100,
                "balance_before": balance / 100, "balance_after": (balance + amount) / 100, "source": "paddle",
                "paddle_transaction_id": f"ptx_{number}_{entry}", "created_at": active})
            balance += amount
            yield "RPUSH", f"transactions:{user}", row
            yield "LPUSH", f"transactions:{user}:recent", row
            if not is_keyward:
                yield "LTRIM", f"transactions:{user}:recent", "0", "49"
        for subject, windows in [(user, ("minute", "hour", "day")), (key, ("minute", "hour"))]:
            for window in windows:
                seconds = {"minute": 60, "hour": 3600, "day": 86400}[window]
                # A minute would end while others are loaded.
                yield ("SET", f"ratelimit:{subject}:{window if seconds > 60 else 'day'}", "45", *until(86400))
        yield ("SET", f"webhook:paddle:ptx_{number}", "processed", *until(604800))
        yield ("SET", f"session:sess_{number}", json.dumps({
            "user_id": int(user), "state": "awaiting_payment",
            "data": {"checkout_id": f"chk_{number}", "amount": 10.00}, "created_at": active}), *until(86400))


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


def api_billing(server, scale, calls, is_keyward):
    _, seconds = server.load(2, api_billing_rows(scale, is_keyward))
    client = server.client(2)
    figures = claimed(memory(server, client.dbsize()), {"used_memory": "~250 MB"})
    figures.append(("loading them", "", f"{seconds:.0f} s"))
    user = "123456789"
    keys = [f"user:{user}", f"transactions:{user}", f"transactions:{user}:recent"]
    script = client.register_script(BALANCE_SCRIPT)

    def change(number):
        if is_keyward:
            client.fcall("change_balance", 3, *keys, f"txn_f{number}", "topup", "0.1", "2025-12-04T15:30:00Z")
            return
        row = json.dumps({"id": f"txn_f{number}", "type": "topup", "amount_usd": 0.1,
                          "created_at": "2025-12-04T15:30:00Z"})
        script(keys=keys[:2], args=["0.1", row])
        with client.pipeline(transaction=False) as pipeline:
            pipeline.lpush(keys[2], row).ltrim(keys[2], 0, 49).execute()

    before = client.hget(keys[0], "balance_usd")
    figures.append(("changing a balance, p50 / p99", "", latency(change, calls)))
    figures.append((f"{before} and {calls:,} times 0.1", "exact", client.hget(keys[0], "balance_usd")))
    return figures


# ── telegram-gateway ──────────────────────────────────────────────────────────────

CHANNEL = "-1001649127710"
INDEX = f"telegram:channel:{CHANNEL}:recent"


def telegram_rows(scale, is_keyward):
    """An hour of 50 messages a second, some 500 bytes each."""
    dice = random.Random(3)
    words = "BUY SELL PETR4 VALE3 T1 T2 stop entry target long short hold".split()
    for number in range(int(180_000 * scale)):
        at_ms = 1_730_649_600_000 + number * 20
        text = " ".join(dice.choices(words, k=50))[:230]
        message = json.dumps({
            "channel_id": CHANNEL, "message_id": str(number), "text": text, "status": "received",
            "received_at": "2025-11-03T10:30:00.000Z", "telegram_date": "2025-11-03T10:29:55.000Z",
            "metadata": {"source": "telegram-gateway", "channel_name": "TP Capital Signals"}},
            separators=(",", ":"))
        yield ("SET", f"telegram:msg:{CHANNEL}:{number}", message, *(() if is_keyward else ("EX", "3600")))
        yield "ZADD", INDEX, str(at_ms), str(number)
        yield ("SET", f"telegram:dedup:{CHANNEL}:{number}", "1", *(() if is_keyward else ("EX", "7200")))


def telegram_gateway(server, scale, calls, is_keyward):
    _, seconds = server.load(3, telegram_rows(scale, is_keyward))
    client = server.client(3)
    count = client.zcard(INDEX)
    figures = claimed(memory(server, client.dbsize()), {"used_memory": "270 MB"})
    figures.insert(0, ("messages", "180,000", f"{count:,}"))
    figures.append(("loading them", "", f"{seconds:.0f} s"))

    def poll(_):
        if is_keyward:
            found = client.fcall_ro("poll_messages", 1, INDEX, "received", 100)
        else:
            with client.pipeline(transaction=False) as pipeline:
                for message_id in client.zrange(INDEX, 0, 99):
                    pipeline.get(f"telegram:msg:{CHANNEL}:{message_id}")
                found = [row for row in pipeline.execute() if row and json.loads(row)["status"] == "received"]
        if len(found) != 100:
            raise SystemExit(f"a poll found {len(found)} messages")

    def update(number):
        key = f"telegram:msg:{CHANNEL}:{count - 1 - number % count}"
        if is_keyward:
            client.fcall("set_message_status", 1, key, "processed")
        else:
            message = json.loads(client.get(key))
            message["status"] = "processed"
            client.set(key, json.dumps(message), keepttl=True)

    figures.append(("poll of 100, p50 / p99", "10 ms", latency(poll, calls // 3)))
    figures.append(("duplicate check, p50 / p99", "2 ms", latency(
        lambda number: client.exists(f"telegram:dedup:{CHANNEL}:{number}"), calls)))
    figures.append(("update of a status, p50 / p99", "5 ms", latency(update, calls)))
    return figures


# ── events ────────────────────────────────────────────────────────────────────────


def uuid(dice):
    digits = f"{dice.getrandbits(128):032x}"
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def events_rows(scale, is_keyward):
    """More than 4 GB of everything: sessions first, then caches that push against the limit."""
    dice = random.Random(4)

    def written(seconds, *command):
        yield command
        if not is_keyward:
            yield "EXPIRE", command[1], str(seconds)

    for number in range(int(400_000 * scale)):
        yield from written(
            1800, "HSET", f"user:session:{uuid(dice)}", "user_id", str(number), "email", f"user{number}@example.com",
            "role", "attendee", "created_at", "2025-12-04T15:00:00Z", "last_activity", "2025-12-04T15:30:00Z",
            "ip_address", "203.0.113.7", "user_agent", "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101")
        yield from written(2592000, "SET", f"ab_test:checkout_button:{number}", dice.choice(["green", "red"]))
    events = [uuid(dice) for _ in range(max(200, int(200_000 * scale)))]
    for event in events:
        yield from written(
            3600, "HSET", f"event:cache:{event}", "title", "Jazz by the river", "description",
            " ".join(dice.choices("music night river stage jam doors free seats".split(), k=60)),
            "start_time", "2026-06-20T19:00:00Z", "end_time", "2026-06-20T23:00:00Z", "venue_name", "Pier 7",
            "is_virtual", "false", "status", "published", "cached_at", "2025-12-04T15:30:00Z")
        yield from written(
            300, "HSET", f"event:stats:{event}", "view_count", str(dice.randrange(10**5)), "registration_count",
            str(dice.randrange(500)), "favorite_count", str(dice.randrange(900)), "share_count", "25")
        yield from written(86400, "ZADD", f"event:similarity:{event}", *(
            word for other in dice.sample(events, 10) for word in (str(dice.random()), other)))
    for number in range(int(500_000 * scale)):
        found = dice.choices(events, k=100)
        hits = [{"event_id": event, "score": round(dice.random(), 4), "title": "Jazz by the river"} for event in found]
        yield from written(1800, "SET", f"search:results:{dice.getrandbits(128):032x}",
                           json.dumps({"total": 100, "hits": hits}))
        yield from written(14400, "SET", f"recommendations:{number}", json.dumps(found))


def events(server, scale, _, is_keyward):
    _, seconds = server.load(0, events_rows(scale, is_keyward))
    client = server.client()
    figures = claimed(memory(server, client.dbsize()), {"used_memory": f"at most {4 * scale:g} GB"})
    figures.append(("loading them", "", f"{seconds:.0f} s"))
    counts = dict.fromkeys(["user:session", "ab_test", "search:results", "recommendations"], 0)
    for key in client.scan_iter(count=10_000):
        prefix = next((prefix for prefix in counts if key.startswith(prefix)), None)
        if prefix:
            counts[prefix] += 1
    for prefix, wanted in [("user:session", 400_000), ("ab_test", 400_000),
                           ("search:results", 500_000), ("recommendations", 500_000)]:
        figures.append((f"`{prefix}:…` left of {int(wanted * scale):,}", "", f"{counts[prefix]:,}"))
    figures.append(("evicted", "", f"{client.info('stats')['evicted_keys']:,}"))
    return figures


# ── Side by side ──────────────────────────────────────────────────────────────────

MEASURED = {
    "calls-bot": calls_bot,
    "api-billing": api_billing,
    "telegram-gateway": telegram_gateway,
    "events": events,
}


def main():
    parser = argparse.ArgumentParser(description="The figures of a system's document, measured.")
    parser.add_argument("system", choices=MEASURED)
    parser.add_argument("--scale", type=float, default=1.0, help="of the document's counts (1)")
    parser.add_argument("--keyward", default=str(SYSTEMS.parent / "target/release/keyward"))
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--calls", type=int, default=3000, help="calls to find a latency by (3000)")
    arguments = parser.parse_args()
    measure, scale, calls = MEASURED[arguments.system], arguments.scale, arguments.calls
    schema = str(SYSTEMS / arguments.system / "keyward.toml")
    limit = []
    if arguments.system == "events":
        limit = ["--maxmemory", str(int(4 * 2**30 * scale)), "--maxmemory-policy", "allkeys-lru"]
    with Server([arguments.keyward, "serve", schema], limit) as keyward:
        ours = measure(keyward, scale, calls, True)
    with Server([arguments.redis], limit) as peer:
        version = peer.client().info("server")["redis_version"]
        theirs = measure(peer, scale, calls, False)
    print(f"| {arguments.system} | its document | Keyward | Redis {version} |")
    print("|---|---|---|---|")
    for (title, claim, value), (_, _, other) in zip(ours, theirs):
        print(f"| {title} | {claim} | {value} | {other} |")


if __name__ == "__main__":
    main()
