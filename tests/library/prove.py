"""Runs known programs on servers that enforce the library's schemas, and judges by both.

A program passes by what its own test finds, and by what the server counted meanwhile:
nothing was refused, nothing had no pattern, every pattern of the schema was written, so that
none of them stands there untried, and all rows that are left fit the schema.

    prove.py SERVER [--all | NAME…]    SERVER is the `keyward` binary; KEYWARD_NODE and
                                       KEYWARD_RUBY say where the programs are
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from programs import PROGRAMS

HERE = Path(__file__).resolve().parent
LIBRARY = HERE.parent.parent / "library"

# How long a program's test may take before it is ended, in seconds.
PATIENCE = 240


class Count:
    """What passed and what failed."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def add(self, passed, failed):
        self.passed += passed
        self.failed += failed

    def judge(self, what, complaints):
        """One check of our own."""
        for complaint in complaints:
            say(f"{what}: {complaint}")
        self.add(0 if complaints else 1, 1 if complaints else 0)


def say(words):
    print(f"library: {words}", flush=True)


def schema(program):
    """A keyspace that includes the program's files, and has nothing else."""
    entries = []
    for name, values in program.includes:
        given = ", ".join(f"{key} = {json.dumps(value)}" for key, value in values.items())
        file = json.dumps(str(LIBRARY / f"{name}.toml"))
        entries.append(f"    {{ file = {file}, with = {{ {given} }} }},\n")
    listed = "".join(entries)
    return f'include = [\n{listed}]\n\n[keyspace]\nname    = "{program.name}"\nunknown = "reject"\nmode    = "enforce"\n'


def findings(binary, text):
    """What `keyward check` finds, warnings too."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "keyward.toml"
        file.write_text(text)
        checked = subprocess.run([binary, "check", "--deny-warnings", str(file)], capture_output=True, text=True)
    return [checked.stdout + checked.stderr] if checked.returncode else []


@contextmanager
def serve(binary, text):
    """A server with this schema, as its port. Another program may take the port first: then
    the server ends, and another port is tried."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "keyward.toml"
        file.write_text(text)
        for _ in range(5):
            port = random.randrange(20000, 30000)
            log = open(Path(folder) / "log", "w+")
            server = subprocess.Popen(
                [binary, "serve", str(file), "--port", str(port), "--bind", "127.0.0.1"]
                + ["--save", "", "--appendonly", "no", "--dir", folder, "--enable-debug-command", "yes"],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            if is_up(server, port):
                try:
                    yield port
                finally:
                    server.terminate()
                    server.wait()
                return
            log.seek(0)
            text = log.read()
            say(f"the server ended: {text}")
            if "in use" not in text:
                break
        raise SystemExit("library: the server does not start")


def is_up(server, port):
    client = redis.Redis(port=port, retry=Retry(NoBackoff(), 0))
    while server.poll() is None:
        try:
            if client.ping() and server.poll() is None:
                return True
        except redis.ConnectionError:
            time.sleep(0.05)
    return False


def verdict(port, untried=()):
    """What the server has to say against the program: complaints by check."""
    client = redis.Redis(port=port, protocol=3, decode_responses=True, encoding_errors="replace")
    figures = client.execute_command("KEYWARD", "STATS")
    refusals = client.execute_command("KEYWARD", "REFUSALS", "COUNT", 20)
    refused = [f"{one['reason']}, of {one['command']!r}" for one in refusals]
    for one in figures:
        for figure in ("refused", "warned", "misfits", "conflicts"):
            if one[figure]:
                refused.append(f"{one['pattern']!r} has {one[figure]} {figure}")
    if errors := client.info("errorstats").get("errorstat_SCHEMA"):
        refused.append(f"clients were sent {errors['count']} errors of the schema")
    unknown = [f"{one['keys']} keys" for one in figures if not one["pattern"] and one["keys"]]
    idle = [one["pattern"] for one in figures if one["pattern"] and not one["writes"]]
    untold = [f"{pattern!r} is not" for pattern in idle if not any(fnmatchcase(pattern, glob) for glob in untried)]
    needless = [f"{glob!r} is, and is said not to be" for glob in untried if not any(fnmatchcase(pattern, glob) for pattern in idle)]
    return {
        "nothing is refused": refused,
        "nothing is unknown": unknown,
        "every pattern is written": untold + needless,
        "what is left fits when it is loaded": misfits_after_reload(client),
    }


def misfits_after_reload(client):
    """Commands were judged one by one; loading judges whole rows."""
    client.execute_command("DEBUG", "RELOAD")
    cursor, misfits = 0, []
    while True:
        cursor, rows = client.execute_command("KEYWARD", "MISFITS", "COUNT", 1000, "CURSOR", cursor)
        misfits += [f"{row['key']!r}: {row['reasons']}" for row in rows]
        if not int(cursor):
            return misfits


RUNNERS = {
    ".py": [sys.executable, "-W", "ignore", "-m", "unittest", "--verbose"],
    ".js": ["node", "--test", "--test-force-exit", "--test-reporter=tap"],
    ".rb": ["ruby"],
}


def start(test, port):
    """A process that runs a file of tests, or some of it."""
    file, _, only = test.partition("::")
    named = [f"{Path(file).stem}.{name}" for name in only.split(",") if name] or [file]
    environment = dict(
        os.environ,
        KEYWARD_TEST_PORT=str(port),
        NODE_PATH=os.environ.get("KEYWARD_NODE", ""),
        RUBYLIB=os.environ.get("KEYWARD_RUBY", ""),
    )
    return subprocess.Popen(
        [*RUNNERS[Path(file).suffix], *named],
        cwd=HERE,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(program, port):
    """Runs a program's tests at the same time, and counts: passed and failed."""
    processes = [(test, start(test, port)) for test in program.tests]
    with ThreadPoolExecutor() as threads:
        counts = list(threads.map(lambda pair: finish(*pair), processes))
    return sum(passed for passed, _ in counts), sum(failed for _, failed in counts)


def finish(test, process):
    """Waits for a process of tests, and counts what it tells."""
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    passed, failed = count_tests(output)
    if not failed and (process.returncode or not passed):
        say(f"{test} ran {passed} tests and ended with {process.returncode}")
        failed = 1
    if failed:
        print(output, flush=True)
    return passed, failed


def number(pattern, output):
    return sum(int(found) for found in re.findall(pattern, output, re.MULTILINE))


def count_tests(output):
    """From the last lines of unittest, of minitest (whose `runs` include what failed) and of TAP."""
    ran = number(r"^Ran (\d+) tests? in ", output) + number(r"^(\d+) runs, ", output)
    wrong = number(r"^FAILED \(.*?failures=(\d+)", output) + number(r"^FAILED \(.*?errors=(\d+)", output)
    wrong += number(r", (\d+) failures, ", output) + number(r", (\d+) errors, ", output)
    passed, failed = number(r"^# pass (\d+)$", output), number(r"^# (?:fail|cancelled) (\d+)$", output)
    return ran - wrong + passed, wrong + failed


def check_verdict(binary, count):
    """A verdict that cannot be bad proves nothing: this one must be, in every respect."""
    text = schema(PROGRAMS["connect-redis"])
    found = {}
    for mode, unknown in (("enforce", "reject"), ("warn", "allow")):
        served = text.replace('"enforce"', f'"{mode}"').replace('"reject"', f'"{unknown}"')
        with serve(binary, served) as port:
            for command in (["SET", "stranger", "1"], ["SET", "sess:1", "no JSON", "EX", "60"]):
                try:
                    redis.Redis(port=port).execute_command(*command)
                except redis.ResponseError:
                    pass
            found[mode] = verdict(port)
    expected = [
        ("enforce", "nothing is refused"),
        ("enforce", "every pattern is written"),
        ("warn", "nothing is refused"),
        ("warn", "nothing is unknown"),
        ("warn", "what is left fits when it is loaded"),
    ]
    count.judge("the verdict", [f"under {mode} it misses that not {check}" for mode, check in expected if not found[mode][check]])


def choose(arguments):
    """The programs that are asked for: by name, all, or the quick ones."""
    if arguments == ["--all"]:
        return list(PROGRAMS.values())
    if arguments:
        return [PROGRAMS[name] for name in arguments]
    return [program for program in PROGRAMS.values() if program.is_quick]


def main(binary, arguments):
    count = Count()
    check_verdict(binary, count)
    for program in choose(arguments):
        began = time.monotonic()
        count.judge(f"{program.name}: the schema is sound", findings(binary, schema(program)))
        with serve(binary, schema(program)) as port:
            passed, failed = run(program, port)
            count.add(passed, failed)
            for check, complaints in verdict(port, program.untried).items():
                count.judge(f"{program.name}: {check}", complaints)
        say(f"{program.name}: {passed} tests passed, {failed} failed, {time.monotonic() - began:.0f} s")
    print(f"{count.passed} passed, {count.failed} failed")
    return 0 if count.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
