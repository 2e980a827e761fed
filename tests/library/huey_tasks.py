"""The tasks that test_huey.py runs, on an instance of each kind of storage."""

import os

import huey
import huey.signals

PORT = int(os.environ["KEYWARD_TEST_PORT"])


class Instance:
    """A Huey and its tasks."""

    def __init__(self, kind, name, **options):
        self.huey = kind(name, host="127.0.0.1", port=PORT, read_timeout=0.2, **options)
        self.attempts = 0
        self.revoked = []

        @self.huey.signal(huey.signals.SIGNAL_REVOKED)
        def note_revoked(signal, task):
            self.revoked.append(task.id)

        @self.huey.task()
        def add(one, other):
            return one + other

        @self.huey.task()
        def sum_up(numbers):
            return sum(numbers)

        @self.huey.task(retries=2, retry_delay=0)
        def flaky(failures):
            self.attempts += 1
            if self.attempts <= failures:
                raise ValueError("on purpose")
            return self.attempts

        @self.huey.task()
        def fail():
            raise ValueError("on purpose")

        @self.huey.task()
        @self.huey.lock_task("single")
        def alone():
            return self.huey.is_locked("single")

        @self.huey.periodic_task(huey.crontab(minute="*"))
        def every_minute():
            return None

        self.add, self.sum_up, self.flaky, self.fail, self.alone = add, sum_up, flaky, fail, alone
        self.every_minute = every_minute

    def __repr__(self):
        return self.huey.name


PLAIN = Instance(huey.RedisHuey, "plain")
EXPIRING = Instance(huey.RedisExpireHuey, "expiring", expire_time=3600, notify_result=True)
URGENT = Instance(huey.PriorityRedisHuey, "urgent")
URGENT_EXPIRING = Instance(huey.PriorityRedisExpireHuey, "urgent-expiring")
