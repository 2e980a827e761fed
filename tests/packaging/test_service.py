"""The unit, its settings and its log."""

import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from server import KEYWARD, PATIENCE_S, ROOT, Server, settings_in

PACKAGING = ROOT / "packaging"
# systemd's measure of exposure, of 10; it calls below 2 "OK".
EXPOSURE_MAX = 1.5


def settings(text):
    """Names and values of a file in redis.conf's form."""
    lines = [line.strip() for line in text.splitlines()]
    return dict(line.split(maxsplit=1) for line in lines if line and line[0] != "#")


class Unit(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        # The program is not installed: the unit names the one that was built.
        text = (PACKAGING / "keyward.service").read_text()
        self.assertIn("ExecStart=/usr/bin/keyward serve ", text)
        self.unit = Path(self.folder.name) / "keyward.service"
        self.unit.write_text(text.replace("=/usr/bin/keyward ", f"={KEYWARD} "))

    def analyze(self, *arguments):
        command = ["systemd-analyze", *arguments, str(self.unit)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False,
            env={**os.environ, "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""},
        )

    def own_complaints(self, verified):
        """Those about the unit; the machine's own units may have some."""
        said = verified.stderr + verified.stdout
        return [line for line in said.splitlines() if "keyward" in line and "man" not in line.lower()]

    def test_systemd_finds_nothing_wrong_with_the_unit(self):
        verified = self.analyze("verify", "--man=no")
        self.assertEqual(self.own_complaints(verified), [])
        # It would say so.
        self.unit.write_text(self.unit.read_text() + "\n[Service]\nProtectSytem=strict\n")
        self.assertNotEqual(self.own_complaints(self.analyze("verify", "--man=no")), [])

    def test_the_unit_exposes_little(self):
        judged = self.analyze("security", "--offline=true", f"--threshold={int(EXPOSURE_MAX * 10)}")
        self.assertEqual(judged.returncode, 0, judged.stdout[-2000:] + judged.stderr)
        level = re.search(r"Overall exposure level for \S+: ([0-9.]+)", judged.stdout)
        self.assertLessEqual(float(level.group(1)), EXPOSURE_MAX)

    def test_the_unit_has_the_places_that_the_settings_name(self):
        unit = self.unit.read_text()
        for line in ["Type=notify", "User=keyward", "ProtectSystem=strict", "NoNewPrivileges=yes"]:
            self.assertIn(f"\n{line}\n", unit)
        values = settings((PACKAGING / "keyward.conf").read_text())
        self.assertIn("\nStateDirectory=keyward\n", unit)
        self.assertEqual(values["dir"], "/var/lib/keyward")
        self.assertIn("\nLogsDirectory=keyward\n", unit)
        self.assertEqual(values["logfile"], "/var/log/keyward/keyward.log")
        self.assertIn("/var/log/keyward/*.log {", (PACKAGING / "keyward.logrotate").read_text())


class SyncUnit(Unit):
    """The unit of `keyward sync`, by the same measures."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        text = (PACKAGING / "keyward-sync.service").read_text()
        self.assertIn("ExecStart=/usr/bin/keyward sync ", text)
        self.unit = Path(self.folder.name) / "keyward-sync.service"
        self.unit.write_text(text.replace("=/usr/bin/keyward ", f"={KEYWARD} "))

    def test_the_unit_has_the_places_that_the_settings_name(self):
        unit = self.unit.read_text()
        for line in ["Type=exec", "User=keyward", "ProtectSystem=strict", "NoNewPrivileges=yes"]:
            self.assertIn(f"\n{line}\n", unit)
        self.assertIn("\nEnvironmentFile=-/etc/default/keyward-sync\n", unit)
        default = (PACKAGING / "keyward-sync.default").read_text()
        self.assertIn("\nKEYWARD_SYNC=", default)


class Settings(unittest.TestCase):
    def test_the_settings_are_served_and_the_manager_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(manager.close)
            manager.settimeout(PATIENCE_S)
            manager.bind(f"{folder}/notify")
            conf = settings_in(folder, "keyward.conf")
            environment = {"NOTIFY_SOCKET": f"{folder}/notify"}
            with Server(["serve", conf], folder, environment) as server:
                self.hear(manager, "READY=1")
                self.assertEqual(server.ask("PING"), "PONG")
                for name, value in settings(Path(conf).read_text()).items():
                    # The port is the test's own.
                    if name != "port":
                        shown = server.ask("CONFIG", "GET", name).split("\n", 1)
                        self.assertEqual(shown, [name, value])
                server.process.send_signal(signal.SIGTERM)
                self.hear(manager, "STOPPING=1")
                self.assertEqual(server.process.wait(PATIENCE_S), 0)
            log = (Path(folder) / "log" / "keyward.log").read_text()
            self.assertIn("Ready to accept connections on 127.0.0.1:", log)

    def test_a_redis_conf_in_their_place_is_served_as_the_unit_starts_it(self):
        unit = (PACKAGING / "keyward.service").read_text()
        words = re.search(r"(?m)^ExecStart=/usr/bin/keyward (.*)$", unit).group(1).split()
        with tempfile.TemporaryDirectory() as folder:
            manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(manager.close)
            manager.settimeout(PATIENCE_S)
            manager.bind(f"{folder}/notify")
            conf = Path(folder) / "redis.conf"
            conf.write_text(f"daemonize yes\nsupervised no\ndir {folder}\npidfile {folder}/pid\n")
            schema = Path(folder) / "shop"
            schema.mkdir()
            (schema / "keyward.toml").write_text(
                '[keyspace]\nname = "shop"\n[key."a"]\ntype = "string"\nttl = "none"\n'
            )
            at = words.index("$KEYWARD_SCHEMAS")
            words[at:at + 1] = [str(schema)]
            words[words.index("/etc/keyward/keyward.conf")] = str(conf)
            with Server(words, folder, {"NOTIFY_SOCKET": f"{folder}/notify"}) as server:
                self.hear(manager, "READY=1")
                self.assertIsNone(server.process.poll())
                self.assertIn("SCHEMA", server.ask("SET", "b", "1"))

    def hear(self, manager, line):
        while line not in manager.recv(4096).decode().splitlines():
            pass

    def test_the_settings_of_a_container_are_served_and_guarded(self):
        with tempfile.TemporaryDirectory() as folder:
            with Server(["serve", settings_in(folder, "container.conf")], folder) as server:
                server.wait_until_healthy()
                self.assertEqual(server.ask("CONFIG", "GET", "bind"), "bind\n* -::*")
                self.assertIn("protected mode turns away", server.output.read_text())


class Logrotate(unittest.TestCase):
    """logrotate itself, by the packaged file."""

    def rotate(self, folder, more=""):
        text = (PACKAGING / "keyward.logrotate").read_text()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        group = subprocess.run(["id", "-gn"], capture_output=True, text=True, check=True).stdout.strip()
        text = text.replace("/var/log/keyward/", f"{folder}/log/")
        text = text.replace("su keyward keyward", f"su {user} {group}")
        text = text.replace("nocreate", f"nocreate\n    {more}")
        conf = Path(folder) / "logrotate.conf"
        conf.write_text(text)
        conf.chmod(0o644)
        command = ["logrotate", "--force", "--state", f"{folder}/state", str(conf)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def check(self, more):
        with tempfile.TemporaryDirectory() as folder:
            conf = settings_in(folder, "keyward.conf")
            log = Path(folder) / "log" / "keyward.log"
            with Server(["serve", conf, "--enable-debug-command", "yes"], folder) as server:
                server.wait_until_healthy()
                server.ask("DEBUG", "LOG", "before rotation")
                self.rotate(folder, more)
                server.ask("DEBUG", "LOG", "after rotation")
                old = Path(f"{log}.1").read_text()
                self.assertIn("before rotation", old)
                self.assertNotIn("after rotation", old)
                new = log.read_text()
                self.assertIn("after rotation", new)
                self.assertNotIn("before rotation", new)
                self.assertNotIn("\0", new)

    def test_a_file_that_is_moved(self):
        self.check("")

    def test_a_file_that_is_copied_and_cut_off(self):
        self.check("copytruncate")


if __name__ == "__main__":
    unittest.main()
