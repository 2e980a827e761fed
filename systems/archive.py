"""What the scenarios with a PostgreSQL share: a database, and `keyward` beside the server.

Such a scenario is run as

    KEYWARD_TEST_PORT=7000 KEYWARD_TEST_POSTGRES='host=… user=… dbname=…' \\
        python3 systems/NAME/postgres.py

against a server that was started with `systems/NAME/postgres.toml` and
`--enable-debug-command yes`, and a database, both empty. `KEYWARD_TEST_PROGRAM` and
`KEYWARD_TEST_PSQL` name the programs, if they are not `keyward` and `psql`.
"""

import os
import subprocess

from stage import HOST, PORT, expect

POSTGRES = os.environ["KEYWARD_TEST_POSTGRES"]
KEYWARD = os.environ.get("KEYWARD_TEST_PROGRAM", "keyward")
PSQL = os.environ.get("KEYWARD_TEST_PSQL", "psql")


def run(*words, ends_with=0):
    """What a program says on both of its outputs."""
    done = subprocess.run(words, capture_output=True, text=True)
    told = done.stdout + done.stderr
    expect(done.returncode, ends_with, f"{' '.join(words)}\n{told}")
    return told


def tables(schema, ends_with=0):
    """Whether the database has the tables of a schema."""
    return run(KEYWARD, "sql", "--check", POSTGRES, str(schema), ends_with=ends_with)


def make_tables(schema):
    """Adds what the database lacks of them."""
    return run(KEYWARD, "sql", "--check", POSTGRES, "--apply", str(schema))


def beside(command, schema, *options, port=PORT):
    """`keyward sync`, `verify` or `fill`."""
    source = f"{HOST}:{port}"
    return run(
        KEYWARD, command, "--postgres", POSTGRES, "--source", source, *options, str(schema)
    )


def sync(schema):
    """Stores all changes."""
    return beside("sync", schema, "--once")


def set_clock(milliseconds):
    """Has the database's clock tell this time, in which the server's is already: `keyward sync`
    deletes nothing by a clock that is far from the other."""
    ahead = f"{milliseconds} - (extract(epoch FROM pg_catalog.now()) * 1000)::bigint"
    ahead = one(f"SELECT {ahead}")
    query(
        "CREATE OR REPLACE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE AS "
        f"$$ SELECT pg_catalog.now() + {ahead} * interval '1 millisecond' $$; "
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', "
        "current_database()); END $$"
    )


def query(statement):
    """What a statement returns: a list for each row."""
    words = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", POSTGRES, "-c", statement]
    told = run(PSQL, *words)
    return [line.split("|") for line in told.splitlines()]


def one(statement):
    """The one value that a statement returns."""
    [[value]] = query(statement)
    return value
