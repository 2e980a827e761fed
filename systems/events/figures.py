"""events' figures: the whole keyspace pushes against the document's 4 GB.

Sessions and variants come first, then more caches than there is room for. What is left of
each tells whom eviction took.
"""

import random
from datetime import datetime, timezone
from operator import add

from gauge import hset, memory

DB = 0
SESSIONS = 400_000
EVENTS = 200_000
RESULTS = 500_000
SCORES = [f'{score / 10_000:g}, "title": "Jazz by the river"}}' for score in range(10_000)]


def uuid(dice):
    digits = f"{dice.getrandbits(128):032x}"
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def rows(scale, is_keyward):
    """More than 4 GB of everything: sessions first, then caches that push against the limit."""
    dice = random.Random(4)
    words = "music night river stage jam doors free seats".split()
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def written(seconds, command):
        yield command
        if not is_keyward:
            yield "EXPIRE", command[1], str(seconds)

    for number in range(int(SESSIONS * scale)):
        session = hset(
            f"user:session:{uuid(dice)}",
            user_id=str(number),
            email=f"user{number}@example.com",
            role="attendee",
            created_at=now,
            last_activity=now,
            ip_address="203.0.113.7",
            user_agent="Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101",
        )
        variant = dice.choice(["green", "red"])
        yield from written(1800, session)
        yield from written(2592000, ("SET", f"ab_test:checkout_button:{number}", variant))
    events = [uuid(dice) for _ in range(max(200, int(EVENTS * scale)))]
    for event in events:
        cache = hset(
            f"event:cache:{event}",
            title="Jazz by the river",
            description=" ".join(dice.choices(words, k=60)),
            start_time="2026-06-20T19:00:00Z",
            end_time="2026-06-20T23:00:00Z",
            venue_name="Pier 7",
            is_virtual="false",
            status="published",
            cached_at="2025-12-04T15:30:00Z",
        )
        stats = hset(
            f"event:stats:{event}",
            view_count=str(dice.randrange(10**5)),
            registration_count=str(dice.randrange(500)),
            favorite_count=str(dice.randrange(900)),
            share_count="25",
        )
        alike = (word for other in dice.sample(events, 10) for word in (str(dice.random()), other))
        yield from written(3600, cache)
        yield from written(300, stats)
        yield from written(86400, ("ZADD", f"event:similarity:{event}", *alike))
    # As json.dumps writes them, from halves that are ready: there are fifty million hits.
    heads = [f'{{"event_id": "{event}", "score": ' for event in events]
    for number in range(int(RESULTS * scale)):
        found = dice.choices(range(len(events)), k=100)
        hits = map(add, [heads[at] for at in found], dice.choices(SCORES, k=100))
        results = f'{{"total": 100, "hits": [{", ".join(hits)}]}}'
        query = f"{dice.getrandbits(128):032x}"
        alike = '", "'.join([events[at] for at in found])
        yield from written(1800, ("SET", f"search:results:{query}", results))
        yield from written(14400, ("SET", f"recommendations:{number}", f'["{alike}"]'))


def settings(scale):
    """The document's own."""
    return ["--maxmemory", str(int(4 * 2**30 * scale)), "--maxmemory-policy", "allkeys-lru"]


def measure(server, scale, _, is_keyward):
    _, seconds = server.load(DB, rows(scale, is_keyward))
    client = server.client(DB)
    figures = memory(server, client.dbsize(), used_memory=f"at most {4 * scale:g} GB")
    figures.append(("loading them", "", f"{seconds:.0f} s"))
    written = {
        "user:session": SESSIONS,
        "ab_test": SESSIONS,
        "search:results": RESULTS,
        "recommendations": RESULTS,
    }
    left = dict.fromkeys(written, 0)
    for key in client.scan_iter(count=10_000):
        prefix = next((prefix for prefix in left if key.startswith(prefix)), None)
        if prefix:
            left[prefix] += 1
    for prefix, count in written.items():
        title = f"`{prefix}:…` left of {int(count * scale):,}"
        figures.append((title, "", f"{left[prefix]:,}"))
    figures.append(("evicted", "", f"{client.info('stats')['evicted_keys']:,}"))
    return figures
