"""The application that test_celery.py tries: tasks of every kind, on two configurations."""

import os
import time

from celery import Celery

PORT = int(os.environ["KEYWARD_TEST_PORT"])
# The application's own state, beside Celery's.
PROGRESS = "PROGRESS"


def configure(name, **settings):
    url = f"redis://127.0.0.1:{PORT}/0"
    app = Celery(name, broker=url, backend=url)
    app.conf.update(
        broker_connection_retry_on_startup=True,
        task_track_started=True,
        task_send_sent_event=True,
        worker_send_task_events=True,
        result_extended=True,
        worker_prefetch_multiplier=1,
        **settings,
    )
    return app


app = configure(
    "shop",
    broker_transport_options={"queue_order_strategy": "priority"},
    task_routes={"mail.*": {"queue": "mail"}},
)

# The same database, with prefixes of its own and results that end soon. What a lost worker
# held goes back to its queue after two seconds.
prefixed = configure(
    "warehouse",
    broker_transport_options={
        "global_keyprefix": "warehouse:",
        "visibility_timeout": 2,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    },
    result_backend_transport_options={"global_keyprefix": "warehouse:", "result_chord_ordered": False},
    task_default_queue="stock",
    result_expires=60,
)


@app.task(name="add")
def add(one, other):
    return one + other


@app.task(name="total")
def total(numbers):
    return sum(numbers)


@app.task(name="mail.send")
def send_mail(to):
    return f"sent to {to}"


@app.task(name="collect")
def collect(results):
    return results


@app.task(name="wait")
def wait(seconds):
    time.sleep(seconds)
    return seconds


@app.task(name="fail")
def fail():
    raise ValueError("on purpose")


@app.task(name="flaky", bind=True, max_retries=3)
def flaky(self, failures):
    if self.request.retries < failures:
        raise self.retry(countdown=0.1)
    return self.request.retries


@app.task(name="progress", bind=True)
def progress(self):
    self.update_state(state=PROGRESS, meta={"done": 50})
    time.sleep(0.5)
    return "done"


@app.task(name="grow", bind=True)
def grow(self, number):
    """A task of a chord's header that adds another to it."""
    self.add_to_chord(add.s(number, 100))
    return number


@app.task(name="quiet", ignore_result=True)
def quiet():
    return "nobody asks"


@prefixed.task(name="count")
def count(number):
    return number + 1


@prefixed.task(name="count_up")
def count_up(numbers):
    return sum(numbers)


@prefixed.task(name="late", acks_late=True, bind=True)
def late(self):
    """Lasts for ever, unless another worker had it before."""
    if not self.request.delivery_info["redelivered"]:
        time.sleep(3600)
    return "redelivered"
