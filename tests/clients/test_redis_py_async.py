"""redis-py's asynchronous client: commands at once, transactions, pub/sub, locks."""

import asyncio
import os
import unittest

import redis.asyncio as redis

PORT = int(os.environ["KEYWARD_TEST_PORT"])
# How long a reply may take before a test fails instead of hanging.
PATIENCE = 20


class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.redis = redis.Redis(port=PORT, decode_responses=True, socket_timeout=PATIENCE)
        self.addAsyncCleanup(self.redis.aclose)
        await self.redis.flushall()

    async def test_many_commands_at_once(self):
        await asyncio.gather(*(self.redis.incr("n") for _ in range(50)))
        self.assertEqual(await self.redis.get("n"), "50")

    async def test_a_transaction_that_is_disturbed_fails(self):
        async with self.redis.pipeline(transaction=True) as pipeline:
            await pipeline.watch("n")
            await self.redis.set("n", "1")
            pipeline.multi()
            pipeline.set("n", "2")
            with self.assertRaises(redis.WatchError):
                await pipeline.execute()
        async with self.redis.pipeline(transaction=True) as pipeline:
            self.assertEqual(await pipeline.incr("n").incr("n").execute(), [2, 3])

    async def test_waiting_for_the_least_member(self):
        waiting = asyncio.create_task(self.redis.bzpopmin("z", timeout=PATIENCE))
        while (await self.redis.info("clients"))["blocked_clients"] == 0:
            await asyncio.sleep(0)
        await self.redis.zadd("z", {"m": 7})
        self.assertEqual(list(await waiting), ["z", "m", 7.0])

    async def test_a_lock_is_handed_over(self):
        held = self.redis.lock("lock", timeout=50)
        await held.acquire()
        following = self.redis.lock("lock", timeout=50, sleep=0.01)
        waiting = asyncio.create_task(following.acquire(blocking_timeout=PATIENCE))
        await held.release()
        self.assertTrue(await waiting)
        self.assertTrue(await following.owned())

    async def test_messages(self):
        async with self.redis.pubsub() as subscription:
            await subscription.subscribe("news")
            confirmation = await subscription.get_message(timeout=PATIENCE)
            self.assertEqual(confirmation["type"], "subscribe")
            self.assertEqual(await self.redis.publish("news", "hello"), 1)
            message = await subscription.get_message(timeout=PATIENCE)
            self.assertEqual(message["data"], "hello")
