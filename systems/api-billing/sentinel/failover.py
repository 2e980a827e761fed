"""api-billing with its replica and its sentinel on this machine: a failover in a minute.

Starts the three with the settings of this folder, on free ports and without containers. Then
the application tops a balance up, through redis-py's Sentinel class and the document's webhooks.
The primary is killed (--how stop has it stand still instead, as a machine does that hangs); the
sentinel promotes the replica; the application finds it and goes on. The former primary comes
back as a replica. At the end every top-up is booked once: a webhook whose answer was lost, or
which no replica has, is delivered again, as payment providers do.

    $(tests/clients/install python) systems/api-billing/sentinel/failover.py --keyward target/release/keyward
"""

import argparse
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import redis
from redis.exceptions import ConnectionError, ReadOnlyError, ResponseError, TimeoutError
from redis.sentinel import MasterNotFoundError, Sentinel

HERE = Path(__file__).resolve().parent
SYSTEM = HERE.parent
NAME, DB = "api-billing", 2
PATIENCE_S = 60
TOP_UPS_EACH = 40

parser = argparse.ArgumentParser(description="Shows a failover, and ends with 0 if all was well.")
parser.add_argument("--keyward", default="keyward", help="the program")
parser.add_argument("--how", choices=["kill", "stop"], default="kill", help="what befalls it")
OPTIONS = parser.parse_args()
BEGAN = time.monotonic()


def tell(text):
    print(f"{time.monotonic() - BEGAN:5.1f} s  {text}", flush=True)


def until(what, is_so):
    """Waits until something is so."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            if is_so():
                return
        except (ConnectionError, TimeoutError, ResponseError, MasterNotFoundError, KeyError):
            pass
        time.sleep(0.1)
    sys.exit(f"{what} did not come within {PATIENCE_S} seconds")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Node:
    """A server with a folder and a port of its own."""

    def __init__(self, folder, stack):
        self.folder, self.port = Path(folder), free_port()
        # Sentinel has each server write its role into the file of its settings.
        self.settings = shutil.copy(SYSTEM / "redis.conf", folder)
        self.process = None
        stack.callback(self.end)

    def start(self, *more):
        files = [self.settings, SYSTEM / "keyward.toml"]
        where = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(
                [OPTIONS.keyward, "serve", *files, *where, *more], stdout=log, stderr=log
            )
        until(f"the server on port {self.port}", self.connect().ping)

    def connect(self):
        return redis.Redis(port=self.port, db=DB, decode_responses=True, socket_timeout=2)

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def start_sentinel(folder, primary, stack):
    """The sentinel, with a copy of its file in which this machine stands for the containers."""
    port = free_port()
    text = (HERE / "sentinel.conf").read_text()
    text = text.replace("port 26379", f"port {port}\nbind 127.0.0.1\ndir {folder}")
    text = text.replace("redis-master 6379", f"127.0.0.1 {primary.port}")
    path = Path(folder) / "sentinel.conf"
    path.write_text(text)
    with open(Path(folder) / "log", "w") as log:
        process = subprocess.Popen(["redis-sentinel", str(path)], stdout=log, stderr=log)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return Sentinel([("127.0.0.1", port)], socket_timeout=1, decode_responses=True)


def top_up(client, number):
    """Delivers a webhook until it is booked, and a replica has it if there is one."""
    keys = [f"webhook:paddle:{number}", "user:42", "transactions:42", "transactions:42:recent"]
    arguments = [f"txn_{number}", "topup", "0.10", "2025-12-04T15:31:00Z"]
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            calls = client.pipeline(transaction=False)
            calls.fcall("process_webhook", len(keys), *keys, *arguments)
            calls.execute_command("WAIT", 1, 500)
            _, replicas = calls.execute()
            if replicas > 0:
                return
        except (ConnectionError, TimeoutError, ReadOnlyError, MasterNotFoundError):
            time.sleep(0.1)
        except ResponseError as error:
            # It is not what it was: it has begun to follow another, or to load.
            if not any(code in str(error) for code in ("UNBLOCKED", "READONLY", "LOADING")):
                raise
            time.sleep(0.1)
    sys.exit(f"the top-up {number} is not booked")


def main(stack):
    folders = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(3)]
    primary, replica = Node(folders[0], stack), Node(folders[1], stack)
    primary.start()
    replica.start("--replicaof", f"127.0.0.1 {primary.port}")
    sentinel = start_sentinel(folders[2], primary, stack)
    until("the sentinel's look at the replica", lambda: sentinel.discover_slaves(NAME))
    tell(f"the sentinel watches {primary.port}, which {replica.port} follows")

    client = sentinel.master_for(NAME, db=DB, socket_timeout=2)
    keys = ["user:42", "api_key:kikuai_a1b2"]
    client.fcall("create_user", 2, *keys, "sha256:9f86d0", "2025-12-01T10:00:00Z", "@john")
    booked = 0
    for number in range(TOP_UPS_EACH):
        top_up(client, number)
        booked += 1
    tell(f"{booked} top-ups are booked, and the replica has them")

    primary.signal(signal.SIGKILL if OPTIONS.how == "kill" else signal.SIGSTOP)
    struck = time.monotonic()
    # The application does not know: it delivers the next webhook until somebody books it.
    booking = threading.Thread(target=top_up, args=(client, booked))
    booking.start()
    until("the failover", lambda: sentinel.discover_master(NAME)[1] == replica.port)
    until("the new primary", lambda: replica.connect().info("replication")["role"] == "master")
    tell(f"{replica.port} leads, {time.monotonic() - struck:.1f} s after {primary.port} was struck")

    if OPTIONS.how == "kill":
        primary.process.wait()
        primary.start()
    else:
        primary.signal(signal.SIGCONT)
    until("the return", lambda: primary.connect().info("replication")["master_link_status"] == "up")
    tell(f"{primary.port} is back, and follows {replica.port}")

    booking.join()
    booked += 1
    tell(f"the top-up that waited is booked, {time.monotonic() - struck:.1f} s after that")
    for number in range(booked, 2 * TOP_UPS_EACH):
        top_up(client, number)
        booked += 1
    cents = round(float(client.hget("user:42", "balance_usd")) * 100)
    transactions = client.llen("transactions:42")
    tell(f"{booked} top-ups of 0.10: a balance of {cents / 100:.2f} in {transactions} transactions")
    if cents != 10 * booked or transactions != booked:
        sys.exit("a top-up was lost, or booked twice")
    until("the same rows", lambda: primary.connect().llen("transactions:42") == transactions)


if __name__ == "__main__":
    with ExitStack() as stack:
        main(stack)
