"""What is proved: the files that a program's keyspace includes, and the tests that run it."""

import socket
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Program:
    name: str
    # Files of tests, which run at the same time; `file::Name,Name` for some of a file.
    tests: list
    # Files of the library, and values of their variables.
    includes: list
    # Whether ./test runs it; the others need `--all`.
    is_quick: bool = True
    # Patterns that the tests leave alone, as globs; each with its reason.
    untried: list = field(default_factory=list)


CELERY = [
    ("celery", {"queue": "{queue:celery|mail}"}),
    (
        "celery",
        {
            "prefix": "warehouse:",
            "result_prefix": "warehouse:",
            "queue": "{queue:stock|parcels}",
            "task_id": "rest",
            "chord_type": "list",
            "result_ttl": "60s",
        },
    ),
]
# The same keys again, under other names.
CELERY_UNTRIED = ["warehouse:celery-taskset-meta-{id:uuid}", "warehouse:*.t", "warehouse:*{priority:uint}"]
DJANGO = [("django", {}), ("django", {"prefix": "shop"})]
# Fragments of templates are in the default cache, unless there is one of that name.
DJANGO_UNTRIED = ["shop:*:template.cache.*"]
SIDEKIQ = [("sidekiq", {})]
# The cache with the prefix has keys such as `shop:1:…`, so Sidekiq must not run on a host
# that is called `shop`: the project names its hosts.
SIDEKIQ_HERE = [("sidekiq", {"host": socket.gethostname()})]

PROGRAMS = {
    program.name: program
    for program in [
        Program("celery", ["test_celery.py"], CELERY, is_quick=False, untried=CELERY_UNTRIED),
        Program("django", ["test_django.py"], DJANGO, untried=DJANGO_UNTRIED),
        Program(
            "huey",
            ["test_huey.py"],
            [
                ("huey", {"name": "{name:plain|expiring}"}),
                ("huey", {"name": "{name:urgent|urgentexpiring}", "queue_type": "zset"}),
            ],
            # An instance of each kind of storage; those with priorities write the queue.
            untried=[
                f"huey.{key}.{{name:urgent|urgentexpiring}}*" for key in ("schedule", "counters", "notify", "c", "r")
            ],
        ),
        Program(
            "flask-limiter",
            ["test_flask_limiter.py"],
            [
                ("flask-limiter", {}),
                ("flask-limiter", {"prefix": "MOVING", "window": "list"}),
                ("flask-limiter", {"prefix": "USERS", "subject": "shop/{user}"}),
            ],
            # An application has one strategy, so one of these.
            untried=["MOVING:{{*", "USERS:{{*"],
        ),
        Program(
            "bull",
            ["bull.test.js"],
            [("bull", {}), ("bull", {"prefix": "{{shop}}", "queue": "orders", "id": "order-{id:uint}"})],
            # The other queue has plain jobs only.
            untried=[
                f"{{{{shop}}}}:orders:{key}"
                for key in ("*delayed", "priority", "repeat*", "de:*", "limiter*", "metrics:*", "*:logs", "meta*", "{uuid:uuid}*", "stalled")
            ],
        ),
        Program(
            "bullmq",
            ["bullmq.test.js"],
            [("bullmq", {}), ("bullmq", {"prefix": "{{shop}}", "queue": "orders", "id": "order-{id:uint}"})],
            # The other queue has plain jobs only.
            untried=[
                *(
                    f"{{{{shop}}}}:orders:{key}"
                    for key in ("pc", "prioritized", "delayed", "waiting-children", "stalled*", "limiter", "repeat*", "d[en]:*", "metrics:*", "{flow_id:uuid}*")
                ),
                *(f"{{{{shop}}}}:orders:order-{{id:uint}}:{key}" for key in ("logs", "dependencies", "processed", "failed", "unsuccessful")),
            ],
        ),
        Program("rq", ["test_rq.py"], [("rq", {})]),
        Program("sidekiq", ["sidekiq_test.rb"], SIDEKIQ, is_quick=False),
        Program(
            "connect-redis",
            ["connect_redis.test.js"],
            [("connect-redis", {}), ("connect-redis", {"prefix": "staff:", "ttl": "1h", "ttl_max": "1h"})],
        ),
        Program(
            "rate-limiter-flexible",
            ["rate_limiter_flexible.test.js"],
            [("rate-limiter-flexible", {}), ("rate-limiter-flexible", {"prefix": "{limiter:minute|hour}"})],
        ),
        # One database of a whole project. Not `cache.clear()`, which empties all of it.
        Program(
            "project",
            ["test_celery.py", "test_django.py::Caches,DjangoRedis,Site", "sidekiq_test.rb"],
            CELERY + DJANGO + SIDEKIQ_HERE,
            is_quick=False,
            untried=CELERY_UNTRIED + DJANGO_UNTRIED,
        ),
    ]
}
