"""calls-bot's figures: five million keys in at most 500 MB."""

import json
import random

from gauge import latency, memory

DB = 14
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def rows(scale, is_keyward):
    """25,000 tokens for 100 users: a processed token and a multiplier for each pair."""
    dice = random.Random(1)
    users = [str(dice.randrange(10**8, 10**10)) for _ in range(100)]
    channels = [f"@channel_{number}" for number in range(500)]

    def until(seconds):
        return () if is_keyward else ("EX", str(seconds))

    for user in users:
        settings = {
            "min_win_rate": 30,
            "min_avg_gain": 50,
            "min_fdv_at_call": 30000,
            "blockchain_filter": "both",
            "target_channel": None,
            "preset": "preset_2",
        }
        yield "SET", f"user_settings:{user}", json.dumps(settings)
        subscription = {
            "plan": "monthly",
            "status": "active",
            "expires_at": "2100-01-25T10:00:00Z",
            "payment_method": "solana",
            "tx_hash": "5Kd" + user,
        }
        yield "SET", f"subscription:{user}", json.dumps(subscription)
        if not is_keyward:
            yield "EXPIREAT", f"subscription:{user}", "4104554400"
            yield "SADD", "active_subscribers", user
            yield "SADD", "active_subscribers:monthly", user
    for channel in channels:
        info = json.dumps(
            {"win_rate": dice.randrange(1000) / 10, "avg_gain": dice.randrange(5000) / 10}
        )
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
                row = (
                    f'{{"status": "accepted", "timestamp": "{at}", "channels_checked": ["{first}", '
                    f'"{second}"], "channels_called_at": {{"{first}": "{at}"}}}}'
                )
            else:
                row = (
                    f'{{"status": "rejected", "timestamp": "{at}", '
                    f'"channels_checked": ["{first}", "{second}"]}}'
                )
            yield (
                "SET",
                f"processed_token:{token}:{user}",
                row,
                *until(1209600 if is_accepted else 3600),
            )
            row = (
                f'{{"channel_id": "{first}", "fdv_at_call": {fdv}, "highest_multiplier_sent": '
                f'{dice.randrange(2, 40) / 2}, "timestamp": "{at}"}}'
            )
            yield ("SET", f"multiplier:{token}:{user}", row, *until(604800))


def settings(_):
    return []


def measure(server, scale, calls, is_keyward):
    _, seconds = server.load(DB, rows(scale, is_keyward))
    client = server.client(DB)
    claims = {"keys": "~5M+", "used_memory": "~50-500 MB, 100-500 bytes a key"}
    figures = memory(server, client.dbsize(), **claims)
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
