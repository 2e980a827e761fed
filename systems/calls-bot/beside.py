"""calls-bot on Keyward and on a stock Redis: the same users, and what was not kept.

On Redis the bot sends what its document has: SETNX, EXPIRE, SADD and plain SET and GET. On
Keyward it calls the functions, and leaves lifetimes and sets to the schema. Works are
generators that yield between their commands, so that both servers see the same callers at
once, and the same callers die.
"""

import json
from collections import Counter
from functools import partial

from stage import (
    DAY,
    MINUTE,
    REDIS,
    advance,
    answer,
    expect,
    immortal,
    interleaved,
    run,
    tell_unkept,
    timestamp,
)

DB = 14
TOKEN = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
MONTH_S = 30 * 86400
YEAR_S = 365 * 86400
THRESHOLDS = [2, 3, 5, 10]

# What has a lifetime in the document.
PASSING = (
    "conversation_state:",
    "coupon:",
    "coupon_usage:",
    "multiplier:",
    "payment_verification:",
    "processed_token:",
    "subscription:",
    "used_transaction:",
)


def play(server):
    """The bot's users, the same on both servers; then time passes."""
    ends, _ = timestamp(server, 30 * DAY)
    run(DB, [partial(verify, tx=chat) for chat in range(100, 130)])
    paying = [partial(activate, chat=chat, plan="monthly", ends=ends) for chat in range(100, 120)]
    interleaved(DB, paying)
    dying = [partial(activate, chat=chat, plan="monthly", ends=ends) for chat in range(120, 125)]
    interleaved(DB, dying, commands=1)
    run(DB, [partial(change_plan, chat=chat, plan="yearly", ends=ends) for chat in range(100, 105)])
    expect(server.scard("active_subscribers"), 20 if REDIS else 25, "who has paid")
    counts = {"places in the set of a plan that the subscriber has left": left_plans(server)}

    write(server, "coupon:TEN", coupon(10, ends), MONTH_S)
    write(server, "coupon:GONE", coupon(10, ends), MONTH_S)
    redeemed = interleaved(DB, [partial(redeem, code="TEN", user=user) for user in range(20)])
    expect(sum(redeemed) >= 10, True, "ten have the discount")
    used = json.loads(server.get("coupon:TEN"))["used_count"]
    counts["redemptions beyond the ten uses of a coupon"] = max(0, sum(redeemed) - 10)
    counts["redemptions that the coupon has not counted"] = sum(redeemed) - used
    gone = run(DB, [partial(redeem, code="GONE", user=user) for user in range(6)])
    expect(gone, [True] * 6)
    server.delete("coupon:GONE")
    counts["marks of a coupon that was withdrawn"] = len(server.keys("coupon_usage:GONE:*"))

    interleaved(DB, [partial(assign_code, user=user, code="LUCKY") for user in range(8)])
    expect(server.exists("referral_code:LUCKY"), 1)
    counts["users whose referral code leads to another"] = led_astray(server)

    row = {"channel_id": "@c", "fdv_at_call": 50000.0, "highest_multiplier_sent": 1}
    row["timestamp"] = "2025-12-25T10:00:00Z"
    write(server, f"multiplier:{TOKEN}:1", json.dumps(row), 604800)
    told = interleaved(DB, [partial(raise_multiplier, times=times) for times in (2, 3, 4, 6)])
    told = Counter(threshold for thresholds in told for threshold in thresholds)
    expect(sorted(told), ["2", "3", "5"], "every threshold that was crossed")
    counts["notifications of a threshold that had been sent"] = told.total() - len(told)

    advance(server, 31 * DAY)
    counts["members of active_subscribers without a subscription"] = outlived(server)
    # By now whatever lives for a month or less has ended.
    advance(server, 366 * DAY + MINUTE)
    counts["keys that never end, though the document says when"] = immortal(server, *PASSING)
    tell_unkept(server, counts)


def write(server, key, value, seconds):
    """A row with its lifetime, which Keyward knows by itself."""
    server.set(key, value, ex=seconds if REDIS else None)


def coupon(uses, ends):
    row = {"discount_percent": 50.0, "max_uses": uses, "used_count": 0, "valid_until": ends}
    return json.dumps(row)


def verify(server, tx):
    write(server, f"payment_verification:{tx}", '{"amount": "0.25"}', 86400)
    yield


def activate(server, chat, plan, ends):
    """A transaction pays for a subscription; it has the chat's number."""
    row, used = f"subscription:{chat}", f"used_transaction:{chat}"
    if not REDIS:
        keys = [f"payment_verification:{chat}", used, row]
        server.fcall("activate_subscription", 3, *keys, plan, ends, "solana")
        return
    if not server.setnx(used, "1"):
        return
    yield
    server.expire(used, YEAR_S)
    yield
    server.set(row, subscription(plan, ends), ex=MONTH_S)
    yield
    server.sadd("active_subscribers", chat)
    yield
    server.sadd(f"active_subscribers:{plan}", chat)


def change_plan(server, chat, plan, ends):
    write(server, f"subscription:{chat}", subscription(plan, ends), MONTH_S)
    yield
    server.sadd(f"active_subscribers:{plan}", chat)


def subscription(plan, ends):
    return json.dumps({"plan": plan, "status": "active", "expires_at": ends})


def redeem(server, code, user):
    """Whether the user was given the discount."""
    row, mark = f"coupon:{code}", f"coupon_usage:{code}:{user}"
    if not REDIS:
        return isinstance(answer(lambda: server.fcall("redeem_coupon", 2, row, mark)), list)
    found = json.loads(server.get(row))
    yield
    if found["used_count"] >= found["max_uses"] or not server.setnx(mark, "1"):
        return False
    yield
    server.expire(mark, MONTH_S)
    yield
    server.set(row, json.dumps({**found, "used_count": found["used_count"] + 1}), ex=MONTH_S)
    return True


def assign_code(server, user, code):
    own, owner = f"user_referral_code:{user}", f"referral_code:{code}"
    if not REDIS:
        answer(lambda: server.fcall("assign_referral_code", 2, own, owner))
        return
    if server.get(owner):
        return
    yield
    server.set(own, code)
    yield
    server.set(owner, user)


def raise_multiplier(server, times):
    """The thresholds that the user was notified of."""
    key = f"multiplier:{TOKEN}:1"
    if not REDIS:
        return server.fcall("raise_multiplier", 1, key, times, *THRESHOLDS)
    row = json.loads(server.get(key))
    yield
    highest = row["highest_multiplier_sent"]
    server.set(key, json.dumps({**row, "highest_multiplier_sent": times}), ex=604800)
    return [str(threshold) for threshold in THRESHOLDS if highest < threshold <= times]


def left_plans(server):
    """Members of the sets by plan whose subscription names another plan."""
    count = 0
    for key in server.keys("active_subscribers:*"):
        for chat in server.smembers(key):
            row = json.loads(server.get(f"subscription:{chat}"))
            count += row["plan"] != key.split(":")[1]
    return count


def led_astray(server):
    """Users whose own code is somebody else's."""
    codes = {key: server.get(key) for key in server.keys("user_referral_code:*")}
    owners = {key: server.get(f"referral_code:{code}") for key, code in codes.items()}
    return sum(key.split(":")[1] != owner for key, owner in owners.items())


def outlived(server):
    chats = server.smembers("active_subscribers")
    return sum(not server.exists(f"subscription:{chat}") for chat in chats)
