"""redis-py as a named user with few rights, over TCP, or TLS where the runner says so.

`KEYWARD_TEST_TLS_PORT` and `KEYWARD_TEST_TLS_CA` (a file of the authority) have the user's
connections made by TLS.
"""

import asyncio
import os
import unittest

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

PORT = int(os.environ["KEYWARD_TEST_PORT"])
TLS_PORT = os.environ.get("KEYWARD_TEST_TLS_PORT")
NAME, PASSWORD = "clerk-py", "a secret"
# How long a reply may take before a test fails instead of hanging.
PATIENCE = 20
RULES = ["reset", "on", f">{PASSWORD}", "~order:*", "%R~price:*", "&news:*", "+@read", "+@write", "+@connection"]
RULES += ["+@transaction", "+@pubsub", "+@scripting", "-@dangerous", "+acl|whoami"]


def options(**more):
    """How the user connects."""
    named = dict(username=NAME, password=PASSWORD, socket_timeout=PATIENCE, decode_responses=True, **more)
    if not TLS_PORT:
        return dict(named, port=PORT)
    return dict(named, port=int(TLS_PORT), ssl=True, ssl_ca_certs=os.environ["KEYWARD_TEST_TLS_CA"])


class EachProtocol:
    protocol = 2

    def setUp(self):
        self.admin = redis.Redis(port=PORT, socket_timeout=PATIENCE, decode_responses=True)
        self.addCleanup(self.admin.close)
        self.addCleanup(self.admin.execute_command, "ACL", "DELUSER", NAME)
        self.admin.flushall()
        self.admin.acl_log_reset()
        self.admin.execute_command("ACL", "SETUSER", NAME, *RULES)
        self.admin.set("price:1", "5")
        self.user = redis.Redis(**options(protocol=self.protocol))
        self.addCleanup(self.user.close)

    def test_what_is_allowed(self):
        self.assertEqual(self.user.acl_whoami(), NAME)
        self.assertTrue(self.user.set("order:1", "x"))
        self.assertEqual(self.user.mget("order:1", "price:1"), ["x", "5"])
        with self.user.pipeline() as pipeline:
            self.assertEqual(pipeline.incr("order:count").get("price:1").execute(), [1, "5"])
        self.assertEqual(self.user.register_script("return redis.call('GET', KEYS[1])")(keys=["order:1"]), "x")
        self.assertEqual(self.user.eval_ro("return redis.call('GET', KEYS[1])", 1, "price:1"), "5")
        entry = self.user.xadd("order:log", {"id": "1"})
        self.assertEqual(self.user.xrange("order:log"), [(entry, {"id": "1"})])

    def test_what_is_denied(self):
        with self.assertRaises(redis.exceptions.NoPermissionError):
            self.user.set("price:1", "0")
        for command in (["GET", "salary:1"], ["FLUSHALL"], ["CONFIG", "GET", "*"], ["ACL", "LIST"]):
            with self.assertRaises(redis.exceptions.NoPermissionError, msg=command):
                self.user.execute_command(*command)
        with self.assertRaises(redis.exceptions.NoPermissionError):
            self.user.publish("rumours:1", "x")
        with self.assertRaisesRegex(redis.ResponseError, "(?i)can't access|no permissions"):
            self.user.eval("return redis.call('SET', KEYS[1], '0')", 1, "price:1")
        with self.assertRaisesRegex(redis.ResponseError, "(?i)permission|EXECABORT"):
            with self.user.pipeline() as pipeline:
                pipeline.set("order:1", "x").set("price:1", "0").execute()
        self.assertIsNone(self.admin.get("order:1"))
        self.assertEqual(self.admin.get("price:1"), "5")
        self.assertIn(("key", "price:1", NAME), [(e["reason"], e["object"], e["username"]) for e in self.admin.acl_log()])

    def test_channels(self):
        heard = self.user.pubsub(ignore_subscribe_messages=True)
        self.addCleanup(heard.close)
        heard.subscribe("news:1")
        # The confirmation, which is not shown: whoever publishes now is heard.
        self.assertIsNone(heard.get_message(timeout=PATIENCE))
        self.admin.publish("news:1", "hello")
        self.assertEqual(heard.get_message(timeout=PATIENCE)["data"], "hello")

    def test_a_wrong_password(self):
        for wrong in (dict(password="no"), dict(username="nobody")):
            with redis.Redis(**dict(options(protocol=self.protocol), retry=Retry(NoBackoff(), 0), **wrong)) as client:
                with self.assertRaises(redis.exceptions.AuthenticationError):
                    client.ping()

    def test_rights_that_change_hold_at_once(self):
        self.user.set_retry(Retry(NoBackoff(), 0))
        self.assertTrue(self.user.set("order:1", "x"))
        self.admin.execute_command("ACL", "SETUSER", NAME, "-set")
        with self.assertRaises(redis.exceptions.NoPermissionError):
            self.user.set("order:1", "y")
        # A user that is taken away takes its connections along.
        self.admin.execute_command("ACL", "DELUSER", NAME)
        with self.assertRaises((redis.exceptions.ConnectionError, redis.exceptions.AuthenticationError)):
            self.user.get("order:1")

    def test_asyncio(self):
        async def talk():
            async with redis.asyncio.Redis(**options(protocol=self.protocol)) as client:
                self.assertEqual(await client.acl_whoami(), NAME)
                self.assertTrue(await client.set("order:2", "x"))
                with self.assertRaises(redis.exceptions.NoPermissionError):
                    await client.get("salary:1")

        asyncio.run(talk())


class Resp2(EachProtocol, unittest.TestCase):
    pass


class Resp3(EachProtocol, unittest.TestCase):
    protocol = 3
