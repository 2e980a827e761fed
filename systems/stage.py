"""What the scenarios in Python share: a server, many callers at once, a clock that moves.

A scenario is run as `KEYWARD_TEST_PORT=7000 python3 systems/NAME/scenario.py`, against a
server that was started with the system's schema and `--enable-debug-command yes`, and
is empty. It ends with 0 if everything was as expected.

`scenario.py --redis 127.0.0.1:7001` runs the last part alone (`beside.py`), on a stock
Redis that is empty, by the document's own commands.
"""

import argparse
import multiprocessing
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timezone

import redis

parser = argparse.ArgumentParser(description="Plays the system, and ends with 0 if all was well.")
parser.add_argument("--redis", metavar="ADDRESS", help="a stock Redis, such as 127.0.0.1:7001")
REDIS = parser.parse_args().redis

HOST, PORT = "127.0.0.1", int(os.environ.get("KEYWARD_TEST_PORT", "6379"))
if REDIS:
    HOST, PORT = REDIS.rpartition(":")[0] or HOST, int(REDIS.rpartition(":")[2])

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

# How much time a stock Redis was told has passed.
passed_ms = 0


def connect(db):
    """A connection of its own to a database."""
    return redis.Redis(
        host=HOST, port=PORT, db=db, decode_responses=True, single_connection_client=True
    )


def begin(db):
    """The scenario's own connection. Its database must be empty: it counts every key."""
    server = connect(db)
    expect(server.dbsize(), 0, "keys in the database at the beginning")
    if REDIS:
        expect("keyward" in server.command_list(), False, "a stock Redis is wanted, it is Keyward")
    return server


def answer(call):
    """What a call answers: of an error its code, the first word."""
    try:
        return call()
    except redis.ResponseError as error:
        return str(error).split()[0]


def parts(reply):
    """An answer of several parts, names and values in turn."""
    return dict(zip(reply[::2], reply[1::2]))


def expect(found, wanted, what=""):
    if found != wanted:
        raise AssertionError(f"{what or 'expected'}: {wanted!r}, found {found!r}")


def at_once(db, calls):
    """Runs each of `calls` with a connection of its own, all at the same moment.

    Answers what they answered, in their order.
    """
    calls = list(calls)
    ready = threading.Barrier(len(calls), timeout=60)

    def run(call):
        with connect(db) as server:
            server.ping()
            ready.wait()
            return answer(lambda: call(server))

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def in_processes(count, work):
    """Runs `work(number)` in `count` processes, and answers what they answered, in order."""
    with multiprocessing.get_context("fork").Pool(count) as pool:
        return pool.map(work, range(count), chunksize=1)


def now_ms(server):
    """The server's time, which DEBUG CLOCK moves."""
    seconds, microseconds = server.time()
    return seconds * 1000 + microseconds // 1000 + passed_ms


def timestamp(server, ahead_ms=0):
    """The server's time as text, or one ahead of it, and that in milliseconds."""
    at_s = (now_ms(server) + ahead_ms) // 1000
    text = datetime.fromtimestamp(at_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return text, at_s * 1000


def advance(server, milliseconds):
    """Lets time pass."""
    if REDIS:
        shorten(server, milliseconds)
        return
    expect(server.execute_command("DEBUG", "CLOCK", "ADVANCE", milliseconds) in ("OK", b"OK"), True)


def shorten(server, milliseconds):
    """Lets time pass on a stock Redis, whose clock cannot be moved: every key's remaining
    lifetime is shortened by as much, and what has none left ends."""
    global passed_ms
    passed_ms += milliseconds
    ended = []
    for key in list(server.scan_iter(count=1000)):
        left = server.pttl(key)
        if left > milliseconds:
            server.pexpire(key, left - milliseconds)
        elif left >= 0:
            server.pexpire(key, 1)
            ended.append(key)
    while ended and server.exists(*ended):
        time.sleep(0.001)


def pass_until(server, deadline_ms):
    """Lets time pass until a key with this deadline has ended: the millisecond after it."""
    advance(server, max(0, deadline_ms + 1 - now_ms(server)))


@contextmanager
def lives(server, key, milliseconds):
    """What is written within gives the key exactly this lifetime."""
    before = now_ms(server)
    yield
    after = now_ms(server)
    deadline = server.pexpiretime(key)
    if not before + milliseconds <= deadline <= after + milliseconds:
        raise AssertionError(f"{key} lives {deadline - after} ms instead of {milliseconds}")


def lives_for_ever(server, *keys):
    for key in keys:
        expect(server.pttl(key), -1, f"the lifetime of {key}")


def gone(server, *keys):
    for key in keys:
        expect(server.exists(key), 0, f"{key} has ended")


def there(server, *keys):
    for key in keys:
        expect(server.exists(key), 1, f"{key} is there")


def all_keys(server):
    return sorted(server.scan_iter(count=1000))


def tell(words):
    print(words, flush=True)


def run(db, works):
    """Runs works one after the other, and answers what they returned. A work is a generator
    that yields between its commands."""
    return [interleaved(db, [work])[0] for work in works]


def interleaved(db, works, commands=None):
    """Runs works at once, command by command: nobody sends his second before all have sent
    their first. With `commands`, all of them die after so many. Answers what they returned."""
    servers = [connect(db) for _ in works]
    running = dict(enumerate(work(server) for work, server in zip(works, servers)))
    returned, sent = [None] * len(works), 0
    while running and sent != commands:
        sent += 1
        for place, work in list(running.items()):
            try:
                next(work)
            except StopIteration as end:
                returned[place] = end.value
                del running[place]
    for server in servers:
        server.close()
    return returned


def immortal(server, *prefixes):
    """How many keys never end, of patterns that have a lifetime in the document."""
    keys = [key for key in server.scan_iter(count=1000) if key.startswith(prefixes)]
    return sum(server.pttl(key) == -1 for key in keys)


def tell_unkept(server, counts):
    """Says what the server did not keep: what was counted, by its words."""
    name = f"Redis {server.info('server')['redis_version']}" if REDIS else "Keyward"
    tell(f"what {name} did not keep:")
    for words, count in counts.items():
        tell(f"{count:5}  {words}")
