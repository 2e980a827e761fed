"""redis-benchmark: all its default tests, and the ways it can be told to send."""

import csv
import os
import re
import subprocess
import unittest

PORT = os.environ["KEYWARD_TEST_PORT"]
# How long one run may take before a test fails instead of hanging.
PATIENCE = 60
DEFAULT_TESTS = """
    PING_INLINE PING_MBULK SET GET INCR LPUSH RPUSH LPOP RPOP SADD HSET SPOP ZADD ZPOPMIN
    LPUSH LRANGE_100 LRANGE_300 LRANGE_500 LRANGE_600 MSET
""".split()


def benchmark(*arguments):
    """What redis-benchmark prints; it must have nothing to complain about."""
    command = ["redis-benchmark", "-p", PORT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    if done.stderr or "Error" in done.stdout or "WARNING" in done.stdout:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


class RedisBenchmark(unittest.TestCase):
    def test_all_default_tests(self):
        report = benchmark("-q", "-n", "1000", "-c", "20")
        # Progress overwrites its line; a result is what ends one.
        results = re.findall(r"(\w+)(?: \([^)]*\))?: ([\d.]+) requests per second", report)
        self.assertEqual([name for name, _ in results], DEFAULT_TESTS)
        for name, per_second in results:
            self.assertGreater(float(per_second), 0, name)

    def test_pipelines_threads_and_random_keys(self):
        options = ["-P", "16", "--threads", "2", "-r", "1000", "-n", "10000", "--csv"]
        rows = list(csv.DictReader(benchmark(*options, "-t", "set,get").splitlines()))
        self.assertEqual([row["test"] for row in rows], ["SET", "GET"])
        for row in rows:
            self.assertGreater(float(row["rps"]), 0)

    def test_resp3_and_a_command_of_ones_own(self):
        options = ["-3", "-q", "-n", "1000", "-r", "10"]
        report = benchmark(*options, "EVAL", "return redis.call('INCR', KEYS[1])", "1", "n:__rand_int__")
        self.assertIn("requests per second", report)
