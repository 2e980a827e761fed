"""Celery with real workers: every way to call a task, remote control, events, results."""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import celery
import kombu
import redis
from celery import chain, chord, group
from celery.exceptions import ChordError, TaskRevokedError

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from celery_app import (
    PORT,
    PROGRESS,
    add,
    app,
    collect,
    count,
    count_up,
    fail,
    flaky,
    grow,
    late,
    prefixed,
    progress,
    quiet,
    send_mail,
    total,
    wait,
)
from patience import PATIENCE, eventually

server = redis.Redis(port=PORT)


def start_worker(application, name, queues):
    """A worker in a process group of its own."""
    command = [sys.executable, "-m", "celery", "-A", f"celery_app:{application}", "worker"]
    command += ["--hostname", f"{name}@shop", "--queues", queues, "--concurrency", "2"]
    command += ["--loglevel", "CRITICAL"]
    return subprocess.Popen(command, cwd=HERE, start_new_session=True, stdout=subprocess.DEVNULL)


def reads():
    """How often workers have asked for messages and got an answer."""
    return server.info("commandstats").get("cmdstat_brpop", {}).get("calls", 0)


class Celery(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.workers = [
            start_worker("app", "main", "celery,mail"),
            start_worker("prefixed", "stock", "stock"),
        ]
        eventually(lambda: app.control.ping(timeout=0.5), "the worker does not reply")
        eventually(lambda: prefixed.control.ping(timeout=0.5), "the other worker does not reply")

    @classmethod
    def tearDownClass(cls):
        for worker in cls.workers:
            worker.terminate()
        for worker in cls.workers:
            worker.wait(PATIENCE)

    def test_the_library_names_these_versions(self):
        text = (HERE.parent.parent / "library" / "celery.toml").read_text()
        self.assertIn(f"Celery {celery.__version__} on kombu {kombu.__version__}", text)

    def test_tasks_at_once_and_later(self):
        results = [add.delay(number, 1) for number in range(20)]
        self.assertEqual([result.get(PATIENCE) for result in results], list(range(1, 21)))
        started = time.monotonic()
        self.assertEqual(add.apply_async((1, 2), countdown=1).get(PATIENCE), 3)
        self.assertGreaterEqual(time.monotonic() - started, 1)
        self.assertEqual(send_mail.delay("ann").get(PATIENCE), "sent to ann")
        silent = quiet.delay()
        add.delay(1, 1).get(PATIENCE)
        self.assertEqual(server.exists(f"celery-task-meta-{silent.id}"), 0)

    def test_priorities(self):
        busy = [wait.apply_async((1,), priority=9) for _ in range(2)]
        jobs = [add.apply_async((1, priority), priority=priority) for priority in (9, 6, 3, 0)]
        self.assertEqual([job.get(PATIENCE) for job in jobs], [10, 7, 4, 1])
        self.assertEqual([job.get(PATIENCE) for job in busy], [1, 1])

    def test_failures_retries_and_states(self):
        failed = fail.delay()
        with self.assertRaisesRegex(ValueError, "on purpose"):
            failed.get(PATIENCE)
        self.assertEqual(failed.state, "FAILURE")
        self.assertIn("on purpose", failed.traceback)
        self.assertEqual(flaky.delay(2).get(PATIENCE), 2)
        slow = progress.delay()
        eventually(lambda: slow.state == PROGRESS and slow.info == {"done": 50}, "no progress")
        self.assertEqual(slow.get(PATIENCE), "done")

    def test_results_end_and_are_forgotten(self):
        result = add.delay(1, 1)
        result.get(PATIENCE)
        key = f"celery-task-meta-{result.id}"
        self.assertAlmostEqual(server.ttl(key), 86400, delta=PATIENCE)
        result.forget()
        self.assertEqual(server.exists(key), 0)

    def test_groups_chains_and_chords(self):
        many = group(add.s(number, number) for number in range(5)).apply_async()
        many.save()
        self.assertEqual(many.get(PATIENCE), [0, 2, 4, 6, 8])
        self.assertEqual(app.GroupResult.restore(many.id).join(), [0, 2, 4, 6, 8])
        self.assertEqual(chain(add.s(1, 2), add.s(3)).apply_async().get(PATIENCE), 6)
        self.assertEqual(chord([add.s(n, n) for n in range(5)])(total.s()).get(PATIENCE), 20)
        nested = chord([group(add.s(1, 1), add.s(2, 2)), add.s(3, 3)])(collect.s())
        self.assertEqual(sorted(nested.get(PATIENCE)), [2, 4, 6])
        failing = chord([add.s(1, 1), fail.s()])(total.s())
        with self.assertRaisesRegex((ChordError, ValueError), "on purpose"):
            failing.get(PATIENCE)

    def test_a_task_adds_to_its_chord(self):
        self.assertEqual(chord([grow.s(1), grow.s(2)])(total.s()).get(PATIENCE), 206)

    def test_revoked_tasks_do_not_run(self):
        later = add.apply_async((1, 1), countdown=2)
        app.control.revoke(later.id)
        with self.assertRaises(TaskRevokedError):
            later.get(PATIENCE)
        running = wait.delay(60)
        eventually(lambda: running.state == "STARTED", "it does not start")
        running.revoke(terminate=True)
        with self.assertRaises(TaskRevokedError):
            running.get(PATIENCE)

    def test_remote_control(self):
        inspect = app.control.inspect(timeout=2, destination=["main@shop"])
        self.assertEqual(inspect.ping(), {"main@shop": {"ok": "pong"}})
        self.assertIn("add [rate_limit=100/s]", self.after_limit(inspect))
        for question in ("active", "scheduled", "reserved", "revoked", "stats", "active_queues", "conf"):
            self.assertIn("main@shop", getattr(inspect, question)() or {}, question)
        replies = app.control.add_consumer("celery", reply=True, destination=["main@shop"])
        self.assertTrue(replies)

    def after_limit(self, inspect):
        app.control.rate_limit("add", "100/s", reply=True)
        registered = inspect.registered("rate_limit")["main@shop"]
        app.control.rate_limit("add", "0", reply=True)
        return registered

    def test_events(self):
        seen = set()
        wanted = {"task-sent", "task-received", "task-started", "task-succeeded", "worker-heartbeat"}
        with app.connection() as connection:
            receiver = app.events.Receiver(connection, handlers={"*": lambda event: seen.add(event["type"])})
            events = receiver.itercapture(limit=None, timeout=PATIENCE)
            next(events)
            job = add.delay(5, 5)
            while not wanted <= seen:
                next(events)
        self.assertEqual(job.get(PATIENCE), 10)

    def test_what_a_lost_worker_held_goes_back(self):
        lost = start_worker("prefixed", "lost", "parcels")
        try:
            eventually(lambda: prefixed.control.ping(["lost@shop"], timeout=0.5), "no worker")
            held = late.apply_async(queue="parcels")
            eventually(lambda: held.state == "STARTED", "it does not start")
        finally:
            os.killpg(lost.pid, signal.SIGKILL)
            lost.wait()
        prefixed.control.add_consumer("parcels", reply=True, destination=["stock@shop"])
        self.assertEqual(held.get(PATIENCE), "redelivered")

    def test_prefixes_and_shorter_results(self):
        result = count.delay(41)
        self.assertEqual(result.get(PATIENCE), 42)
        ttl = server.ttl(f"warehouse:celery-task-meta-{result.id}")
        self.assertTrue(0 < ttl <= 60, ttl)
        count.apply_async((1,), task_id="order:42").get(PATIENCE)
        self.assertEqual(server.exists("warehouse:celery-task-meta-order:42"), 1)
        self.assertEqual(chord([count.s(1), count.s(2)])(count_up.s()).get(PATIENCE), 5)
        self.assertEqual(prefixed.control.inspect(timeout=2).ping(), {"stock@shop": {"ok": "pong"}})

    def test_purge(self):
        app.control.cancel_consumer("mail", reply=True, destination=["main@shop"])
        # What the worker waited for when it was told would still take one: each of the two workers
        # asks once a second.
        asked = reads()
        eventually(lambda: reads() >= asked + 4, "the workers do not read any more")
        for _ in range(3):
            send_mail.delay("nobody")
        with app.connection() as connection:
            purged = connection.default_channel.queue_purge("mail")
        self.assertEqual(purged, 3)
        app.control.add_consumer("mail", reply=True, destination=["main@shop"])
