"""Celery on kombu: tasks at once, delayed and retried, done by a worker."""

import os
import unittest

from celery import Celery
from celery.contrib.testing.worker import start_worker

PORT = int(os.environ["KEYWARD_TEST_PORT"])
# How long a job may take before a test fails instead of hanging.
PATIENCE = 20


class CeleryWithKombu(unittest.TestCase):
    def setUp(self):
        url = f"redis://127.0.0.1:{PORT}/5"
        self.app = Celery("tests", broker=url, backend=url)
        self.app.conf.update(broker_connection_retry_on_startup=True)

        @self.app.task(name="double")
        def task(number):
            return number * 2

        @self.app.task(name="retried", bind=True, max_retries=1)
        def retried(self):
            if self.request.retries == 0:
                raise self.retry(countdown=0)
            return "second"

        self.double, self.retried = task, retried

    def test_tasks_delays_and_retries(self):
        with start_worker(self.app, pool="solo", perform_ping_check=False, loglevel="CRITICAL"):
            self.assertEqual(self.double.delay(21).get(timeout=PATIENCE), 42)
            results = [self.double.apply_async((n,), countdown=0.1) for n in range(3)]
            self.assertEqual([result.get(timeout=PATIENCE) for result in results], [0, 2, 4])
            self.assertEqual(self.retried.delay().get(timeout=PATIENCE), "second")
