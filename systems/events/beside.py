"""events on Keyward and on a stock Redis: the same users, and what was not kept.

Its document has types and lifetimes and no commands: on Redis the services send the plain ones
of those types, each write and then its EXPIRE or its LTRIM. On Keyward they call the
functions, and leave lifetimes, lengths and the two sides of a room to the schema. Works are
generators that yield between their commands, so that both servers see the same callers at
once, and the same callers die.
"""

from functools import partial
from uuid import UUID

from stage import (
    DAY,
    REDIS,
    SECOND,
    advance,
    answer,
    expect,
    immortal,
    interleaved,
    run,
    tell_unkept,
    timestamp,
)

DB = 0
AT = "2025-12-04T15:30:00Z"
EVENT = "550e8400-e29b-41d4-a716-446655440000"
SEATS = 3
PASSING = ("analytics:", "event:", "rate_limit:", "search:", "user:")


def play(server):
    """The platform's users, the same on both servers; then time passes."""
    signed_in = [partial(sign_in, number=n, now=timestamp(server)[0]) for n in range(9)]
    run(DB, signed_in[:5])
    interleaved(DB, signed_in[5:], commands=1)
    expect(len(server.keys("user:session:*")), 9)
    interleaved(DB, [partial(take_call, user=user) for user in range(3)], commands=1)
    expect(len(server.keys("rate_limit:*")), 3)
    for number in range(30):
        interleaved(DB, [partial(search, query=f"query {number}")], commands=1)
    expect(server.lindex("search:recent:123", 0), "query 29")
    counts = {"searches beyond the twenty of a user": max(0, server.llen("search:recent:123") - 20)}

    run(DB, [issue])
    consumed = interleaved(DB, [consume] * 5)
    expect("123" in consumed, True, "somebody has the token")
    counts["uses of a one-time token after its first"] = consumed.count("123") - 1

    load_places(server)
    registered = sum(interleaved(DB, [register] * 10))
    expect(registered >= SEATS, True, "all seats are taken")
    counts["registrations beyond the seats"] = registered - SEATS
    places = int(server.hget(f"event:availability:{EVENT}", "current_registrations"))
    counts["registrations that the event has not counted"] = registered - places

    run(DB, [partial(visit, number=number) for number in range(4)])
    expect(len(server.keys("analytics:session:*:events_viewed")), 4)
    for number in range(4):
        server.delete(f"analytics:session:v-{number}")
    counts["sets of viewed events without their visit"] = len(server.keys("*:events_viewed"))

    run(DB, [partial(publish, version="6")])
    interleaved(DB, [partial(publish, version="7")], commands=1)
    version, data = server.mget("ml:model:ranker:version", "ml:model:ranker:data")
    expect(version, "7")
    counts["models with the data of another version"] = int(data != f"data of {version}")

    sockets(server, counts)
    advance(server, 8 * DAY)
    counts["keys that never end, though the document says when"] = immortal(server, *PASSING)
    tell_unkept(server, counts)


def sockets(server, counts):
    """Twelve connections on two nodes: two are closed, then a node dies with its six."""
    run(DB, [partial(connect_and_join, number=number) for number in range(12)])
    expect(server.scard("websocket:connections"), 12)
    run(DB, [partial(disconnect, number=number) for number in (1, 3)])
    expect(server.scard("websocket:connections"), 10)
    closed = {"c-1", "c-3"} & server.smembers("websocket:room:jazz")
    counts["places in a room of connections that were closed"] = len(closed)
    for _ in range(4):
        advance(server, 20 * SECOND)
        if not REDIS:
            server.fcall("ws_heartbeat", 2, *node(1))
    # The document has nothing that tells a node that died; Keyward's nodes sweep.
    if not REDIS:
        keys = ["websocket:connections", "websocket:nodes"]
        expect(server.fcall("ws_sweep", 4, *keys, *node(0)), 6)
    dead = {f"c-{number}" for number in range(0, 12, 2)}
    expect(len(server.smembers("websocket:connections") - dead), 4, "those of the node that lives")
    online = dead & server.smembers("websocket:connections")
    counts["connections of a dead node that count as online"] = len(online)


def passing(server, key, seconds, write):
    """A write, and the EXPIRE that its document wants, which Keyward knows by itself."""
    write()
    if REDIS:
        yield
        server.expire(key, seconds)


def sign_in(server, number, now):
    key = f"user:session:{UUID(int=number)}"
    row = {"user_id": number, "email": "ada@example.com", "role": "organizer", "created_at": now}
    yield from passing(server, key, 1800, lambda: server.hset(key, mapping=row))


def take_call(server, user):
    key = f"rate_limit:user:{user}:api_calls"
    if not REDIS:
        server.fcall("take_api_call", 1, key, 40, 60)
        return
    yield from passing(server, key, 60, lambda: server.incr(key))


def search(server, query):
    recent, popular = "search:recent:123", "search:popular:queries"
    if not REDIS:
        server.fcall("remember_search", 2, recent, popular, query)
        return
    server.lpush(recent, query)
    yield
    server.ltrim(recent, 0, 19)
    yield
    server.expire(recent, 604800)
    yield
    yield from passing(server, popular, 86400, lambda: server.zincrby(popular, 1, query))


def issue(server):
    key = "user:password_reset:4f2d8c1b"
    yield from passing(server, key, 3600, lambda: server.set(key, "123"))


def consume(server):
    """Whose token it was, if it was there."""
    key = "user:password_reset:4f2d8c1b"
    if not REDIS:
        return answer(lambda: server.fcall("consume_token", 1, key))
    user = server.get(key)
    yield
    if user:
        server.delete(key)
    return user


def load_places(server):
    key = f"event:availability:{EVENT}"
    row = {"max_attendees": SEATS, "current_registrations": 0, "available_spots": SEATS}
    server.hset(key, mapping={**row, "is_full": "false"})
    server.expire(key, 120)


def register(server):
    """Whether there was a seat."""
    key = f"event:availability:{EVENT}"
    if not REDIS:
        keys = [key, f"event:stats:{EVENT}"]
        return isinstance(answer(lambda: server.fcall("register_attendee", 2, *keys, AT)), int)
    seats, taken = map(int, server.hmget(key, "max_attendees", "current_registrations"))
    yield
    if taken >= seats:
        return False
    left = seats - taken - 1
    row = {"current_registrations": taken + 1, "available_spots": left}
    server.hset(key, mapping={**row, "is_full": "false" if left else "true"})
    return True


def visit(server, number):
    key = f"analytics:session:v-{number}"
    viewed = f"{key}:events_viewed"
    if not REDIS:
        server.fcall("track_page_view", 2, key, viewed, AT, "", EVENT)
        return
    row = {"start_time": AT, "last_activity": AT, "page_views": 1}
    yield from passing(server, key, 1800, lambda: server.hset(key, mapping=row))
    yield
    yield from passing(server, viewed, 1800, lambda: server.sadd(viewed, EVENT))


def publish(server, version):
    keys = ["ml:model:ranker:version", "ml:model:ranker:data"]
    if not REDIS:
        server.fcall("publish_model", 2, *keys, version, f"data of {version}", 86400)
        return
    server.set(keys[0], version, ex=86400)
    yield
    server.set(keys[1], f"data of {version}", ex=86400)


def node(number):
    return [f"websocket:node:gateway-{number % 2}", f"websocket:node:gateway-{number % 2}:alive"]


def connect_and_join(server, number):
    own, user, room = f"websocket:connection:c-{number}", f"websocket:user:{number}", "jazz"
    if not REDIS:
        keys = [f"{own}:user", user, f"{own}:node", "websocket:nodes", *node(number)]
        server.fcall("ws_connect", 7, "websocket:connections", *keys)
        yield
        server.fcall("ws_join", 3, f"{own}:user", f"{own}:rooms", f"websocket:room:{room}")
        return
    server.sadd("websocket:connections", f"c-{number}")
    yield
    server.sadd(user, f"c-{number}")
    yield
    server.sadd(f"websocket:room:{room}", f"c-{number}")


def disconnect(server, number):
    """The document keeps no list of the rooms that a connection is in."""
    own = f"websocket:connection:c-{number}"
    if not REDIS:
        keys = [f"{own}:user", f"{own}:rooms", f"{own}:node", "websocket:nodes"]
        server.fcall("ws_disconnect", 5, "websocket:connections", *keys)
        return
    server.srem("websocket:connections", f"c-{number}")
    yield
    server.srem(f"websocket:user:{number}", f"c-{number}")
