"""Django with its own cache and with django-redis, as sites use them."""

import unittest
from pathlib import Path

import redis

import django_site
import django
import django_redis
from django.core.cache import caches
from django.core.management import call_command
from django.test import Client, override_settings
from django_redis import get_redis_connection
from redis.exceptions import LockError

HERE = Path(__file__).resolve().parent
server = redis.Redis(port=django_site.PORT)


class Caches(unittest.TestCase):
    """What the two backends have in common."""

    def each(self):
        return [caches["default"], caches["extra"]]

    def test_the_library_names_these_versions(self):
        text = (HERE.parent.parent / "library" / "django.toml").read_text()
        self.assertIn(f"Django {django.__version__}", text)
        self.assertIn(f"django-redis {django_redis.__version__}", text)

    def test_values_of_every_kind(self):
        for cache in self.each():
            for value in (0, -7, 2**40, True, None, 1.5, "text", b"\x00\xff", [1, {"a": (2,)}]):
                cache.set("value", value)
                self.assertEqual(cache.get("value", "none"), value)
            self.assertTrue("value" in cache and cache.delete("value"))
            self.assertEqual(cache.get("value", "none"), "none")

    def test_numbers_count(self):
        for cache in self.each():
            cache.set("hits", 1)
            self.assertEqual([cache.incr("hits"), cache.incr("hits", 5), cache.decr("hits", 2)], [2, 7, 5])
            with self.assertRaises(ValueError):
                cache.incr("nothing")

    def test_many_at_once(self):
        for cache in self.each():
            cache.set_many({"a": 1, "b:c": "two", "ключ с пробелом": 3}, timeout=60)
            self.assertEqual(cache.get_many(["a", "b:c", "none"]), {"a": 1, "b:c": "two"})
            cache.delete_many(["a", "b:c", "ключ с пробелом"])
            self.assertEqual(cache.get_many(["a", "b:c"]), {})

    def test_only_if_absent(self):
        for cache in self.each():
            self.assertEqual([cache.add("new", 1), cache.add("new", 2)], [True, False])
            self.assertEqual(cache.get_or_set("other", lambda: "made", 60), "made")
            self.assertEqual(cache.get_or_set("other", "again"), "made")
            cache.delete_many(["new", "other"])

    def test_lifetimes(self):
        for cache in self.each():
            key = cache.make_key("lives")
            for timeout, ttl in ((60, 60), (None, -1), (10**8, 10**8)):
                cache.set("lives", 1, timeout)
                self.assertAlmostEqual(server.ttl(key), ttl, delta=5)
            cache.set("lives", 1)
            self.assertAlmostEqual(server.ttl(key), 300, delta=5)
            self.assertTrue(cache.touch("lives", 1000))
            self.assertAlmostEqual(server.ttl(key), 1000, delta=5)
            self.assertTrue(cache.touch("lives", None))
            self.assertEqual(server.ttl(key), -1)
            cache.set("lives", 1, 0)
            self.assertEqual(server.exists(key), 0)

    def test_versions(self):
        for cache in self.each():
            cache.set("page", "old", version=1)
            self.assertEqual(cache.incr_version("page"), 2)
            self.assertEqual([cache.get("page"), cache.get("page", version=2)], [None, "old"])
            cache.delete("page", version=2)


class DjangoRedis(unittest.TestCase):
    """What django-redis has besides."""

    def setUp(self):
        self.cache = caches["extra"]

    def test_patterns_of_keys(self):
        self.cache.set_many({f"user:{number}": number for number in range(5)}, 60)
        self.assertEqual(len(self.cache.keys("user:*")), 5)
        self.assertEqual(len(list(self.cache.iter_keys("user:*"))), 5)
        self.assertEqual(self.cache.delete_pattern("user:*"), 5)

    def test_lifetimes(self):
        self.cache.set("lives", 1, timeout=100)
        self.assertAlmostEqual(self.cache.ttl("lives"), 100, delta=5)
        self.assertAlmostEqual(self.cache.pttl("lives"), 100_000, delta=5_000)
        self.assertTrue(self.cache.expire("lives", 50))
        self.assertTrue(self.cache.pexpire("lives", 40_000))
        self.assertTrue(self.cache.persist("lives"))
        self.assertIsNone(self.cache.ttl("lives"))
        self.assertEqual(self.cache.set("lives", 2, nx=True), False)
        self.cache.delete("lives")

    def test_locks(self):
        with self.cache.lock("stock", timeout=60):
            self.assertFalse(self.cache.lock("stock", timeout=60).acquire(blocking=False))
        forever = self.cache.lock("stock")
        self.assertTrue(forever.acquire(blocking=False))
        forever.release()
        short = self.cache.lock("stock", timeout=60)
        self.assertTrue(short.acquire() and short.extend(30) and short.reacquire())
        short.release()
        with self.assertRaises(LockError):
            short.release()

    def test_sets(self):
        self.assertEqual(self.cache.sadd("tags", "red", "green", 3), 3)
        self.cache.sadd("others", "red")
        self.assertEqual(self.cache.sinter("tags", "others"), {"red"})
        self.cache.sunionstore("all", "tags", "others")
        self.assertEqual(self.cache.scard("all"), 3)
        self.assertTrue(self.cache.smove("tags", "others", 3))
        self.cache.spop("others")
        self.assertEqual(self.cache.scard("others"), 1)
        self.cache.delete_many(["tags", "others", "all"])

    def test_hashes_and_sorted_sets(self):
        self.cache.hset("profile", "name", "ann")
        self.assertEqual([self.cache.hlen("profile"), self.cache.hexists("profile", "name")], [1, True])
        self.cache.hdel("profile", "name")
        self.cache.zadd("ranks", {"ann": 1, "bob": 2})
        self.cache.zincrby("ranks", 5, "ann")
        self.assertEqual(self.cache.zrange("ranks", 0, -1), ["bob", "ann"])
        self.cache.delete("ranks")

    def test_the_bare_connection(self):
        bare = get_redis_connection("extra")
        key = self.cache.make_key("bare")
        self.assertEqual(bare.rpush(str(key), "a", "b"), 2)
        self.cache.delete("bare")

    def test_a_herd(self):
        herd = caches["herd"]
        herd.set("page", "text", 60)
        self.assertEqual(herd.get("page"), "text")
        herd.set_many({"one": 1, "two": 2}, 60)
        self.assertEqual(herd.get_many(["one", "two"]), {"one": 1, "two": 2})


class Site(unittest.TestCase):
    def sessions(self, engine, alias):
        return override_settings(
            SESSION_ENGINE=f"django.contrib.sessions.backends.{engine}", SESSION_CACHE_ALIAS=alias
        )

    @classmethod
    def setUpClass(cls):
        call_command("migrate", verbosity=0)

    def test_sessions(self):
        for engine in ("cache", "cached_db"):
            for alias in ("default", "extra"):
                with self.subTest(engine=engine, cache=alias), self.sessions(engine, alias):
                    self.visit(engine, alias)

    def visit(self, engine, alias):
        visitor = Client()
        self.assertEqual([visitor.get("/count").content for _ in range(3)], [b"1", b"2", b"3"])
        prefix = f"django.contrib.sessions.{engine}"
        first = visitor.cookies["sessionid"].value
        key = caches[alias].make_key(prefix + first)
        self.assertAlmostEqual(server.ttl(key), 14 * 86400, delta=5)
        explained = str(server.execute_command("KEYWARD", "EXPLAIN", "LPUSH", key, "x"))
        self.assertIn("(redacted)", explained)
        self.assertNotIn(first, explained)
        visitor.get("/count?hours=2")
        self.assertAlmostEqual(server.ttl(key), 7200, delta=5)
        second = visitor.get("/renew").content.decode()
        self.assertNotEqual(second, first)
        self.assertEqual(server.exists(key), 0)
        self.assertEqual(visitor.get("/count").content, b"5")
        visitor.get("/leave")
        self.assertEqual(server.exists(caches[alias].make_key(prefix + second)), 0)

    def test_pages_and_fragments(self):
        visitor = Client()
        made = visitor.get("/page").content
        self.assertEqual(visitor.get("/page").content, made)
        self.assertNotEqual(visitor.get("/page", headers={"user-agent": "other"}).content, made)
        extra = visitor.get("/extra-page").content
        self.assertEqual(visitor.get("/extra-page").content, extra)
        self.assertEqual(visitor.get("/fragment?user=ann&count=1").content, b"basket of ann: 1")
        self.assertEqual(visitor.get("/fragment?user=ann&count=2").content, b"basket of ann: 1")
        self.assertEqual(visitor.get("/fragment?user=bob&count=2").content, b"basket of bob: 2")


class Empty(unittest.TestCase):
    def test_clear_empties_the_database(self):
        for cache in (caches["default"], caches["extra"]):
            cache.set("some", 1)
            cache.clear()
            self.assertEqual(server.dbsize(), 0)
