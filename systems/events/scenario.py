"""events from its first write to its last expiry.

Every key of the document first, with the lifetime it says; then every operation, many
callers at once; then time passes, until nothing is left.
"""

import asyncio
import json
import sys
from pathlib import Path

from redis.asyncio import BlockingConnectionPool, Redis as AsyncRedis

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
    lives,
    lives_for_ever,
    now_ms,
    parts,
    pass_until,
    tell,
    timestamp,
)

DB = 0
AT = "2025-12-04T15:30:00Z"
SESSION = "user:session:123e4567-e89b-12d3-a456-426614174000"
EVENT = "550e8400-e29b-41d4-a716-446655440000"
OTHER_EVENT = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

# Each key of the document with a lifetime: how it is written, and how long it lives.
DOCUMENT = [
    ("1h", "SET user:password_reset:4f2d8c1b 123"),
    ("24h", "SET user:email_verification:9a7e5c3f 123"),
    (
        "30m",
        f"HSET {SESSION} user_id 7c9e6679-7425-40de-944b-e07fc1f90ae7 email ada@example.com "
        "role organizer created_at NOW last_activity NOW ip_address 203.0.113.7 "
        "user_agent Mozilla/5.0",
    ),
    (
        "4h",
        'HSET user:preferences:123 preferred_categories ["music"] preferred_locations ["Lisbon"] '
        'interests ["jazz"] price_range_min 0 price_range_max 49.90 '
        'notification_settings {"email":true}',
    ),
    ("1m", "INCR rate_limit:user:123:api_calls"),
    ("1h", "SET rate_limit:user:123:search 1 EX 3600"),
    (
        "1h",
        f"HSET event:cache:{EVENT} title Jazz description Two start_time 2026-06-20T19:00:00Z "
        f"end_time 2026-06-20T23:00:00Z venue_name Pier is_virtual false status published "
        f"cached_at {AT}",
    ),
    (
        "5m",
        f"HSET event:stats:{EVENT} view_count 1204 registration_count 48 favorite_count 310 "
        f"share_count 25 last_updated {AT}",
    ),
    (
        "2m",
        f"HSET event:availability:{EVENT} max_attendees 50 current_registrations 48 "
        "available_spots 2 is_full false",
    ),
    ("1h", f"RPUSH events:featured {EVENT} {OTHER_EVENT}"),
    ("30m", f"ZADD events:category:music 98.5 {EVENT}"),
    ("15m", f"ZADD events:trending 42 {EVENT}"),
    ("1d", "ZINCRBY search:popular:queries 1 jazz"),
    ("7d", "LPUSH search:recent:123 jazz"),
    ("4h", "SADD search:autocomplete:ja:z jazz"),
    ("30m", 'SET search:results:9e107d9d372bb6826bd81d3542a419d6 {"total":0,"hits":[]}'),
    ("2h", "SADD search:filters:categories music tech"),
    ("2h", "SADD search:filters:locations Lisbon online"),
    ("2h", "SADD search:filters:tags free outdoor"),
    (
        "1m",
        "HSET analytics:metrics:current active_users 318 events_per_minute 42 "
        f"registrations_per_hour 12 last_updated {AT}",
    ),
    ("24h", 'LPUSH analytics:activity:123 {"type":"view"}'),
    ("5m", "INCR analytics:counters:page_views:5m"),
    ("1h", "SET analytics:counters:page_views:1h 1 EX 3600"),
    (
        "30m",
        f"HSET analytics:session:v-81 user_id 123 start_time {AT} last_activity {AT} page_views 9",
    ),
    ("30m", f"SADD analytics:session:v-81:events_viewed {EVENT}"),
    ("30d", "SET ab_test:checkout_button:123 green EX 2592000"),
    ("4h", f'SET recommendations:123 ["{EVENT}"]'),
    ("24h", f"ZADD event:similarity:{EVENT} 0.87 {OTHER_EVENT}"),
    ("7d", 'LPUSH user:interactions:123 {"type":"favorite"}'),
    ("30d", "SET ml:model:ranker:version 7 EX 2592000"),
    ("30d", "SET ml:model:ranker:data \x00\x01 EX 2592000"),
    ("1h", 'RPUSH websocket:queue:123 {"room":"jazz"}'),
]
UNITS = {"m": MINUTE, "h": HOUR, "d": DAY}


def words_of(server, command):
    """The words of a command; NOW is the server's time."""
    now, _ = timestamp(server)
    return [now if word == "NOW" else word for word in command.split(" ")]


def the_document(server):
    """Its keys are written by plain commands and live as long as it says."""
    for lifetime, command in DOCUMENT:
        words = words_of(server, command)
        milliseconds = int(lifetime[:-1]) * UNITS[lifetime[-1]]
        if words[1].endswith(":events_viewed"):
            server.execute_command(*words)
            expect(
                server.pexpiretime(words[1]), server.pexpiretime("analytics:session:v-81"), words[1]
            )
            continue
        with lives(server, words[1], milliseconds):
            server.execute_command(*words)
    for command in [
        "SADD websocket:connections c-0",
        "SADD websocket:user:123 c-0",
        "SADD websocket:room:jazz c-0",
    ]:
        server.execute_command(*command.split(" "))
        lives_for_ever(server, command.split(" ")[1])
    expect(server.smembers("websocket:connection:c-0:rooms"), {"jazz"}, "the mirror of a room")
    server.srem("websocket:connections", "c-0")
    server.srem("websocket:user:123", "c-0")
    server.srem("websocket:connection:c-0:rooms", "jazz")
    gone(server, "websocket:room:jazz", "websocket:user:123", "websocket:connections")
    written = {command.split(" ")[1] for _, command in DOCUMENT}
    expect(set(all_keys(server)), written)
    # What it leaves open: ids that are no UUIDs, times in any form, rows by parts.
    for command in [
        "HSET user:session:abc123 user_id 1 email a role user created_at NOW last_activity 1763376000",
        "HSET event:cache:12345 start_time 1781982000 is_virtual True",
        "RPUSH events:featured evt_1",
        "ZADD events:category:music 1 evt_1",
        "HINCRBY analytics:metrics:current active_users 1",
        "HINCRBY analytics:session:s3 page_views 1",
        "INCR rate_limit:user:123:GET:/events/:id",
    ]:
        server.execute_command(*words_of(server, command))
    expect(0 < server.pttl("rate_limit:user:123:GET:/events/:id") <= MINUTE, True)
    expect(0 < server.pttl("event:cache:12345") <= HOUR, True)
    # Attendees, roles, leaderboards and rankings by time, of which it shows no keys.
    for command in [
        "SADD event:attendees:12345 1",
        "SADD user:roles:1 admin",
        "ZADD leaderboard:organizers 1 ada",
        "ZADD events:by_start 1781982000 12345",
    ]:
        before = server.execute_command("KEYWARD", "STATS", "")["warned"]
        expect(server.execute_command(*command.split(" ")), 1, command)
        after = server.execute_command("KEYWARD", "STATS", "")["warned"]
        expect(after - before, 1, f"{command} is counted")
    server.flushdb()
    tell("every key of the document lives as long as it says, without an EXPIRE")


def renewals(server):
    """A list that lives for a time after use lives it from its last item, not its first."""
    for key, milliseconds in [
        ("websocket:queue:123", HOUR),
        ("search:recent:123", 7 * DAY),
        ("user:interactions:123", 7 * DAY),
        ("analytics:activity:123", 24 * HOUR),
    ]:
        server.rpush(key, "first")
        advance(server, milliseconds - 10 * SECOND)
        with lives(server, key, milliseconds):
            server.rpush(key, "second")
        advance(server, milliseconds - SECOND)
        expect(server.lrange(key, 0, -1), ["first", "second"], key)
        pass_until(server, server.pexpiretime(key))
        gone(server, key)
    tell("a message that is queued in the last ten seconds of an hour waits another hour")


def sessions(server):
    """A session slides by 30 minutes, a day in all, and a token is consumed once."""
    signed_in_at, born_ms = timestamp(server)
    start = ["sign_in", 1, SESSION, "123", "ada@example.com", "organizer", signed_in_at, "", "M/5.0"]
    with lives(server, SESSION, 30 * MINUTE):
        answers = at_once(DB, [lambda one: one.fcall(*start)] * 20)
    expect(sorted(answers), ["duplicate"] * 19 + ["signed_in"])
    for _ in range(3):
        advance(server, 20 * MINUTE)
        expect(server.hget(SESSION, "email"), "ada@example.com", "reading prolongs it")
    with lives(server, SESSION, 30 * MINUTE):
        expect(server.fcall("touch_session", 1, SESSION, "2025-12-04T16:30:00Z"), "touched")
    expect(server.hget(SESSION, "last_activity"), "2025-12-04T16:30:00Z")
    expect(server.hexists(SESSION, "ip_address"), False, "what was left out")
    expect(answer(lambda: server.hset(SESSION, "created_at", AT)), "SCHEMA", "its birth is fixed")

    # Used every 20 minutes, it ends a day after its birth and not before.
    day_ms = born_ms + DAY
    while now_ms(server) + 20 * MINUTE < day_ms:
        advance(server, 20 * MINUTE)
        expect(server.hget(SESSION, "email"), "ada@example.com", "within its day")
    expect(server.pexpiretime(SESSION), day_ms, "no use prolongs it beyond")
    pass_until(server, day_ms)
    gone(server, SESSION)

    # A writer may give it the day at once, which use does not shorten, and no more.
    start[6], born_ms = timestamp(server)
    server.fcall(*start)
    expect(answer(lambda: server.pexpireat(SESSION, born_ms + DAY + SECOND)), "SCHEMA")
    server.pexpireat(SESSION, born_ms + DAY)
    expect(server.hget(SESSION, "user_id"), "123")
    expect(server.pexpiretime(SESSION), born_ms + DAY, "use does not shorten it")
    expect(server.fcall("sign_out", 1, SESSION), "signed_out")
    expect(server.fcall("sign_out", 1, SESSION), "absent")
    server.fcall(*start)
    advance(server, 30 * MINUTE + SECOND)
    expect(server.fcall("touch_session", 1, SESSION, AT), "absent", "it ended by itself")

    for purpose, milliseconds in [("password_reset", HOUR), ("email_verification", 24 * HOUR)]:
        key = f"user:{purpose}:4f2d8c1b"
        with lives(server, key, milliseconds):
            expect(server.fcall("issue_token", 1, key, "123"), "issued")
        expect(server.fcall("issue_token", 1, key, "124"), "duplicate")
        answers = at_once(DB, [lambda one: one.fcall("consume_token", 1, key)] * 20)
        expect(sorted(answers), ["123"] + ["TOKEN_UNKNOWN"] * 19)
        server.fcall("issue_token", 1, key, "123")
        advance(server, milliseconds + SECOND)
        expect(answer(lambda: server.fcall("consume_token", 1, key)), "TOKEN_UNKNOWN", "it expired")
    tell("a session slides, and a token that 20 consume at once is consumed once")


def limits(server):
    """Of 60 calls at once a limit of 40 lets exactly 40 pass, for the seconds it was given."""
    key = "rate_limit:user:123:api_calls"
    with lives(server, key, 10 * MINUTE):
        answers = at_once(DB, [lambda one: parts(one.fcall("take_api_call", 1, key, 40, 600))] * 60)
    passed = sorted(found["remaining"] for found in answers if found["allowed"])
    expect(passed, list(range(40)))
    waits = {found["retry_after"] for found in answers if not found["allowed"]}
    expect(waits <= set(range(570, 601)), True, f"seconds to wait: {waits}")
    pass_until(server, server.pexpiretime(key))
    expect(parts(server.fcall("take_api_call", 1, key, 40, 600))["remaining"], 39, "a new window")
    expect(
        answer(lambda: server.fcall("take_api_call", 1, "rate_limit:user:124:x", 5, 7200)), "SCHEMA"
    )
    gone(server, "rate_limit:user:124:x")
    tell("a limit of 40 let 40 of 60 calls pass")


async def thousand(function, keys):
    """Calls a function for an event a thousand times at once."""
    pool = BlockingConnectionPool(
        port=PORT, db=DB, decode_responses=True, max_connections=100, timeout=60
    )
    async with AsyncRedis(connection_pool=pool) as server:

        async def once():
            try:
                return await server.fcall(function, 2, *keys, AT)
            except Exception as error:
                return str(error).split()[0]

        answers = await asyncio.gather(*(once() for _ in range(1000)))
    await pool.aclose()
    return answers


def registrations(server):
    """A thousand register for an event of fifty seats, and a thousand cancel."""
    keys = [f"event:availability:{EVENT}", f"event:stats:{EVENT}"]
    register = ["register_attendee", 2, *keys, AT]
    cancel = ["cancel_registration", 2, *keys, AT]
    expect(answer(lambda: server.fcall(*register)), "NOTLOADED")
    expect(answer(lambda: server.fcall(*cancel)), "NOTLOADED")
    places = {
        "max_attendees": 50,
        "current_registrations": 0,
        "available_spots": 50,
        "is_full": "false",
    }
    with lives(server, keys[0], 2 * MINUTE):
        server.hset(keys[0], mapping=places)
    counts = {"view_count": 9, "registration_count": 0, "favorite_count": 1, "share_count": 1}
    server.hset(keys[1], mapping=counts)
    deadline = server.pexpiretime(keys[0])
    answers = asyncio.run(thousand("register_attendee", keys))
    left = sorted(found for found in answers if found != "EVENT_FULL")
    expect(left, list(range(50)), "places left, each once")
    expect(answers.count("EVENT_FULL"), 950)
    expect(
        server.hgetall(keys[0]),
        {
            "max_attendees": "50",
            "current_registrations": "50",
            "available_spots": "0",
            "is_full": "true",
        },
    )
    expect(server.hmget(keys[1], "registration_count", "last_updated"), ["50", AT])
    expect(server.pexpiretime(keys[0]), deadline, "a registration does not prolong the row")
    no_more_than_seats(server, keys[0])

    answers = asyncio.run(thousand("cancel_registration", keys))
    left = sorted(found for found in answers if found != "NOBODY_REGISTERED")
    expect(left, list(range(1, 51)), "places left, each once")
    expect(server.hmget(keys[0], *places), ["50", "0", "50", "false"])
    expect(server.hget(keys[1], "registration_count"), "0")
    # Registering and cancelling at once: places and figures agree whatever comes first.
    at_once(DB, [lambda one, n=n: one.fcall(*(cancel if n % 3 == 0 else register)) for n in range(90)])
    most, taken, spots, _ = server.hmget(keys[0], *places)
    expect(int(taken) + int(spots), int(most))
    expect(server.hget(keys[1], "registration_count"), taken)
    pass_until(server, deadline)
    expect(answer(lambda: server.fcall(*register)), "NOTLOADED", "never a guess")
    expect(answer(lambda: server.fcall(*cancel)), "NOTLOADED", "never a guess")
    server.delete(keys[1])
    tell("of a thousand registrations for fifty seats, fifty were taken, and given back")


def no_more_than_seats(server, key):
    """No plain command takes a place that is not there, nor says that one is; none takes the
    last one and leaves the event open, nor closes one that has places."""
    full = server.hgetall(key)
    almost = {**full, "current_registrations": 49, "available_spots": 1, "is_full": "false"}
    server.hset(key, mapping=almost)
    for command in [
        ("HINCRBY", key, "current_registrations", 1),
        ("HSET", key, "available_spots", 0),
        ("HSET", key, "available_spots", 0, "is_full", "true"),
    ]:
        expect(answer(lambda: server.execute_command(*command)), "SCHEMA", str(command))
    server.hset(key, mapping=full)
    before = server.hgetall(key)
    for command in [
        ("HINCRBY", key, "current_registrations", 1),
        ("HSET", key, "current_registrations", 51),
        ("HSET", key, "max_attendees", 49),
        ("HSET", key, "is_full", "false"),
        ("HINCRBY", key, "available_spots", 1),
    ]:
        expect(answer(lambda: server.execute_command(*command)), "SCHEMA", str(command))
    with server.pipeline(transaction=True) as transaction:
        transaction.hincrby(key, "current_registrations", 1)
        transaction.hset(key, "is_full", "true")
        expect(answer(transaction.execute), "Transaction", "it is discarded")
    expect(server.hgetall(key), before)
    # One that leaves the row true may take it by steps.
    with server.pipeline(transaction=True) as transaction:
        transaction.hincrby(key, "available_spots", 10)
        transaction.hset(key, "is_full", "false")
        transaction.hincrby(key, "max_attendees", 10)
        expect(transaction.execute(), [10, 0, 60])
    server.hset(key, mapping=before)


def figures(server):
    """Views, favourites and shares at once; trending and popularity."""
    key = f"event:stats:{EVENT}"
    view = ["count_interaction", 1, key, "view", AT]
    expect(answer(lambda: server.fcall(*view)), "NOTLOADED")
    server.hset(
        key,
        mapping={
            "view_count": 1204,
            "registration_count": 48,
            "favorite_count": 310,
            "share_count": 25,
        },
    )
    counts = at_once(DB, [lambda one: one.fcall(*view)] * 100)
    expect(sorted(counts), list(range(1205, 1305)))
    expect(server.fcall("count_interaction", 1, key, "favorite", AT, -1), 309)
    expect(server.fcall("count_interaction", 1, key, "share", AT), 26)
    # A count cannot fall below zero, and nothing of the attempt is left.
    expect(
        answer(
            lambda: server.fcall("count_interaction", 1, key, "share", "2030-01-01T00:00:00Z", -27)
        ),
        "SCHEMA",
    )
    expect(server.hmget(key, "view_count", "share_count", "last_updated"), ["1304", "26", AT])

    keys = ["events:trending", "events:category:music"]
    answers = at_once(
        DB, [lambda one: parts(one.fcall("raise_popularity", 2, *keys, EVENT, "0.5"))] * 40
    )
    expect(sorted(float(found["trending"]) for found in answers), [n / 2 for n in range(1, 41)])
    expect(
        server.fcall(
            "raise_popularity", 2, "events:trending", "events:category:tech", OTHER_EVENT, 30
        ),
        ["trending", "30", "popularity", "30"],
    )
    expect(server.zrevrange("events:trending", 0, -1), [OTHER_EVENT, EVENT])
    expect(server.zscore("events:category:music", EVENT), 20)
    tell("a hundred views at once are all counted")


def searches(server):
    """Recent searches are twenty, popular ones count them all."""
    keys = ["search:recent:123", "search:popular:queries"]
    for number in range(30):
        expect(server.fcall("remember_search", 2, *keys, f"query {number}"), 1)
    expect(server.lrange(keys[0], 0, -1), [f"query {number}" for number in range(29, 9, -1)])
    expect(
        server.fcall("remember_search", 2, *keys, "query 10"), 2, "the oldest of the twenty, again"
    )
    expect(server.lrange(keys[0], 0, 1), ["query 10", "query 29"])
    expect(server.llen(keys[0]), 20)
    answers = at_once(
        DB,
        [
            lambda one, user=user: one.fcall(
                "remember_search", 2, f"search:recent:{user}", keys[1], "jazz"
            )
            for user in range(200, 240)
        ],
    )
    expect(sorted(answers), list(range(1, 41)))
    expect(server.zrevrange(keys[1], 0, 1, withscores=True)[0][0], "jazz")
    expect(server.zcard(keys[1]), 31)
    tell("a user's recent searches are twenty, the popular ones count everyone's")


def analytics(server):
    """Counters, visits, activity, variants."""
    key = "analytics:counters:page_views:1h"
    with lives(server, key, HOUR):
        answers = at_once(DB, [lambda one: one.fcall("count_metric", 1, key, 3600, 2)] * 50)
    expect(sorted(answers), list(range(2, 101, 2)))

    visit = ["analytics:session:v-81", "analytics:session:v-81:events_viewed"]
    views = at_once(
        DB,
        [
            lambda one, n=n: one.fcall(
                "track_page_view", 2, *visit, AT, "", (EVENT, OTHER_EVENT)[n % 2]
            )
            for n in range(20)
        ],
    )
    expect(sorted(views), list(range(1, 21)))
    expect(server.hgetall(visit[0]), {"start_time": AT, "last_activity": AT, "page_views": "20"})
    expect(server.smembers(visit[1]), {EVENT, OTHER_EVENT})
    advance(server, 20 * MINUTE)
    with lives(server, visit[0], 30 * MINUTE):
        server.fcall("track_page_view", 2, *visit, "2025-12-04T15:50:00Z", "123")
    expect(server.pexpiretime(visit[1]), server.pexpiretime(visit[0]), "it lives with its visit")
    pass_until(server, server.pexpiretime(visit[0]))
    gone(server, *visit)

    items = [json.dumps({"type": "view", "n": n}) for n in range(1200)]
    for start in range(0, 1200, 100):
        server.lpush("analytics:activity:123", *items[start : start + 100])
        server.lpush("user:interactions:123", *items[start : start + 100])
    expect(server.lrange("analytics:activity:123", 0, -1), items[:199:-1], "the 1,000 newest")
    expect(server.lrange("user:interactions:123", 0, -1), items[:699:-1], "the 500 newest")

    key = "ab_test:checkout_button:123"
    with lives(server, key, 14 * DAY):
        answers = at_once(
            DB,
            [
                lambda one, n=n: one.fcall(
                    "assign_variant", 1, key, ("green", "red")[n % 2], 14 * 86400
                )
                for n in range(40)
            ],
        )
    expect(len(set(answers)), 1, "variants")
    with lives(server, "ab_test:checkout_button:124", 400 * DAY):
        server.fcall("assign_variant", 1, "ab_test:checkout_button:124", "green", 400 * 86400)
    tell("forty who assign a variant at once all get the same")


def models(server):
    """Five publish versions while five read: version and data always belong together."""
    keys = ["ml:model:ranker:version", "ml:model:ranker:data"]

    def publish(one, number):
        return [
            one.fcall("publish_model", 2, *keys, f"{number}-{n}", f"data of {number}-{n}", 86400)
            for n in range(30)
        ]

    def read(one):
        for _ in range(60):
            version, data = one.mget(keys)
            expect(data, version and f"data of {version}")

    jobs = [lambda one, n=n: publish(one, n) for n in range(5)] + [read] * 5
    answers = at_once(DB, jobs)
    expect(answers[:5], [["published"] * 30] * 5)
    with lives(server, keys[1], DAY):
        server.fcall("publish_model", 2, *keys, "7", "x", 86400)
    expect(server.fcall("publish_model", 2, *keys, "7", "x", 86400), "duplicate")
    server.delete(keys[1])
    expect(server.fcall("publish_model", 2, *keys, "7", "x", 86400), "published", "evicted data")
    with lives(server, keys[0], 365 * DAY):
        server.fcall("publish_model", 2, *keys, "8", "x", 365 * 86400)
    expect(server.fcall("publish_model", 2, *keys, "9", "x"), "published")
    lives_for_ever(server, *keys)
    tell("readers never saw a version with the data of another")


def websockets(server):
    """Sixty connections of twenty users join ten rooms at once, and leave them all."""

    def connection(number):
        return f"websocket:connection:c-{number}"

    def node(number):
        return f"websocket:node:gateway-{number % 2}"

    def open_and_join(one, number):
        user, own = f"websocket:user:{number % 20}", connection(number)
        keys = ["websocket:connections", f"{own}:user", user, f"{own}:node", "websocket:nodes"]
        told = [one.fcall("ws_connect", 7, *keys, node(number), f"{node(number)}:alive")]
        for room in range(10):
            if (number + room) % 3:
                told.append(
                    one.fcall("ws_join", 3, f"{own}:user", f"{own}:rooms", f"websocket:room:{room}")
                )
        return told

    absent = [f"{connection(0)}:user", f"{connection(0)}:rooms", "websocket:room:0"]
    expect(answer(lambda: server.fcall("ws_join", 3, *absent)), "CONNECTION_UNKNOWN")
    answers = at_once(DB, [lambda one, n=n: open_and_join(one, n) for n in range(60)])
    expect({told[0] for told in answers}, {"connected"})
    expect({word for told in answers for word in told[1:]}, {"joined"})
    expect(server.smembers("websocket:connections"), {f"c-{n}" for n in range(60)})
    for room in range(10):
        inside = {f"c-{n}" for n in range(60) if (n + room) % 3}
        expect(server.smembers(f"websocket:room:{room}"), inside, f"room {room}")
    for user in range(20):
        expect(server.smembers(f"websocket:user:{user}"), {f"c-{user + 20 * n}" for n in range(3)})
    expect(server.fcall("ws_leave", 2, f"{connection(1)}:rooms", "websocket:room:0"), "left")
    expect(server.fcall("ws_leave", 2, f"{connection(1)}:rooms", "websocket:room:0"), "absent")
    expect(server.sismember("websocket:room:0", "c-1"), 0)
    expect(
        server.fcall("queue_message", 2, "websocket:user:1", "websocket:queue:1", "hi"), "online"
    )

    # A node dies: its heartbeat ends after a minute, and two sweepers close what it had open.
    sweep = ["ws_sweep", 4, "websocket:connections", "websocket:nodes", node(0), f"{node(0)}:alive"]
    beat = ["ws_heartbeat", 2, node(1), f"{node(1)}:alive"]
    for _ in range(3):
        expect(answer(lambda: server.fcall(*sweep)), "NODE_ALIVE")
        advance(server, 20 * SECOND + 1)
        expect(server.fcall(*beat), 30, "the other node lives")

    def sweep_all(one):
        closed = []
        while not closed or closed[-1]:
            closed.append(one.fcall(*sweep, 7))
        return sum(closed)

    expect(sum(at_once(DB, [sweep_all] * 2)), 30, "each is closed once")
    alive = {f"c-{n}" for n in range(1, 60, 2)}
    expect(server.smembers("websocket:connections"), alive)
    expect(server.smembers("websocket:nodes"), {"gateway-1"})
    for room in range(10):
        inside = {f"c-{n}" for n in range(1, 60, 2) if (n + room) % 3} - ({"c-1"} if not room else set())
        expect(server.smembers(f"websocket:room:{room}"), inside, f"room {room}")
    gone(server, *(f"websocket:user:{user}" for user in range(0, 20, 2)))
    queued = ["queue_message", 2, "websocket:user:0", "websocket:queue:0", "hi"]
    expect(server.fcall(*queued), "queued", "nobody counts as online for ever")
    server.delete("websocket:queue:0")
    # One that was only slow is told that its connections are gone.
    expect(server.fcall("ws_heartbeat", 2, node(0), f"{node(0)}:alive"), 0)

    # Both ends of a connection say that it closed: once is enough.
    def close(one):
        keys = ["user", "rooms", "node"]
        return [
            one.fcall(
                "ws_disconnect",
                5,
                "websocket:connections",
                *(f"{connection(n)}:{key}" for key in keys),
                "websocket:nodes",
            )
            for n in range(1, 60, 2)
        ]

    first, second = at_once(DB, [close] * 2)
    expect([sorted(pair) for pair in zip(first, second)], [["absent", "disconnected"]] * 30)
    advance(server, MINUTE + 1)
    expect(list(server.scan_iter("websocket:*")), [], "rooms, users, nodes and connections")
    tell("a disconnect leaves every room; those of a dead node are swept")


def queues(server):
    """At most 100 messages wait, the newest; two drainers neither lose nor double one."""
    keys = ["websocket:user:9", "websocket:queue:9"]
    with lives(server, keys[1], HOUR):
        expect(server.fcall("queue_message", 2, *keys, "message 0"), "queued")
    for number in range(1, 150):
        server.fcall("queue_message", 2, *keys, f"message {number}")
    expect(
        server.fcall("drain_messages", 1, keys[1]),
        [f"message {number}" for number in range(50, 150)],
    )
    expect(server.fcall("drain_messages", 1, keys[1]), [])

    def fill(one):
        for number in range(60):
            one.fcall("queue_message", 2, *keys, f"message {number}")
        return []

    def drain(one):
        return [message for _ in range(200) for message in one.fcall("drain_messages", 1, keys[1])]

    _, *drained = at_once(DB, [fill, drain, drain])
    drained.append(server.fcall("drain_messages", 1, keys[1]))
    found = [int(message.split()[1]) for messages in drained for message in messages]
    expect(sorted(found), list(range(60)), "each message once")
    for messages in drained:
        numbers = [int(message.split()[1]) for message in messages]
        expect(numbers, sorted(numbers), "in order")
    tell("messages for who is offline are drained in order, each once")


def monitoring(server):
    """What the document watches: hits and misses by pattern, expirations, connections, memory."""
    key = "recommendations:monitored"

    def counted():
        stats = server.execute_command("KEYWARD", "STATS", key)
        return [stats[name] for name in ("hits", "misses", "expired")]

    before, ended = counted(), server.info("stats")["expired_keys"]
    server.set(key, "[]")
    for name in [key, key, key, "recommendations:nobody"]:
        server.get(name)
    expect([new - old for new, old in zip(counted(), before)], [3, 1, 0], "hits, misses, expired")
    hits, misses, _ = counted()
    ratio = server.execute_command("KEYWARD", "STATS", key)["hit_ratio"]
    expect(ratio, f"{hits / (hits + misses):.4f}")
    pass_until(server, server.pexpiretime(key))
    gone(server, key)
    expect(counted()[2] - before[2], 1, "expired, of the pattern")
    # Rows of other patterns may have ended by then too.
    expect(server.info("stats")["expired_keys"] - ended >= 1, True, "expired, of the server")
    clients = server.info("clients")["connected_clients"]
    with connect(DB) as other:
        expect(other.info("clients")["connected_clients"], clients + 1)
    memory = server.info("memory")
    expect(memory["used_memory"] > 0 and "maxmemory" in memory, True, "80 % can be computed")
    tell("hits, misses, expirations and connections are counted as the document watches them")


def refusals(server):
    """What the document does not know is refused, and nothing is half done."""
    for command in [
        ("HSET", SESSION, "user_id", "1"),
        ("HINCRBY", f"event:stats:{OTHER_EVENT}", "view_count", "1"),
        ("SET", "rate_limit:user:1:x", "1", "EX", "30"),
        ("ZADD", "events:trending", "1", "no:event"),
        ("HSET", "user:session:1", "user_id", "1", "created_at", "1763376000"),
        ("SADD", "analytics:session:none:events_viewed", EVENT),
        ("EXPIRE", "search:popular:queries", str(8 * 86400)),
        ("PERSIST", "search:popular:queries"),
    ]:
        before = all_keys(server)
        expect(answer(lambda: server.execute_command(*command)), "SCHEMA", " ".join(command))
        expect(all_keys(server), before)


def to_the_end(server):
    """Everything is written once more; it ends in the order of the document's lifetimes."""
    server.flushdb()
    for _, command in DOCUMENT:
        server.execute_command(*words_of(server, command))
    deadlines = {key: server.pexpiretime(key) for key in all_keys(server)}
    expect(len(deadlines), len(DOCUMENT))
    for deadline in sorted(set(deadlines.values())):
        pass_until(server, deadline)
        moment = now_ms(server)
        wanted = sorted(key for key, ends in deadlines.items() if ends >= moment)
        found = all_keys(server)
        late = set(found) - set(wanted)
        expect(late, set(), "keys that outlived their end")
        early = {key for key in wanted if key not in found and deadlines[key] > now_ms(server)}
        expect(early, set(), "keys that ended early")
    expect(server.dbsize(), 0)
    for key in sorted(deadlines):
        stats = server.execute_command("KEYWARD", "STATS", key)
        expect(stats["keys"], 0, key)
        expect(stats["expired"] > 0, True, f"{key} is counted as expired")
    tell("30 days later nothing is left")


def main():
    server = begin(DB)
    if REDIS:
        beside.play(server)
        return
    the_document(server)
    renewals(server)
    sessions(server)
    limits(server)
    registrations(server)
    figures(server)
    searches(server)
    analytics(server)
    models(server)
    websockets(server)
    queues(server)
    monitoring(server)
    refusals(server)
    to_the_end(server)
    server.flushdb()
    beside.play(server)


if __name__ == "__main__":
    main()
