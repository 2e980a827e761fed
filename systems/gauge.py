"""What the figures of all systems share: servers of their own, loading, measuring."""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import redis

MB = 1_000_000


class Server:
    """A server of its own, on a free port, which ends with the block."""

    def __init__(self, program, arguments):
        self.command = [*program, "--bind", "127.0.0.1", "--save", "", *arguments]

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        # Another program may take the port first: then the server ends, and another is tried.
        for _ in range(5):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
            own = ["--port", str(self.port), "--dir", self.folder.name]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self.process = subprocess.Popen([*self.command, *own], **quiet)
            if self.is_ready():
                self.empty_bytes = self.resident_bytes()
                self.empty_used_bytes = self.used_bytes()
                return self
        raise SystemExit(f"{self.command[0]} does not start")

    def is_ready(self):
        """Waits until it answers, or has ended."""
        while self.process.poll() is None:
            try:
                self.client().ping()
                return self.process.poll() is None
            except redis.ConnectionError:
                time.sleep(0.05)
        return False

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def client(self, db=0):
        return redis.Redis(port=self.port, db=db, decode_responses=True)

    def resident_bytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1024

    def used_bytes(self):
        return self.client().info("memory")["used_memory"]

    def settle(self):
        """Waits until memory no longer falls: Keyward packs rows when nobody has
        used them for some seconds, and gives what is free then back to the
        system within ten seconds."""
        client, least = self.client(), float("inf")
        while (total := client.info("memory")["used_memory"] + self.resident_bytes()) < least - MB:
            least = total
            time.sleep(8)

    def load(self, db, commands):
        """Sends commands whose replies have one line each; answers how many there were and
        the seconds it took."""
        stream = socket.create_connection(("127.0.0.1", self.port))
        counted = threading.Event()
        replies = {"count": 0}

        def count():
            rest = b""
            while not counted.is_set() or replies["count"] < replies["wanted"]:
                received = stream.recv(1 << 20)
                if not received:
                    raise SystemExit("the server closed the connection")
                *lines, rest = (rest + received).split(b"\r\n")
                refused = next((line for line in lines if line.startswith(b"-")), None)
                if refused:
                    print(refused.decode(), file=sys.stderr)
                    os._exit(1)
                replies["count"] += len(lines)

        reader = threading.Thread(target=count, daemon=True)
        reader.start()
        start, sent, batch = time.monotonic(), 1, [encoded(("SELECT", str(db)))]
        for command in commands:
            batch.append(encoded(command))
            if len(batch) == 2000:
                sent += len(batch)
                stream.sendall("".join(batch).encode())
                batch.clear()
        sent += len(batch) - 1
        replies["wanted"] = sent + 1
        counted.set()
        batch.append(encoded(("PING",)))
        stream.sendall("".join(batch).encode())
        reader.join()
        stream.close()
        return sent - 1, time.monotonic() - start


def encoded(command):
    """A command in RESP. All texts here are ASCII: characters are bytes."""
    words = [f"*{len(command)}\r\n"]
    for word in command:
        words.append(f"${len(word)}\r\n{word}\r\n")
    return "".join(words)


def latency(call, calls):
    """The p50 and p99 of a call in milliseconds, as the client sees them."""
    times = []
    for number in range(calls):
        start = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - start) * 1000)
    cuts = statistics.quantiles(times, n=100)
    return f"{cuts[49]:.2f} / {cuts[98]:.2f} ms"


def memory(server, count, **claims):
    """The lines about memory, with what the document claims."""
    server.settle()
    used = server.used_bytes()
    resident = server.resident_bytes() - server.empty_bytes
    return [
        ("keys", claims.get("keys", ""), f"{count:,}"),
        (
            "used_memory",
            claims.get("used_memory", ""),
            f"{used / MB:,.0f} MB, {used / count:.0f} bytes a key",
        ),
        ("used_memory above an empty server", "", f"{used - server.empty_used_bytes:,} bytes"),
        ("resident", "", f"{resident / MB:,.0f} MB, {resident / count:.0f} bytes a key"),
    ]


def hset(key, **fields):
    """An HSET of these fields."""
    return ("HSET", key, *(word for field in fields.items() for word in field))
