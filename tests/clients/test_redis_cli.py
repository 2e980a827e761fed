"""redis-cli: commands, formats, and its modes that walk through the keyspace."""

import os
import pty
import subprocess
import unittest

PORT = os.environ["KEYWARD_TEST_PORT"]
# How long redis-cli may take before a test fails instead of hanging.
PATIENCE = 20


def cli(*arguments, stdin=""):
    """What redis-cli prints."""
    command = ["redis-cli", "-p", PORT, *arguments]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    return done.stdout + done.stderr


class RedisCli(unittest.TestCase):
    def setUp(self):
        self.assertEqual(cli("FLUSHALL"), "OK\n")

    def test_commands_and_their_formats(self):
        self.assertEqual(cli("SET", "greeting", "hello\tthere"), "OK\n")
        self.assertEqual(cli("GET", "greeting"), "hello\tthere\n")
        self.assertEqual(cli("--no-raw", "GET", "greeting"), '"hello\\tthere"\n')
        self.assertEqual(cli("--no-raw", "GET", "nothing"), "(nil)\n")
        self.assertEqual(cli("--no-raw", "RPUSH", "l", "a", "b"), "(integer) 2\n")
        self.assertEqual(cli("--no-raw", "LRANGE", "l", "0", "-1"), '1) "a"\n2) "b"\n')
        self.assertEqual(cli("--csv", "LRANGE", "l", "0", "-1"), '"a","b"\n')
        wrong = "(error) WRONGTYPE Operation against a key holding the wrong kind of value\n"
        self.assertEqual(cli("--no-raw", "GET", "l"), wrong)

    def test_resp3(self):
        cli("HSET", "h", "field", "value")
        cli("ZADD", "z", "1.5", "m")
        self.assertEqual(cli("-3", "--no-raw", "HGETALL", "h"), '1# "field" => "value"\n')
        self.assertEqual(cli("-3", "--no-raw", "ZSCORE", "z", "m"), "(double) 1.5\n")
        self.assertEqual(cli("--json", "HGETALL", "h"), '{"field":"value"}\n')

    def test_a_session_on_stdin_with_a_transaction(self):
        session = "SELECT 3\nMULTI\nSET a 1\nINCR a\nEXEC\nSELECT 0\nEXISTS a\n"
        self.assertEqual(cli(stdin=session), "OK\nOK\nQUEUED\nQUEUED\nOK\n2\nOK\n0\n")
        self.assertEqual(cli("-n", "3", "GET", "a"), "2\n")

    def test_the_last_argument_from_stdin(self):
        cli("-x", "SET", "k", stdin="from stdin")
        self.assertEqual(cli("GET", "k"), "from stdin\n")

    def test_a_script_file(self):
        script = os.path.join(os.environ["KEYWARD_TEST_DIR"], "sum.lua")
        with open(script, "w", encoding="ascii") as file:
            file.write("return {KEYS[1], ARGV[1] + ARGV[2]}")
        self.assertEqual(cli("--eval", script, "key", ",", "40", "2"), "key\n42\n")

    def test_mass_insertion(self):
        count = 10_000
        keys = [(f"key:{number}", str(number)) for number in range(count)]
        requests = "".join(
            f"*3\r\n$3\r\nSET\r\n${len(key)}\r\n{key}\r\n${len(value)}\r\n{value}\r\n"
            for key, value in keys
        )
        self.assertIn(f"errors: 0, replies: {count}\n", cli("--pipe", stdin=requests))
        self.assertEqual(cli("DBSIZE"), f"{count}\n")
        self.assertEqual(cli("GET", "key:9999"), "9999\n")

    def test_scan(self):
        for number in range(30):
            cli("SET", f"{'user' if number % 3 else 'other'}:{number}", "x")
        found = cli("--scan", "--pattern", "user:*").split()
        self.assertEqual(sorted(found), sorted(f"user:{n}" for n in range(30) if n % 3))

    def test_bigkeys(self):
        cli("SET", "text", "x" * 1000)
        cli("RPUSH", "list", *map(str, range(50)))
        cli("HSET", "hash", "a", "1", "b", "2")
        cli("SADD", "set", "a")
        cli("ZADD", "zset", "1", "a", "2", "b", "3", "c")
        report = cli("--bigkeys")
        self.assertIn("Sampled 5 keys in the keyspace!", report)
        for line in [
            "Biggest string found '\"text\"' has 1000 bytes",
            "Biggest   list found '\"list\"' has 50 items",
            "Biggest   hash found '\"hash\"' has 2 fields",
            "Biggest    set found '\"set\"' has 1 members",
            "Biggest   zset found '\"zset\"' has 3 members",
        ]:
            self.assertIn(line, report)

    def test_memkeys(self):
        cli("SET", "small", "x")
        cli("SET", "large", "x" * 100_000)
        report = cli("--memkeys")
        self.assertRegex(report, r"Biggest string found '\"large\"' has 1\d{5} bytes")

    def test_live_figures(self):
        cli("SET", "k", "v")
        screen, terminal = pty.openpty()
        command = ["redis-cli", "-p", PORT, "--stat", "-i", "0.01"]
        with subprocess.Popen(command, stdout=terminal) as process:
            os.close(terminal)
            with os.fdopen(screen, encoding="ascii") as lines:
                heading, columns, figures = (lines.readline() for _ in range(3))
                process.terminate()
        self.assertIn("data", heading)
        self.assertEqual(columns.split()[:4], ["keys", "mem", "clients", "blocked"])
        self.assertEqual(figures.split()[0], "1")

    def test_latency(self):
        least, most, average, samples = cli("--latency", "--raw", "-i", "0.1").split()
        self.assertLessEqual(float(least), float(average))
        self.assertLessEqual(float(average), float(most))
        self.assertGreater(int(samples), 0)

    def test_a_subscription(self):
        command = ["redis-cli", "-p", PORT, "SUBSCRIBE", "news"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as subscriber:
            confirmation = [subscriber.stdout.readline() for _ in range(3)]
            self.assertEqual(confirmation, ["subscribe\n", "news\n", "1\n"])
            self.assertEqual(cli("PUBLISH", "news", "hello"), "1\n")
            message = [subscriber.stdout.readline() for _ in range(3)]
            self.assertEqual(message, ["message\n", "news\n", "hello\n"])
            subscriber.terminate()

    def test_watching_commands(self):
        command = ["redis-cli", "-p", PORT, "MONITOR"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as monitor:
            self.assertEqual(monitor.stdout.readline(), "OK\n")
            cli("SET", "k", "a b")
            lines = iter(monitor.stdout.readline, "")
            line = next(line for line in lines if '"SET"' in line)
            self.assertRegex(line, r'^\d+\.\d{6} \[0 127\.0\.0\.1:\d+\] "SET" "k" "a b"$')
            monitor.terminate()
