"""redis-py: commands, pipelines, transactions, scripts, locks, pub/sub, pools, RESP3."""

import os
import threading
import unittest

import redis

PORT = int(os.environ["KEYWARD_TEST_PORT"])
# How long a reply may take before a test fails instead of hanging.
PATIENCE = 20


def connect(**options):
    return redis.Redis(port=PORT, socket_timeout=PATIENCE, decode_responses=True, **options)


class EachProtocol:
    """What must be the same in RESP2 and RESP3."""

    protocol = 2

    def setUp(self):
        self.redis = connect(protocol=self.protocol)
        self.addCleanup(self.redis.close)
        self.redis.flushall()

    def test_every_type(self):
        r = self.redis
        self.assertTrue(r.set("s", "v", ex=100))
        self.assertEqual(r.get("s"), "v")
        self.assertEqual(r.ttl("s"), 100)
        self.assertEqual(r.hset("h", mapping={"a": "1", "b": "2"}), 2)
        self.assertEqual(r.hgetall("h"), {"a": "1", "b": "2"})
        self.assertEqual(r.rpush("l", "a", "b", "c"), 3)
        self.assertEqual(r.lrange("l", 0, -1), ["a", "b", "c"])
        self.assertEqual(r.sadd("u", "x", "y"), 2)
        self.assertEqual(r.smembers("u"), {"x", "y"})
        self.assertEqual(r.zadd("z", {"m": 1.5, "n": 2}), 2)
        pairs = [tuple(pair) for pair in r.zrange("z", 0, -1, withscores=True)]
        self.assertEqual(pairs, [("m", 1.5), ("n", 2.0)])
        self.assertEqual(r.zscore("z", "m"), 1.5)
        self.assertEqual(sorted(r.scan_iter(count=2)), ["h", "l", "s", "u", "z"])

    def test_errors_have_their_class(self):
        self.redis.rpush("l", "a")
        with self.assertRaisesRegex(redis.ResponseError, "WRONGTYPE"):
            self.redis.get("l")
        with self.assertRaises(redis.exceptions.NoScriptError):
            self.redis.evalsha("0" * 40, 0)

    def test_pipelines(self):
        with self.redis.pipeline(transaction=False) as pipeline:
            for number in range(1000):
                pipeline.incrby("n", number)
            results = pipeline.execute()
        self.assertEqual(results[-1], 999 * 1000 // 2)

    def test_a_transaction_tries_again_when_its_key_changes(self):
        other = connect()
        self.addCleanup(other.close)
        attempts = []

        def double(pipeline):
            value = int(pipeline.get("n"))
            if not attempts:
                other.set("n", "21")
            attempts.append(value)
            pipeline.multi()
            pipeline.set("n", value * 2)

        self.redis.set("n", "1")
        self.assertEqual(self.redis.transaction(double, "n"), [True])
        self.assertEqual(attempts, [1, 21])
        self.assertEqual(self.redis.get("n"), "42")

    def test_a_script_is_loaded_when_the_server_does_not_know_it(self):
        script = self.redis.register_script("return {KEYS[1], tonumber(ARGV[1]) * 2}")
        self.redis.script_flush()
        self.assertEqual(script(keys=["k"], args=[21]), ["k", 42])
        self.assertEqual(script(keys=["k"], args=[4]), ["k", 8])

    def test_functions(self):
        library = """#!lua name=sums
            redis.register_function('add', function(keys, args)
                return redis.call('INCRBY', keys[1], args[1])
            end)"""
        self.redis.function_load(library, replace=True)
        self.assertEqual(self.redis.fcall("add", 1, "n", 5), 5)
        self.assertTrue(self.redis.function_delete("sums"))

    def test_a_lock_is_held_by_one_and_extended_and_released(self):
        lock = self.redis.lock("lock", timeout=50)
        self.assertTrue(lock.acquire())
        self.assertFalse(self.redis.lock("lock").acquire(blocking=False))
        self.assertTrue(lock.extend(100))
        self.assertGreater(self.redis.ttl("lock"), 100)
        lock.release()
        self.assertFalse(self.redis.exists("lock"))
        with self.assertRaises(redis.exceptions.LockError):
            lock.release()

    def test_waiting_for_an_element(self):
        waiter = connect()
        self.addCleanup(waiter.close)
        found = []
        thread = threading.Thread(target=lambda: found.append(waiter.blpop("l", timeout=PATIENCE)))
        thread.start()
        while self.redis.info("clients")["blocked_clients"] == 0:
            pass
        self.redis.rpush("l", "x")
        thread.join()
        self.assertEqual([tuple(pair) for pair in found], [("l", "x")])

    def test_messages_and_patterns(self):
        subscription = self.redis.pubsub()
        self.addCleanup(subscription.close)
        subscription.subscribe("news")
        subscription.psubscribe("we*")
        self.assertEqual(subscription.get_message(timeout=PATIENCE)["type"], "subscribe")
        self.assertEqual(subscription.get_message(timeout=PATIENCE)["type"], "psubscribe")
        self.assertEqual(self.redis.publish("news", "one"), 1)
        self.assertEqual(self.redis.publish("weather", "two"), 1)
        message = subscription.get_message(timeout=PATIENCE)
        self.assertEqual((message["type"], message["data"]), ("message", "one"))
        message = subscription.get_message(timeout=PATIENCE)
        self.assertEqual((message["type"], message["pattern"]), ("pmessage", "we*"))
        self.assertEqual(self.redis.pubsub_numsub("news"), [("news", 1)])

    def test_dump_and_restore(self):
        self.redis.rpush("l", *range(100))
        raw = redis.Redis(port=PORT, protocol=self.protocol)
        self.addCleanup(raw.close)
        self.assertTrue(raw.restore("copy", 0, raw.dump("l")))
        self.assertEqual(self.redis.lrange("copy", 0, -1), [str(n) for n in range(100)])

    def test_what_the_server_says_of_itself(self):
        self.redis.set("k", "v")
        self.assertEqual(self.redis.info("keyspace")["db0"]["keys"], 1)
        self.assertTrue(self.redis.info("server")["redis_version"].startswith("7."))
        self.assertEqual(self.redis.config_get("maxclients"), {"maxclients": "10000"})
        self.assertIn("get", self.redis.command())
        self.assertGreater(self.redis.memory_usage("k"), 0)
        names = [client["name"] for client in self.redis.client_list()]
        self.assertIn("", names)


class Resp2(EachProtocol, unittest.TestCase):
    protocol = 2


class Resp3(EachProtocol, unittest.TestCase):
    protocol = 3


class Pool(unittest.TestCase):
    def test_many_threads_share_connections(self):
        pool = redis.BlockingConnectionPool(port=PORT, max_connections=5, timeout=PATIENCE)
        client = redis.Redis(connection_pool=pool)
        self.addCleanup(pool.disconnect)
        client.delete("n")

        def work():
            for _ in range(50):
                client.incr("n")

        threads = [threading.Thread(target=work) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(client.get("n"), b"1000")

    def test_a_lost_connection_is_replaced(self):
        victim = connect(client_name="victim")
        killer = connect()
        self.addCleanup(victim.close)
        self.addCleanup(killer.close)
        identity = victim.client_id()
        self.assertEqual(killer.client_kill_filter(_id=identity), 1)
        self.assertTrue(victim.ping())
        self.assertNotEqual(victim.client_id(), identity)
