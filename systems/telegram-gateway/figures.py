"""telegram-gateway's figures: an hour of messages in 270 MB; poll, duplicate check, update."""

import json
import random

from gauge import latency, memory

DB = 3
CHANNEL = "-1001649127710"
INDEX = f"telegram:channel:{CHANNEL}:recent"
OPEN = f"telegram:channel:{CHANNEL}:open"
TAKEN = f"telegram:channel:{CHANNEL}:taken"


def rows(scale, is_keyward):
    """An hour of 50 messages a second, some 500 bytes each."""
    dice = random.Random(3)
    words = "BUY SELL PETR4 VALE3 T1 T2 stop entry target long short hold".split()
    for number in range(int(180_000 * scale)):
        at_ms = 1_730_649_600_000 + number * 20
        text = " ".join(dice.choices(words, k=50))[:230]
        message = json.dumps(
            {
                "channel_id": CHANNEL,
                "message_id": str(number),
                "text": text,
                "status": "received",
                "received_at": "2025-11-03T10:30:00.000Z",
                "telegram_date": "2025-11-03T10:29:55.000Z",
                "metadata": {"source": "telegram-gateway", "channel_name": "TP Capital Signals"},
            },
            separators=(",", ":"),
        )
        yield (
            "SET",
            f"telegram:msg:{CHANNEL}:{number}",
            message,
            *(() if is_keyward else ("EX", "3600")),
        )
        yield "ZADD", INDEX, str(at_ms), str(number)
        yield (
            "SET",
            f"telegram:dedup:{CHANNEL}:{number}",
            "1",
            *(() if is_keyward else ("EX", "7200")),
        )


def settings(_):
    return []


def measure(server, scale, calls, is_keyward):
    _, seconds = server.load(DB, rows(scale, is_keyward))
    client = server.client(DB)
    count = client.zcard(INDEX)
    figures = memory(server, client.dbsize(), used_memory="270 MB")
    figures.insert(0, ("messages", "180,000", f"{count:,}"))
    figures.append(("loading them", "", f"{seconds:.0f} s"))

    def poll(_):
        if is_keyward:
            found = client.fcall_ro("poll_messages", 3, INDEX, OPEN, TAKEN, "received", 100)
        else:
            with client.pipeline(transaction=False) as pipeline:
                for message_id in client.zrange(INDEX, 0, 99):
                    pipeline.get(f"telegram:msg:{CHANNEL}:{message_id}")
                found = [
                    row
                    for row in pipeline.execute()
                    if row and json.loads(row)["status"] == "received"
                ]
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
    figures.append(
        (
            "duplicate check, p50 / p99",
            "2 ms",
            latency(lambda number: client.exists(f"telegram:dedup:{CHANNEL}:{number}"), calls),
        )
    )
    figures.append(("update of a status, p50 / p99", "5 ms", latency(update, calls)))
    return figures
