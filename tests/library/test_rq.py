"""RQ with real workers: jobs, dependencies, schedules, retries, results, groups, cron, commands."""

import os
import subprocess
import sys
import unittest
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path

import redis
from rq import Callback, Queue, Repeat, Retry, Worker
from rq.command import send_kill_horse_command, send_shutdown_command, send_stop_job_command
from rq.cron import CronScheduler, get_cron_job_ids
from rq.exceptions import DuplicateJobError
from rq.group import Group
from rq.job import Dependency, Job, JobStatus
from rq.registry import FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry
from rq.results import Result
from rq.suspension import resume, suspend

import rq_jobs
from patience import PATIENCE, eventually

HERE = Path(__file__).resolve().parent
URL = f"redis://127.0.0.1:{rq_jobs.PORT}"
server = redis.Redis(port=rq_jobs.PORT)


def run(*arguments):
    """A process of RQ's own command line."""
    program = "import sys; from rq.cli import main; sys.exit(main())"
    command = [sys.executable, "-W", "ignore", "-c", program, *arguments, "--url", URL]
    environment = dict(os.environ, PYTHONPATH=str(HERE))
    return subprocess.Popen(command, cwd=HERE, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class RQ(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        names = ["ann", "bob"]
        options = ["default", "mail", "--with-scheduler", "--maintenance-interval", "1"]
        cls.workers = [run("worker", *options, "--name", name) for name in names]
        eventually(lambda: len(Worker.all(connection=server)) == 2, "the workers do not start")

    @classmethod
    def tearDownClass(cls):
        for worker in cls.workers:
            worker.terminate()
        for worker in cls.workers:
            worker.wait(PATIENCE)

    def setUp(self):
        self.queue = Queue("default", connection=server)

    def finish(self, job, status=JobStatus.FINISHED):
        eventually(lambda: job.get_status() == status, f"{job.id} is {job.get_status()}, not {status}")
        job.refresh()
        return job.return_value()

    def listen(self):
        heard = server.pubsub(ignore_subscribe_messages=True)
        heard.subscribe("callbacks")
        self.addCleanup(heard.close)
        return heard

    @staticmethod
    def hears(heard, expected):
        message = heard.get_message(timeout=0.1)
        return message and message["data"] == expected.encode()

    def test_the_library_names_this_version(self):
        text = (HERE.parent.parent / "library" / "rq.toml").read_text()
        self.assertIn(f"RQ {version('rq')}", text)

    def test_jobs_and_their_results(self):
        job = self.queue.enqueue(rq_jobs.add, 1, 2, result_ttl=60, ttl=300, job_timeout=30, description="a sum", meta={"a": 1})
        result = job.latest_result(timeout=PATIENCE)
        self.assertEqual((result.type, result.return_value), (Result.Type.SUCCESSFUL, 3))
        eventually(lambda: 0 < server.ttl(job.key) <= 60, "the job does not expire")
        self.assertTrue(0 < server.ttl(f"rq:results:{job.id}") <= 60)
        job.meta["seen"] = True
        job.save_meta()
        self.assertEqual(Job.fetch(job.id, connection=server).meta, {"a": 1, "seen": True})
        self.assertIn(job.id, FinishedJobRegistry(queue=self.queue))
        forever = self.queue.enqueue(rq_jobs.add, 1, 1, result_ttl=-1, at_front=True)
        self.assertEqual(self.finish(forever), 2)
        self.assertEqual(server.ttl(f"rq:results:{forever.id}"), -1)
        forever.delete()

    def test_failures_callbacks_and_requeueing(self):
        heard = self.listen()
        callback = Callback(rq_jobs.note)
        job = self.queue.enqueue(rq_jobs.fail, on_failure=callback, on_success=callback, on_stopped=callback)
        self.finish(job, JobStatus.FAILED)
        self.assertIn("on purpose", job.latest_result().exc_string)
        self.assertIn(job.id, FailedJobRegistry(queue=self.queue))
        eventually(lambda: self.hears(heard, f"{job.id} 3"), "the callback does not run")
        job.requeue()
        eventually(lambda: Result.count(job) == 2, "it is not run again")
        done = self.queue.enqueue(rq_jobs.add, 1, 1, on_success=callback)
        eventually(lambda: self.hears(heard, f"{done.id} 1"), "the callback does not run")

    def test_retries(self):
        job = self.queue.enqueue(rq_jobs.fail, retry=Retry(max=2, interval=[0, 1], enqueue_at_front=True))
        eventually(lambda: job.get_status() == JobStatus.FAILED and job.refresh() is None and job.retries_left == 0, "it is not retried")
        asking = self.queue.enqueue(rq_jobs.ask_again, 1)
        eventually(lambda: any(one.type == Result.Type.MAX_RETRIES_EXCEEDED for one in asking.results()), "it asks no more")
        self.assertIn(Result.Type.RETRIED, [one.type for one in asking.results()])

    def test_dependencies(self):
        first = self.queue.enqueue(rq_jobs.sleep, 1)
        bad = self.queue.enqueue(rq_jobs.fail)
        second = self.queue.enqueue(rq_jobs.add, 2, 3, depends_on=[first, Dependency(bad, allow_failure=True)])
        self.assertEqual(second.get_status(), JobStatus.DEFERRED)
        self.assertEqual(server.smembers(f"rq:job:{first.id}:dependents"), {second.id.encode()})
        self.assertEqual(self.finish(second), 5)

    def test_later_and_repeated(self):
        soon = self.queue.enqueue_in(timedelta(seconds=1), rq_jobs.add, 1, 4)
        self.assertEqual(self.finish(soon), 5)
        far = self.queue.enqueue_at(datetime.now(timezone.utc) + timedelta(hours=1), rq_jobs.add, 1, 4)
        self.assertIn(far.id, ScheduledJobRegistry(queue=self.queue))
        far.cancel()
        self.assertEqual(far.get_status(), JobStatus.CANCELED)
        repeated = self.queue.enqueue(rq_jobs.add, 1, 1, repeat=Repeat(times=2, interval=[1, 1]))
        eventually(lambda: Result.count(repeated) == 3, "it is not repeated")

    def test_once(self):
        self.queue.enqueue(rq_jobs.add, 1, 1, job_id="once", unique=True)
        with self.assertRaises(DuplicateJobError):
            self.queue.enqueue(rq_jobs.add, 1, 1, job_id="once", unique=True)

    def test_many_and_groups(self):
        data = [Queue.prepare_data(rq_jobs.add, (number, 1)) for number in range(5)]
        jobs = self.queue.enqueue_many(data)
        self.assertEqual([self.finish(job) for job in jobs], [1, 2, 3, 4, 5])
        group = Group.create(connection=server, name="shop:7")
        group.enqueue_many(self.queue, [Queue.prepare_data(rq_jobs.add, (1, 1)) for _ in range(3)])
        for job in group.get_jobs():
            self.finish(job)
        self.assertEqual(len(group.get_jobs()), 3)
        group.delete_job(group.get_jobs()[0].id)
        self.assertEqual(len(group.get_jobs()), 2)

    def test_commands_to_workers(self):
        worker = run("worker", "slow", "--name", "eve")
        slow = Queue("slow", connection=server)
        job = slow.enqueue(rq_jobs.sleep, 60, on_stopped=Callback(rq_jobs.note))
        eventually(lambda: job.get_status() == JobStatus.STARTED and job.refresh() is None and job.worker_name, "it does not start")
        eventually(lambda: server.pubsub_numsub("rq:pubsub:eve")[0][1] == 1, "the worker does not listen")
        send_stop_job_command(server, job.id)
        self.finish(job, JobStatus.STOPPED)
        other = slow.enqueue(rq_jobs.sleep, 60)
        eventually(lambda: other.get_status() == JobStatus.STARTED, "it does not start")
        send_kill_horse_command(server, "eve")
        self.finish(other, JobStatus.FAILED)
        send_shutdown_command(server, "eve")
        self.assertEqual(worker.wait(PATIENCE), 0)
        self.assertTrue(server.hexists("rq:worker:eve", "death"))

    def test_workers_are_suspended(self):
        suspend(server, ttl=60)
        jobs = [self.queue.enqueue(rq_jobs.add, 1, 1) for _ in range(5)]
        # Each finds it out when it looks for its next job.
        for name in ("ann", "bob"):
            eventually(lambda: server.hget(f"rq:worker:{name}", "state") == b"suspended", f"{name} goes on")
        self.assertGreater(self.queue.count, 0)
        resume(server)
        self.assertEqual([self.finish(job) for job in jobs], [2] * 5)

    def test_cron(self):
        process = run("cron", str(HERE / "rq_jobs.py"))
        eventually(lambda: len(get_cron_job_ids("every second", server)) >= 2, "no job is made")
        self.assertEqual(len(CronScheduler.all(server)), 1)
        process.terminate()
        process.wait(PATIENCE)

    def test_a_worker_dies(self):
        worker = run("worker", "lost", "--name", "max")
        lost = Queue("lost", connection=server)
        job = lost.enqueue(rq_jobs.die, worker.pid)
        worker.wait(PATIENCE)
        self.assertEqual(job.get_status(), JobStatus.STARTED)
        job.cancel()
        server.rpush("rq:queue:lost:intermediate", job.id)
        lost.intermediate_queue.cleanup(Worker("lost", connection=server), lost)
        lost.delete(delete_jobs=True)
        self.assertEqual(lost.count, 0)


if __name__ == "__main__":
    unittest.main()
