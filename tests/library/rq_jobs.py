"""What test_rq.py's workers run; also the configuration of `rq cron`."""

import os
import signal
import time

from rq import Retry, cron

PORT = int(os.environ["KEYWARD_TEST_PORT"])

# A configuration is a module under another name.
if __name__.startswith("rq_cron_config_"):
    from rq_jobs import add

    cron.register(add, queue_name="mail", args=(1, 2), interval=1, name="every second")
    cron.register(add, queue_name="mail", args=(1, 2), cron="0 0 * * *", meta={"a": 1})


def add(one, other):
    return one + other


def fail():
    raise ValueError("on purpose")


def ask_again(limit):
    """A job that asks for another attempt by what it returns."""
    return Retry(max=limit)


def sleep(seconds):
    time.sleep(seconds)
    return "slept"


def note(job, connection, *rest):
    """A callback: success has the result behind, failure the exception, stopping nothing."""
    connection.publish("callbacks", f"{job.id} {len(rest)}")


def die(worker):
    """Ends the worker and itself, so that nobody says what came of the job."""
    for process in (worker, os.getpid()):
        os.kill(process, signal.SIGKILL)
