"""RQ: jobs, their results in streams, dependencies, retries, delays, done by a worker.

`tests/library` runs all of it, under its schema.
"""

import os
import unittest
from datetime import timedelta

import redis
from rq import Queue, Retry, SimpleWorker
from rq.job import JobStatus
from rq.scheduler import RQScheduler

import rq_jobs

PORT = int(os.environ["KEYWARD_TEST_PORT"])


class RQ(unittest.TestCase):
    def setUp(self):
        self.redis = redis.Redis(port=PORT, db=7)
        self.addCleanup(self.redis.close)
        self.redis.flushdb()
        self.queue = Queue("work", connection=self.redis)

    def work(self):
        """Does what there is to do, and ends."""
        SimpleWorker([self.queue], connection=self.redis).work(burst=True, logging_level="CRITICAL")

    def test_jobs_and_their_results(self):
        jobs = [self.queue.enqueue(rq_jobs.double, number) for number in range(5)]
        self.work()
        self.assertEqual([job.return_value() for job in jobs], [0, 2, 4, 6, 8])
        self.assertEqual(self.redis.type(f"rq:results:{jobs[0].id}"), b"stream")

    def test_one_waits_for_another(self):
        first = self.queue.enqueue(rq_jobs.double, 1)
        second = self.queue.enqueue(rq_jobs.double, 2, depends_on=first)
        self.assertEqual(second.get_status(), JobStatus.DEFERRED)
        self.work()
        self.assertEqual(second.return_value(), 4)

    def test_a_failed_job_is_tried_again(self):
        job = self.queue.enqueue(rq_jobs.fail, retry=Retry(max=2))
        self.work()
        self.assertEqual(job.get_status(), JobStatus.FAILED)
        job.refresh()
        self.assertEqual(job.retries_left, 0)
        self.assertIn("on purpose", job.latest_result().exc_string)

    def test_a_job_for_later(self):
        job = self.queue.enqueue_in(timedelta(seconds=-1), rq_jobs.double, 3)
        self.assertEqual(job.get_status(), JobStatus.SCHEDULED)
        scheduler = RQScheduler([self.queue], connection=self.redis)
        self.assertEqual(scheduler.acquire_locks(), {"work"})
        scheduler.enqueue_scheduled_jobs()
        self.work()
        self.assertEqual(job.return_value(), 6)
