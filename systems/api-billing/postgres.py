"""api-billing with its PostgreSQL, from the document's own tables to the end of its retention.

Operations as in the scenario, stored as they happen; then time passes: after 35 days a month's
usage is in the archive, after 90 a day's is nowhere, after a year transactions are in PostgreSQL
alone, and after two years so much of the archive goes as is older.
"""

import os
import sys
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

sys.dont_write_bytecode = True
FOLDER = Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))

from archive import beside, make_tables, one, query, run, set_clock, sync, tables
from archive import POSTGRES, PSQL
from stage import DAY, advance, at_once, begin, connect, expect, gone, now_ms, tell, there, timestamp

DB = 2
SCHEMA = FOLDER / "postgres.toml"
USERS = range(1, 21)


def the_documents_tables():
    """The document's DDL, as it stands in document.sql, is what the schema wants, but for columns
    and tables that it does not have; those are added."""
    run(PSQL, "-X", "-q", "-v", "ON_ERROR_STOP=1", POSTGRES, "-f", str(FOLDER / "document.sql"))
    lacking = tables(SCHEMA, ends_with=1)
    for line in lacking.splitlines():
        expect("there is no " in line or "lacks" in line, True, line)
    make_tables(SCHEMA)
    tables(SCHEMA)
    tell("the document's tables are those of the schema")


def sign_up(server):
    """Users and their keys; the key is written before the user whom it refers to."""
    at, _ = timestamp(server)
    for user in USERS:
        keys = [f"user:{user}", f"api_key:kikuai_k{user}"]
        digest = f"sha256:{user:064x}"
        expect(server.fcall("create_user", 2, *keys, digest, at, f"@u{user}"), "created")
    sync(SCHEMA)
    expect(one("SELECT count(*) FROM users JOIN api_keys ON users.id = api_keys.user_id"), "20")
    expect(one("SELECT min(length(key_hash)) FROM api_keys"), "64")


def book(server, user, number, kind, amount):
    keys = [f"user:{user}", f"transactions:{user}", f"transactions:{user}:recent"]
    at, _ = timestamp(server)
    return server.fcall("change_balance", 3, *keys, f"txn_{number}", kind, amount, at, "paddle")


def transactions(server):
    """Top-ups and charges, many at once."""
    for user in USERS:
        book(server, user, f"{user}_0", "topup", "10.50")
    calls = [
        lambda one, n=n, user=user: book(one, user, f"{user}_{n}", "usage", "-0.001")
        for user in USERS
        for n in range(1, 6)
    ]
    at_once(DB, calls)
    sync(SCHEMA)
    check_balances(server)
    expect(one("SELECT count(*) FROM transactions"), str(len(USERS) * 6))
    tell("every transaction is a row, and every balance their sum")


def check_balances(server):
    """Every balance is the sum of its transactions, on either side."""
    rows = query(
        "SELECT u.id, u.balance_usd, sum(t.amount_usd), u.total_spent_usd FROM users u "
        "JOIN transactions t ON t.user_id = u.id GROUP BY u.id ORDER BY u.id"
    )
    expect(len(rows), len(USERS))
    for user, balance, booked, spent in rows:
        own = server.hmget(f"user:{user}", "balance_usd", "total_spent_usd")
        expect(Decimal(balance), Decimal(booked), f"the balance of {user}")
        expect([Decimal(balance), Decimal(spent)], [Decimal(text) for text in own])
    doubled = "SELECT count(*) FROM (SELECT id FROM transactions GROUP BY id HAVING count(*) > 1) d"
    expect(one(doubled), "0")


def keys_come_and_go(server):
    """A key that is rotated is revoked, one that is deleted is gone, and one user takes another's
    name for his key in one step."""
    at, _ = timestamp(server)
    keys = ["user:1", "api_key:kikuai_k1", "api_key:kikuai_k1b"]
    expect(server.fcall("rotate_api_key", 3, *keys, f"sha256:{1001:064x}", at), "rotated")
    expect(server.delete("api_key:kikuai_k2"), 1)
    swap = server.pipeline(transaction=True)
    swap.hset("user:3", "api_key", "kikuai_k4").hset("user:4", "api_key", "kikuai_k3").execute()
    sync(SCHEMA)
    states = query("SELECT status FROM api_keys WHERE api_key IN ('k1', 'k1b') ORDER BY api_key")
    expect(states, [["revoked"], ["active"]])
    expect(one("SELECT count(*) FROM api_keys WHERE api_key = 'k2'"), "0")
    expect(query("SELECT api_key FROM users WHERE id IN (3, 4) ORDER BY id"), [["kikuai_k4"], ["kikuai_k3"]])


def usage(server):
    """Usage of two products on some days of a month; answers the month."""
    at, _ = timestamp(server)
    month, day = at[:7], at[:10]
    for user in USERS:
        keys = [f"usage:{user}:{month}", f"usage:{user}:{day}"]
        for product, requests, tokens in [("reliapi", 3, 50), ("routellm", 2, 0), ("reliapi", 1, 7)]:
            server.fcall("count_usage", 2, *keys, product, requests, tokens, at)
    sync(SCHEMA)
    rows = query(
        "SELECT product, sum(requests), sum(tokens), sum(total_requests) FROM usage_daily "
        f"WHERE date = '{day}' GROUP BY product ORDER BY product"
    )
    expect(rows, [["", "", "", "120"], ["reliapi", "80", "1140", ""], ["routellm", "40", "", ""]])
    return month, day


def cold_start(server):
    """An empty server, loaded from the tables, has what was mirrored."""
    port = os.environ.get("KEYWARD_TEST_COLD_PORT")
    if port is None:
        return
    told = beside("fill", SCHEMA, port=port)
    import redis

    cold = redis.Redis(port=int(port), db=DB, decode_responses=True)
    for pattern, read in [("user:*", "hgetall"), ("api_key:*", "get"), ("usage:*-*-*", "hgetall")]:
        keys = sorted(server.scan_iter(pattern))
        expect(sorted(cold.scan_iter(pattern)), keys, told)
        for key in keys:
            ours, theirs = (getattr(side, read)(key) for side in (server, cold))
            if read == "hgetall":
                expect(theirs, ours, key)
    expect(cold.zcard("users:active"), server.zcard("users:active"))
    tell("an empty server was loaded from the tables")


def pass_time(server, milliseconds):
    """Lets time pass, on both sides."""
    advance(server, milliseconds)
    set_clock(now_ms(server))


def to_the_end(server, month, day):
    """Time passes: what ends is in the archive, and what is archived ends there."""
    pass_time(server, 36 * DAY)
    gone(server, f"usage:7:{month}")
    there(server, f"usage:7:{day}")
    book(server, 7, "7_later", "topup", "1")
    sync(SCHEMA)
    archived = query(
        "SELECT product, sum(total_requests), sum(requests), sum(tokens) FROM usage_monthly "
        f"WHERE month = '{month}-01' GROUP BY product ORDER BY product"
    )
    expect(archived, [["", "120", "", ""], ["reliapi", "", "80", "1140"], ["routellm", "", "40", ""]])
    # The month is counted on after its end, and added up when that ends too.
    at = f"{day}T00:00:00Z"
    keys = [f"usage:7:{month}", f"usage:7:{day}"]
    expect(server.fcall("count_usage", 2, *keys, "reliapi", 5, 0, at), 5)
    pass_time(server, 55 * DAY)
    gone(server, f"usage:7:{month}", f"usage:7:{day}")
    sync(SCHEMA)
    expect(one("SELECT count(*) FROM usage_daily"), "0")
    total = f"SELECT sum(total_requests), sum(requests) FROM usage_monthly WHERE month = '{month}-01'"
    expect(query(total), [["125", "125"]])
    tell("a month's usage is in the archive before it is gone, a day's is kept for 90 days")
    # A year after they were booked transactions are in PostgreSQL alone.
    pass_time(server, 280 * DAY)
    sync(SCHEMA)
    left = [server.llen(f"transactions:{user}") for user in USERS]
    expect(left, [1 if user == 7 else 0 for user in USERS])
    expect(one("SELECT count(*) FROM transactions"), str(len(USERS) * 6 + 1))
    expect(server.llen("transactions:5:recent"), 6)
    check_balances(server)
    tell("after a year transactions are in PostgreSQL alone")
    # Two years later the month's usage is gone there too, and a newer one is not.
    newer, _ = usage(server)
    pass_time(server, 36 * DAY)
    sync(SCHEMA)
    there(server, "user:7")
    expect(one("SELECT count(DISTINCT month) FROM usage_monthly"), "2")
    pass_time(server, 365 * DAY)
    book(server, 7, "7_last", "topup", "1")
    sync(SCHEMA)
    expect(one("SELECT string_agg(DISTINCT to_char(month, 'YYYY-MM'), ' ') FROM usage_monthly"), newer)
    expect(one("SELECT count(*) FROM transactions"), str(len(USERS) * 6 + 2))
    tell("after two years a month's usage is gone")


def main():
    server = begin(DB)
    the_documents_tables()
    sign_up(server)
    transactions(server)
    keys_come_and_go(server)
    month, day = usage(server)
    told = beside("verify", SCHEMA)
    expect("0 differences" in told, True, told)
    cold_start(server)
    to_the_end(server, month, day)
    told = beside("verify", SCHEMA)
    expect("0 differences" in told, True, told)
    expect(one("SELECT count(*) FROM keyward_dead_letters"), "0")
    indexes = "SELECT count(*) FROM pg_indexes WHERE indexname IN ('idx_transactions_user', 'idx_transactions_created', 'idx_usage_date')"
    expect(one(indexes), "3")


if __name__ == "__main__":
    main()
