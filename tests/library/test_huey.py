"""Huey with a real consumer: tasks, schedules, retries, revocations, locks, chords, limits."""

import unittest
from importlib.metadata import version
from pathlib import Path

import redis
from huey.api import chord
from huey.exceptions import RateLimitExceeded, TaskException, TaskLockedException

from huey_tasks import EXPIRING, PLAIN, PORT, URGENT, URGENT_EXPIRING
from patience import PATIENCE, eventually

HERE = Path(__file__).resolve().parent
ALL = [PLAIN, EXPIRING, URGENT, URGENT_EXPIRING]
server = redis.Redis(port=PORT)


class Huey(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.consumers = [
            instance.huey.create_consumer(workers=2, periodic=True, initial_delay=0.01, max_delay=0.1, scheduler_interval=1)
            for instance in ALL
        ]
        for consumer in cls.consumers:
            consumer.start()

    @classmethod
    def tearDownClass(cls):
        for consumer in cls.consumers:
            consumer.stop()

    def test_the_library_names_this_version(self):
        text = (HERE.parent.parent / "library" / "huey.toml").read_text()
        self.assertIn(f"Huey {version('huey')}", text)

    def test_tasks_and_results(self):
        for instance in ALL:
            results = [instance.add(number, 1) for number in range(5)]
            self.assertEqual([result.get(True, PATIENCE) for result in results], [1, 2, 3, 4, 5])
            with self.assertRaises(TaskException):
                instance.fail().get(True, PATIENCE)
            instance.flaky(2)
            eventually(lambda: instance.attempts == 3, "it is not tried again")

    def test_results_expire(self):
        result = EXPIRING.add(1, 1)
        result.get(True, PATIENCE)
        self.assertAlmostEqual(server.ttl(f"huey.r.expiring.{result.id}"), 3600, delta=5)

    def test_priorities(self):
        for instance in (URGENT, URGENT_EXPIRING):
            jobs = [instance.add.s(1, priority, priority=priority) for priority in (1, 100)]
            results = [instance.huey.enqueue(job) for job in jobs]
            self.assertEqual([result.get(True, PATIENCE) for result in results], [2, 101])

    def test_later(self):
        results = [instance.add.schedule((2, 3), delay=1) for instance in (PLAIN, EXPIRING)]
        self.assertEqual([result.get(True, PATIENCE) for result in results], [5, 5])

    def test_revoked_tasks_do_not_run(self):
        instances = (PLAIN, EXPIRING)
        results = [instance.add.schedule((1, 1), delay=1) for instance in instances]
        for result in results:
            result.revoke()
            self.assertTrue(result.is_revoked())
        for instance, result in zip(instances, results):
            eventually(lambda: result.id in instance.revoked, "the worker does not skip it")
            self.assertIsNone(result.get())
            instance.every_minute.revoke()
            self.assertTrue(instance.every_minute.is_revoked())
            instance.every_minute.restore()

    def test_locks(self):
        for instance in (PLAIN, EXPIRING):
            self.assertTrue(instance.alone().get(True, PATIENCE))
            with instance.huey.lock_task("by:hand"):
                with self.assertRaises(TaskLockedException):
                    with instance.huey.lock_task("by:hand"):
                        pass
        with EXPIRING.huey.lock_task("short", ttl=60):
            self.assertAlmostEqual(server.ttl("huey.r.expiring.expiring.lock.short"), 60, delta=5)

    def test_chords_and_pipelines(self):
        for instance in (PLAIN, EXPIRING):
            header = [instance.add.s(number, number) for number in range(3)]
            result = instance.huey.enqueue(chord(header, instance.sum_up.s()))
            self.assertEqual(result.get(True, PATIENCE), 6)
            steps = instance.add.s(1, 1).then(instance.add, 10).then(instance.add, 100)
            self.assertEqual(instance.huey.enqueue(steps).get(True, PATIENCE), [2, 12, 112])

    def test_rate_limits(self):
        for instance in (PLAIN, EXPIRING):
            limit = instance.huey.rate_limit("calls", 2, per=60)
            for _ in range(2):
                with limit:
                    pass
            with self.assertRaises(RateLimitExceeded):
                with limit:
                    pass

    def test_what_the_application_keeps(self):
        for instance in ALL:
            instance.huey.put("note:1", {"a": 1})
            self.assertEqual(instance.huey.get("note:1", peek=True), {"a": 1})
            instance.huey.flush()
