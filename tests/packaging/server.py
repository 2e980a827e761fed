"""A server that a test starts, and ends with it."""

import os
import socket
import subprocess
import time
from pathlib import Path

KEYWARD = os.environ["KEYWARD"]
ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 20


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def settings_in(folder, name):
    """A copy of packaged settings whose places are in a directory of the test's own."""
    text = (ROOT / "packaging" / name).read_text()
    assert "\ndir /var/lib/keyward\n" in text or "\ndir /data\n" in text, name
    text = text.replace("\ndir /var/lib/keyward\n", f"\ndir {folder}\n")
    text = text.replace("\ndir /data\n", f"\ndir {folder}\n")
    text = text.replace("/var/log/keyward/", f"{folder}/log/")
    (Path(folder) / "log").mkdir(mode=0o750, exist_ok=True)
    copy = Path(folder) / name
    copy.write_text(text)
    return str(copy)


class Server:
    """`keyward ARGUMENTS --port PORT`, in a directory."""

    def __init__(self, arguments, directory, environment=None):
        self.port = free_port()
        self.output = Path(directory) / "output"
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(
                [KEYWARD, *arguments, "--port", str(self.port)],
                cwd=directory,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def wait_until_healthy(self, environment=None):
        """By the command that a container checks its health with."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"it ended: {self.output.read_text()}")
            asked = subprocess.run(
                [KEYWARD, "ping", f"127.0.0.1:{self.port}"],
                env={**os.environ, **(environment or {})},
                capture_output=True,
                check=False,
            )
            if asked.returncode == 0:
                return
            time.sleep(0.05)
        raise AssertionError(f"it does not serve: {self.output.read_text()}")

    def ask(self, *words, password=None):
        """What redis-cli prints."""
        login = ["--no-auth-warning", "-a", password] if password else []
        command = ["redis-cli", "-p", str(self.port), *login, *words]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
