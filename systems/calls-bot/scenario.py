"""calls-bot from its first write to its last expiry.

The document's own examples first, as they stand there; then every operation, many callers
at once; then time passes, until only what lives for ever is left.
"""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parent.parent))

import beside
from stage import (
    DAY,
    HOUR,
    MINUTE,
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
    lives,
    lives_for_ever,
    now_ms,
    parts,
    pass_until,
    tell,
    there,
    timestamp,
)

DB = 14
YEAR = 365 * DAY
TOKEN = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"

SETTINGS = """{
  "min_win_rate": 30,
  "min_avg_gain": 50,
  "min_fdv_at_call": 30000,
  "blockchain_filter": "both",
  "target_channel": null,
  "preset": "preset_2"
}"""
SUBSCRIPTION = """{
  "plan": "monthly",
  "status": "active",
  "expires_at": "2026-01-25T10:00:00Z",
  "payment_method": "solana",
  "tx_hash": "ABC123...XYZ"
}"""
PROCESSED = """{
  "status": "accepted",
  "timestamp": "2025-12-25T10:00:00Z",
  "channels_checked": ["@channel1", "@channel2"],
  "channels_called_at": {
    "@channel1": "2025-12-25T10:00:00Z"
  }
}"""
MULTIPLIER = """{
    "channel_id": "@crypto_channel",
    "fdv_at_call": 50000.0,
    "highest_multiplier_sent": 2.5,
    "timestamp": "2025-12-25T10:00:00Z"
  }"""
COUPON = """{
    "discount_percent": 50.0,
    "max_uses": 100,
    "used_count": 25,
    "valid_until": "2026-01-01T00:00:00Z"
  }"""


def the_document(server):
    """Its keys, values and commands are taken as they stand, and live as long as it says."""
    examples = [
        ("conversation_state:123456789", "waiting_min_win_rate", 5 * MINUTE),
        ("token_price:ABC123...XYZ", '{"fdv": 125000.50, "marketcap": 98000.25}', 5 * MINUTE),
        ("price:ABC123...XYZ", "125000.50", 5 * MINUTE),
        ("channel:@crypto_channel:info", '{"win_rate": 62.5, "avg_gain": 180.0}', 30 * MINUTE),
        ("processed_token:ABC123...XYZ:123456789", PROCESSED, 14 * DAY),
        ("multiplier:ABC123...XYZ:123456789", MULTIPLIER, 7 * DAY),
        ("used_transaction:ABC123...XYZ", "1", YEAR),
        ("payment_verification:ABC123...XYZ", '{"amount": "0.25"}', 24 * HOUR),
        ("pending_commission:12345", '{"chat_id": 987654321, "amount": "2.50"}', 90 * DAY),
        ("paid_commission:12345", '{"amount": "2.50", "tx_hash": "ABC123...XYZ"}', YEAR),
        # An id need not be a number, and what such rows hold is not said.
        ("pending_commission:abc", '{"chat_id": "987654321", "amount": null}', 90 * DAY),
        ("paid_commission:abc", '{"tx_hash": "x", "paid_at": 1766656800}', YEAR),
    ]
    for key, value, milliseconds in examples:
        with lives(server, key, milliseconds):
            expect(server.set(key, value), True)
        expect(server.get(key), value, key)
    persistent = {
        "user_settings:123456789": SETTINGS,
        "user_referred_by:123456789": "987654321",
        "user_referral_code:123456789": "ABC123",
        "referral_code:ABC123": "123456789",
        "blocked_user:123456789": "1",
    }
    for key, value in persistent.items():
        expect(server.set(key, value), True)
        expect(server.get(key), value, key)
        lives_for_ever(server, key)

    # Its subscription and its coupon end on a day of their own, which may be past by now.
    expect(server.set("subscription:123456789", SUBSCRIPTION), True)
    expect(server.set("coupon:WELCOME50", COUPON), True)
    ends, ends_ms = timestamp(server, 20 * DAY)
    live = SUBSCRIPTION.replace("2026-01-25T10:00:00Z", ends)
    expect(server.set("subscription:123456789", live), True)
    expect(server.pexpiretime("subscription:123456789"), ends_ms, "the end of a subscription")
    expect(server.sadd("active_subscribers", "123456789"), 0, "the set is kept already")
    expect(server.sismember("active_subscribers", "123456789"), 1)
    expect(server.smembers("active_subscribers:monthly"), {"123456789"})
    expect(server.set("coupon:WELCOME50", COUPON.replace("2026-01-01T00:00:00Z", ends)), True)
    expect(server.set("coupon_usage:WELCOME50:123456789", "1"), True)
    expect(server.pexpiretime("coupon_usage:WELCOME50:123456789"), ends_ms)

    # Its order of writes, the set before the subscription and the code before its user's,
    # passes within a transaction. A group's id is negative.
    with server.pipeline(transaction=True) as multi:
        multi.sadd("active_subscribers", "-1001649127710")
        multi.set("subscription:-1001649127710", live)
        multi.set("referral_code:GROUP", "-1001649127710")
        multi.set("user_referral_code:-1001649127710", "GROUP")
        expect(multi.execute(), [1, True, True, True])
    expect(server.smembers("active_subscribers"), {"123456789", "-1001649127710"})
    expect(server.delete("subscription:-1001649127710", "user_referral_code:-1001649127710"), 2)
    gone(server, "referral_code:GROUP")
    # "Sanitized" examples may have more fields, statuses are open, and keys that it does
    # not show pass.
    further = live.replace('"plan"', '"started_by": "trial", "plan"').replace("active", "paused")
    expect(server.set("subscription:55", further), True)
    expect(server.sismember("active_subscribers", "55"), 0)
    expect(server.execute_command("KEYWARD", "STATS", "")["warned"], 0)
    expect(server.set("daily_report:2025-12-25", "sent"), True)
    expect(server.execute_command("KEYWARD", "STATS", "")["warned"], 1, "it is counted")
    expect(server.delete("subscription:55", "daily_report:2025-12-25"), 2)

    # INCR counts; none of the twenty patterns is a counter of the bot's own, so it is one of
    # the others. What is no number is refused as by Redis.
    expect([server.incr("calls_sent:2025-12-25") for _ in range(3)], [1, 2, 3])
    expect(answer(lambda: server.incr("conversation_state:123456789")), "value", "Redis's error")
    expect(server.delete("calls_sent:2025-12-25"), 1)

    # SETNX makes a write idempotent, EXPIRE may shorten a life and not prolong it.
    expect(server.setnx("used_transaction:ABC123...XYZ", "1"), False)
    expect(server.expire("token_price:ABC123...XYZ", 60), True)
    expect(answer(lambda: server.expire("price:ABC123...XYZ", 3600)), "SCHEMA")

    # What ends by a date of its own takes no other end, neither a nearer one; that one it does,
    # by the seconds that are left too, if they were reckoned within a second.
    dated = {
        "subscription:123456789": live,
        "coupon:WELCOME50": COUPON.replace("2026-01-01T00:00:00Z", ends),
        "coupon_usage:WELCOME50:123456789": "1",
    }
    for key, value in dated.items():
        expect(answer(lambda: server.expire(key, 86400)), "SCHEMA", key)
        expect(answer(lambda: server.set(key, value, ex=86400)), "SCHEMA", key)
        expect(server.set(key, value, exat=ends_ms // 1000), True, key)

        def for_what_is_left():
            left_s = (ends_ms - now_ms(server)) // 1000
            return answer(lambda: server.set(key, value, ex=left_s))

        expect(any(for_what_is_left() is True for _ in range(20)), True, key)
        expect(server.pexpiretime(key), ends_ms, key)
    tell("the document's examples are taken as they stand, and live as long as it says")


def isolated(server):
    """Another application, in another database, is not touched by the schema."""
    before = all_keys(server)
    with connect(0) as other:
        expect(other.set("subscription:123456789", "no JSON at all"), True)
        expect(other.lpush("user_settings:1", "a list"), 1)
        lives_for_ever(other, "subscription:123456789", "user_settings:1")
        expect(all_keys(server), before, "nothing of it is seen here")
        expect(other.delete("subscription:123456789", "user_settings:1"), 2)


def tokens(server):
    """Of 40 workers that claim a token for a user, one has it."""
    accepted = {"status": "accepted", "timestamp": "2025-12-25T10:00:00Z", "channels_checked": []}
    rejected = {"status": "rejected", "timestamp": "2025-12-25T10:00:00Z"}
    for user, row, milliseconds in [(1, accepted, 14 * DAY), (2, rejected, HOUR)]:
        key = f"processed_token:{TOKEN}:{user}"
        texts = [
            json.dumps({**row, "channels_called_at": {f"@{n}": row["timestamp"]}})
            for n in range(40)
        ]
        with lives(server, key, milliseconds):
            answers = at_once(
                DB,
                [lambda one, text=text: one.fcall("claim_token", 1, key, text) for text in texts],
            )
        expect(sorted(answers), ["claimed"] + ["duplicate"] * 39)
        expect(server.get(key), texts[answers.index("claimed")], "the row of who claimed it")
    tell("a token that 40 workers claim at once is claimed once")


def multipliers(server):
    """Forty price changes at once: each threshold is told once, the highest stays."""
    key = f"multiplier:{TOKEN}:1"
    row = {
        "channel_id": "@c",
        "fdv_at_call": 50000.0,
        "highest_multiplier_sent": 1,
        "timestamp": "2025-12-25T10:00:00Z",
    }
    expect(answer(lambda: server.fcall("raise_multiplier", 1, key, 2, 2)), "MULTIPLIER_UNKNOWN")
    server.set(key, json.dumps(row))
    advance(server, 10 * SECOND)
    deadline = server.pexpiretime(key)
    thresholds = ["2", "3", "5", "10", "20", "50"]
    answers = at_once(
        DB,
        [
            lambda one, times=times: one.fcall("raise_multiplier", 1, key, times, *thresholds)
            for times in [number / 2 for number in range(1, 41)]
        ],
    )
    told = [threshold for answer in answers for threshold in answer]
    expect(sorted(told, key=int), ["2", "3", "5", "10", "20"], "thresholds that were told")
    after = json.loads(server.get(key))
    expect(after["highest_multiplier_sent"], 20.0)
    expect(sorted(after.pop("thresholds_notified")), [2, 3, 5, 10, 20])
    expect({**row, "highest_multiplier_sent": 20.0}, after, "the other fields")
    expect(server.pexpiretime(key), deadline, "the remaining lifetime")
    expect(server.fcall("raise_multiplier", 1, key, "19.9", *thresholds), [])
    tell("40 price changes at once told each threshold once")


def coupons(server):
    """A hundred users redeem a coupon of ten uses."""
    ends, ends_ms = timestamp(server, 3 * DAY)
    coupon = {"discount_percent": 50.0, "max_uses": 10, "used_count": 0, "valid_until": ends}
    server.set("coupon:TEN", json.dumps(coupon))

    def redeem(one, user):
        return one.fcall("redeem_coupon", 2, "coupon:TEN", f"coupon_usage:TEN:{user}")

    answers = at_once(DB, [lambda one, user=user: redeem(one, user) for user in range(100)])
    redeemed = [user for user in range(100) if answers[user] != "COUPON_EXHAUSTED"]
    expect(len(redeemed), 10, "redeemed")
    left = sorted(parts(answers[user])["uses_left"] for user in redeemed)
    expect(left, list(range(10)), "uses left")
    expect({parts(answers[user])["discount_percent"] for user in redeemed}, {"50.0"})
    expect(json.loads(server.get("coupon:TEN")), {**coupon, "used_count": 10})
    marks = [f"coupon_usage:TEN:{user}" for user in redeemed]
    expect(sorted(server.scan_iter("coupon_usage:TEN:*")), sorted(marks), "who used it")
    for key in ["coupon:TEN", *marks]:
        expect(server.pexpiretime(key), ends_ms, key)
    again = at_once(DB, [lambda one, user=user: redeem(one, user) for user in redeemed])
    expect(again, ["COUPON_USED"] * 10)
    unknown = ["coupon:NONE", "coupon_usage:NONE:1"]
    expect(answer(lambda: server.fcall("redeem_coupon", 2, *unknown)), "COUPON_UNKNOWN")

    # One that somebody made to live on, while breaches were let pass, is over all the same.
    soon, soon_ms = timestamp(server, 10 * SECOND)
    server.set("coupon:SOON", json.dumps({**coupon, "valid_until": soon}))
    server.execute_command("KEYWARD", "MODE", "warn")
    expect(server.persist("coupon:SOON"), True)
    server.execute_command("KEYWARD", "MODE", "enforce")
    pass_until(server, soon_ms)
    there(server, "coupon:SOON")
    over = ["coupon:SOON", "coupon_usage:SOON:1"]
    expect(answer(lambda: server.fcall("redeem_coupon", 2, *over)), "COUPON_EXPIRED")
    server.delete("coupon:SOON")
    tell("a coupon of ten uses was redeemed by ten of a hundred users")


def subscriptions(server):
    """Twenty chats present the same transaction; twenty others pay for themselves."""
    ends, ends_ms = timestamp(server, 30 * DAY)

    def activate(one, tx_hash, chat, plan):
        keys = [
            f"payment_verification:{tx_hash}",
            f"used_transaction:{tx_hash}",
            f"subscription:{chat}",
        ]
        return one.fcall("activate_subscription", 3, *keys, plan, ends, "solana")

    expect(answer(lambda: activate(server, "5Kd", 200, "monthly")), "PAYMENT_UNVERIFIED")
    server.set("payment_verification:5Kd", '{"amount": "0.25"}')
    answers = at_once(
        DB,
        [lambda one, chat=chat: activate(one, "5Kd", chat, "monthly") for chat in range(200, 220)],
    )
    winners = [200 + index for index, told in enumerate(answers) if told != "TRANSACTION_USED"]
    expect(len(winners), 1, "subscriptions of one transaction")

    for chat in range(300, 320):
        server.set(f"payment_verification:tx{chat}", '{"amount": "0.25"}')
    answers = at_once(
        DB,
        [
            lambda one, chat=chat: activate(
                one, f"tx{chat}", chat, "yearly" if chat % 2 else "monthly"
            )
            for chat in range(300, 320)
        ],
    )
    for chat, text in zip(range(300, 320), answers):
        expect(server.get(f"subscription:{chat}"), text, "the answer is the subscription")
        expect(server.pexpiretime(f"subscription:{chat}"), ends_ms)
        with_flag = server.pttl(f"used_transaction:tx{chat}")
        expect(YEAR - MINUTE < with_flag <= YEAR, True, "a used transaction is known for a year")
    yearly = {str(chat) for chat in range(301, 320, 2)}
    monthly = {str(chat) for chat in range(300, 320, 2)} | {str(winners[0]), "123456789"}
    expect(server.smembers("active_subscribers:yearly"), yearly)
    expect(server.smembers("active_subscribers:monthly"), monthly)
    expect(server.smembers("active_subscribers"), yearly | monthly)

    # One changes plan, one cancels; nobody touches the sets.
    changed = server.get("subscription:301").replace("yearly", "monthly")
    server.set("subscription:301", changed)
    server.set("subscription:303", server.get("subscription:303").replace("active", "cancelled"))
    expect(server.smembers("active_subscribers:yearly"), yearly - {"301", "303"})
    expect(server.smembers("active_subscribers:monthly"), monthly | {"301"})
    expect(server.sismember("active_subscribers", "303"), 0)
    tell("one transaction paid for one subscription; the sets of subscribers follow")
    return ends_ms


def commissions(server):
    """Ten workers pay the same commission."""
    row = '{"chat_id": 987654321, "amount": "2.50", "created_at": "2025-12-25T10:00:00Z"}'
    keys = ["pending_commission:777", "paid_commission:777"]
    server.set(keys[0], row)
    with lives(server, keys[1], YEAR):
        answers = at_once(
            DB,
            [
                lambda one, n=n: one.fcall(
                    "pay_commission", 2, *keys, f"tx{n}", "2025-12-26T10:00:00Z"
                )
                for n in range(10)
            ],
        )
    expect(sorted(told == "COMMISSION_PAID" for told in answers), [False] + [True] * 9)
    paid = json.loads(server.get(keys[1]))
    winner = next(n for n, told in enumerate(answers) if told != "COMMISSION_PAID")
    expect(paid, {**json.loads(row), "tx_hash": f"tx{winner}", "paid_at": "2025-12-26T10:00:00Z"})
    gone(server, keys[0])
    unknown = ["pending_commission:778", "paid_commission:778"]
    told = answer(lambda: server.fcall("pay_commission", 2, *unknown, "tx", "2025-12-26T10:00:00Z"))
    expect(told, "COMMISSION_UNKNOWN")
    tell("a commission that ten workers pay at once is paid once")


def referrals(server):
    """Twenty users want the same code; then the owner is found both ways."""
    answers = at_once(
        DB,
        [
            lambda one, chat=chat: one.fcall(
                "assign_referral_code", 2, f"user_referral_code:{chat}", "referral_code:LUCKY"
            )
            for chat in range(400, 420)
        ],
    )
    expect(sorted(answers), ["LUCKY"] + ["REFERRAL_CODE_TAKEN"] * 19)
    owner = str(400 + answers.index("LUCKY"))
    expect(server.get("referral_code:LUCKY"), owner)
    expect(server.get(f"user_referral_code:{owner}"), "LUCKY")
    kept = server.fcall(
        "assign_referral_code", 2, f"user_referral_code:{owner}", "referral_code:OTHER"
    )
    expect(kept, "LUCKY", "the code he has")
    gone(server, "referral_code:OTHER")
    # A second owner is refused to plain commands too.
    expect(answer(lambda: server.set("user_referral_code:500", "LUCKY")), "SCHEMA")

    def record(one, chat, code):
        return one.fcall("record_referral", 2, f"user_referred_by:{chat}", f"referral_code:{code}")

    expect(answer(lambda: record(server, owner, "LUCKY")), "REFERRAL_SELF")
    expect(answer(lambda: record(server, 600, "NOBODY")), "REFERRAL_UNKNOWN")
    answers = at_once(
        DB, [lambda one, n=n: record(one, 600, "LUCKY" if n % 2 else "ABC123") for n in range(20)]
    )
    expect(sorted(answers), ["duplicate"] * 19 + ["recorded"])
    code = "LUCKY" if answers.index("recorded") % 2 else "ABC123"
    expect(server.get("user_referred_by:600"), server.get(f"referral_code:{code}"))
    tell("a code has one owner, and a user was referred once")
    return owner


def notifications(server):
    """All that decides on a notification, in one round trip."""
    keys = [
        "user_settings:123456789",
        "subscription:123456789",
        "processed_token:ABC123...XYZ:123456789",
    ]
    found = parts(server.fcall_ro("notification_state", 3, *keys))
    wanted = dict(zip(["settings", "subscription", "processed_token"], server.mget(keys)))
    expect(found, wanted)
    nobody = [key.replace("123456789", "9") for key in keys]
    expect(set(parts(server.fcall_ro("notification_state", 3, *nobody)).values()), {None})


def refusals(server):
    """What is not in the document is refused, and nothing is half done."""
    for command in [
        ("SET", "user_settings:1", "[]"),
        ("SET", "paid_commission:1", "{}"),
        (
            "SET",
            f"processed_token:{TOKEN}:9",
            '{"status":"acepted","timestamp":"2025-12-25T10:00:00Z"}',
        ),
        ("SET", "coupon_usage:NONE:1", "1"),
        ("SADD", "active_subscribers", "31337"),
        ("DEL", "active_subscribers"),
        ("EXPIRE", "user_settings:123456789", "60"),
        ("PERSIST", "multiplier:ABC123...XYZ:123456789"),
    ]:
        before = all_keys(server)
        expect(answer(lambda: server.execute_command(*command)), "SCHEMA", " ".join(command))
        expect(all_keys(server), before)


def to_the_end(server, subscribed_until_ms, owner):
    """Time passes, and everything ends when it should."""
    with lives(server, "conversation_state:7", 5 * MINUTE):
        server.set("conversation_state:7", "waiting_preset")
    advance(server, 4 * MINUTE)
    there(server, "conversation_state:7")
    pass_until(server, server.pexpiretime("conversation_state:7"))
    gone(server, "conversation_state:7", "token_price:ABC123...XYZ", "price:ABC123...XYZ")

    there(server, f"processed_token:{TOKEN}:1")
    advance(server, HOUR)
    gone(server, f"processed_token:{TOKEN}:2", "channel:@crypto_channel:info")
    expect(
        server.fcall(
            "claim_token",
            1,
            f"processed_token:{TOKEN}:2",
            '{"status":"rejected","timestamp":"2025-12-25T10:00:00Z"}',
        ),
        "claimed",
        "anew",
    )
    advance(server, 24 * HOUR)
    gone(server, "payment_verification:5Kd", f"processed_token:{TOKEN}:2")
    expect(
        answer(
            lambda: server.fcall(
                "activate_subscription",
                3,
                "payment_verification:5Kd",
                "used_transaction:5Kd",
                "subscription:999",
                "monthly",
                timestamp(server, DAY)[0],
                "solana",
            )
        ),
        "TRANSACTION_USED",
    )

    # The coupon takes its marks along, all in the same moment.
    pass_until(server, server.pexpiretime("coupon:TEN"))
    expect(list(server.scan_iter("coupon_usage:TEN:*")), [])
    gone(server, "coupon:TEN")

    advance(server, 7 * DAY)
    gone(server, f"multiplier:{TOKEN}:1", "multiplier:ABC123...XYZ:123456789")
    there(server, f"processed_token:{TOKEN}:1")
    advance(server, 7 * DAY)
    gone(server, f"processed_token:{TOKEN}:1", "processed_token:ABC123...XYZ:123456789")

    # Subscriptions end one after the other, and the sets never name one that is over.
    expect(server.sismember("active_subscribers", "123456789"), 1)
    pass_until(server, server.pexpiretime("subscription:123456789"))
    expect(server.sismember("active_subscribers", "123456789"), 0)
    gone(server, "subscription:123456789", "coupon:WELCOME50", "coupon_usage:WELCOME50:123456789")
    expect(server.scard("active_subscribers"), 20)
    pass_until(server, subscribed_until_ms)
    gone(server, "active_subscribers", "active_subscribers:monthly", "active_subscribers:yearly")

    there(server, "pending_commission:12345", "pending_commission:abc")
    advance(server, 90 * DAY)
    gone(server, "pending_commission:12345", "pending_commission:abc")
    there(server, "paid_commission:777", "used_transaction:5Kd")
    advance(server, YEAR)
    expect(
        all_keys(server),
        sorted(
            [
                "blocked_user:123456789",
                "referral_code:LUCKY",
                "referral_code:ABC123",
                f"user_referral_code:{owner}",
                "user_referral_code:123456789",
                "user_referred_by:123456789",
                "user_referred_by:600",
                "user_settings:123456789",
            ]
        ),
        "what lives for ever",
    )
    tell("a year later only what lives for ever is left")


def main():
    server = begin(DB)
    if REDIS:
        beside.play(server)
        return
    the_document(server)
    isolated(server)
    tokens(server)
    multipliers(server)
    coupons(server)
    subscribed_until_ms = subscriptions(server)
    commissions(server)
    owner = referrals(server)
    notifications(server)
    refusals(server)
    to_the_end(server, subscribed_until_ms, owner)
    server.flushdb()
    beside.play(server)


if __name__ == "__main__":
    main()
