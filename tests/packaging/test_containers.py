"""The container file and compose files, as far as they can be tried without containers:
their instructions are read, and their commands are run."""

import json
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import yaml
from server import KEYWARD, ROOT, Server, settings_in

PASSWORD = "a-long-secret"


def instructions():
    """The instructions of the container file, by stage."""
    text = (ROOT / "packaging/Containerfile").read_text()
    text = re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    stages = []
    for name, rest in lines:
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, " ".join(rest.split())))
    return stages


class Containerfile(unittest.TestCase):
    def setUp(self):
        self.build, self.final = instructions()

    def value(self, name):
        return [rest for given, rest in self.final if given == name]

    def test_it_runs_as_nobody_special_and_checks_its_health(self):
        self.assertEqual(self.value("USER"), ["999:999"])
        # Nothing is done as root behind that but what is written down.
        names = [name for name, _ in self.final]
        self.assertNotIn("RUN", names[names.index("USER"):])
        health = self.value("HEALTHCHECK")[0]
        command = json.loads(health.split("CMD ", 1)[1])
        self.assertEqual(command[:2], ["keyward", "ping"])
        asked = subprocess.run([KEYWARD, *command[1:], "--help"], capture_output=True, check=False)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        within = re.search(r"--timeout=(\d+)s", health).group(1)
        self.assertLess(int(command[3].removesuffix("s")), int(within))

    def test_it_builds_what_is_shipped_of_files_that_are_there(self):
        built = [rest for name, rest in self.build if name == "RUN"][0]
        self.assertIn("cargo build --locked --profile dist --package keyward", built)
        self.assertIn("strip ", built)
        sources = [rest.split()[:-1] for rest in self.value("COPY") if "--from" not in rest]
        for source in sum(sources, []):
            self.assertTrue((ROOT / source).exists(), source)
        rust = re.search(r"rust:([0-9.]+)", self.build[0][1]).group(1)
        wanted = re.search(r'rust-version = "([0-9.]+)"', (ROOT / "Cargo.toml").read_text()).group(1)
        self.assertEqual(rust, wanted)

    def test_what_its_head_says_to_run_is_healthy(self):
        text = (ROOT / "packaging/Containerfile").read_text()
        told = re.search(r"docker run ((?:.*\\\n)*.*)\n#\n", text).group(1)
        words = re.sub(r"\\\n#", " ", told).split()
        environment = dict([words[words.index("-e") + 1].split("=", 1)])
        command = words[words.index("serve"):]
        health = json.loads(self.value("HEALTHCHECK")[0].split("CMD ", 1)[1])[1:]
        with tempfile.TemporaryDirectory() as folder:
            command[1] = settings_in(folder, "container.conf")
            with Server(command, folder, environment) as server:
                server.wait_until_healthy(environment)
                health.insert(1, f"127.0.0.1:{server.port}")
                for given, code in [(environment, 0), ({}, 1)]:
                    asked = subprocess.run([KEYWARD, *health], env=given, check=False,
                                           capture_output=True, text=True)
                    self.assertEqual(asked.returncode, code, asked.stderr)
        by_tls = re.search(r"--health-cmd 'keyward (.*)'", text).group(1).split()
        asked = subprocess.run([KEYWARD, *by_tls, "--help"], capture_output=True, check=False)
        self.assertEqual(asked.returncode, 0, asked.stderr)

    def test_its_command_serves(self):
        entry, command = (json.loads(self.value(name)[0]) for name in ["ENTRYPOINT", "CMD"])
        self.assertEqual(entry, ["keyward"])
        copies = [rest.split() for rest in self.value("COPY")]
        places = {target: source[0] for *source, target in copies}
        self.assertEqual(places[command[1]], "packaging/container.conf")
        with tempfile.TemporaryDirectory() as folder:
            command[1] = settings_in(folder, "container.conf")
            with Server(command, folder) as server:
                server.wait_until_healthy()


class Compose(unittest.TestCase):
    def test_every_system_whose_document_has_one_has_one(self):
        found = sorted(path.parent.name for path in ROOT.glob("systems/*/docker-compose.yml"))
        self.assertEqual(found, ["api-billing"])

    def services(self, file="docker-compose.yml"):
        text = (ROOT / "systems/api-billing" / file).read_text()
        text = re.sub(r"\$\{KEYWARD_PASSWORD:\?[^}]*\}", PASSWORD, text)
        self.assertNotIn("${", text)
        return yaml.safe_load(text)

    def test_its_parts_name_each_other(self):
        compose = self.services()
        for name, service in compose["services"].items():
            version = re.search(r'(?m)^version = "(.*)"', (ROOT / "Cargo.toml").read_text()).group(1)
            self.assertEqual(service["image"], f"keyward:{version}", name)
            for volume in service["volumes"]:
                source = volume.split(":")[0]
                self.assertTrue(source == "." or source in compose["volumes"], volume)
            self.assertNotIn("ports", service)
        build = compose["services"]["keyward"]["build"]
        context = (ROOT / "systems/api-billing" / build["context"]).resolve()
        self.assertEqual(context, ROOT)
        self.assertTrue((context / build["dockerfile"]).exists())

    def test_the_commands_serve_the_system_and_back_it_up(self):
        services = self.services()["services"]
        system = str(ROOT / "systems/api-billing")
        with tempfile.TemporaryDirectory() as folder:
            def here(word):
                word = word.replace("/etc/keyward/api-billing", system)
                return {"/data": folder, "/backups": f"{folder}/backups"}.get(word, word)

            keyward = services["keyward"]
            environment = keyward["environment"]
            with Server([here(word) for word in keyward["command"]], folder, environment) as server:
                server.wait_until_healthy(environment)
                self.assertIn("clients are served who give a password", server.output.read_text())
                for name, value in [("appendonly", "yes"), ("dir", folder)]:
                    shown = server.ask("CONFIG", "GET", name, password=PASSWORD)
                    self.assertEqual(shown, f"{name}\n{value}")
                refused = server.ask("-n", "2", "SET", "nothing:like:this", "x", password=PASSWORD)
                self.assertIn("SCHEMA", refused)
                backup = services["backup"]
                words = [here(word) for word in backup["command"]]
                words[words.index("keyward")] = "127.0.0.1"
                # Once is enough here.
                words = words[:words.index("--every")] + ["--port", str(server.port)]
                done = subprocess.run(
                    [KEYWARD, *words], env=backup["environment"], capture_output=True,
                    text=True, check=False,
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                backups = [path.name for path in Path(folder, "backups").glob("*.rdb.zst")]
                self.assertEqual(len(backups), 1, backups)
                self.assertTrue(backups[0].startswith("api-billing-"), backups)

    def test_the_set_with_a_sentinel_names_its_parts_and_follows(self):
        compose = self.services("sentinel/docker-compose.yml")
        services = compose["services"]
        self.assertEqual(sorted(services), ["redis-master", "redis-replica", "sentinel"])
        system = ROOT / "systems/api-billing"
        version = re.search(r'(?m)^version = "(.*)"', (ROOT / "Cargo.toml").read_text()).group(1)
        for name, service in services.items():
            self.assertNotIn("ports", service)
            for volume in service["volumes"]:
                source = volume.split(":")[0]
                is_there = source in compose["volumes"] or (system / "sentinel" / source).exists()
                self.assertTrue(is_there, volume)
            if name != "sentinel":
                self.assertEqual(service["image"], f"keyward:{version}", name)
                self.assertEqual(service["hostname"], name)
        build = services["redis-master"]["build"]
        self.assertEqual((system / "sentinel" / build["context"]).resolve(), ROOT)
        watched = re.search(r"(?m)^sentinel monitor (\S+) (\S+) 6379 1$",
                            (system / "sentinel/sentinel.conf").read_text())
        self.assertEqual(watched.groups(), ("api-billing", "redis-master"))
        self.assertIn("auth-pass api-billing", " ".join(services["sentinel"]["command"]))
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            def started(name, folder, **instead):
                words = services[name]["command"]
                words = [word.replace("/etc/keyward/api-billing", str(system)) for word in words]
                words = [folder if word == "/data" else instead.get(word, word) for word in words]
                return Server(words, folder, services[name]["environment"])

            with started("redis-master", one) as primary:
                primary.wait_until_healthy(services["redis-master"]["environment"])
                where = {"redis-master 6379": f"127.0.0.1 {primary.port}"}
                with started("redis-replica", other, **where) as replica:
                    replica.wait_until_healthy(services["redis-replica"]["environment"])
                    for _ in range(600):
                        info = replica.ask("INFO", "replication", password=PASSWORD)
                        if "master_link_status:up" in info:
                            break
                        time.sleep(0.1)
                    self.assertIn("master_link_status:up", info)
                    shown = primary.ask("INFO", "replication", password=PASSWORD)
                    self.assertIn("slave0:ip=redis-replica,", shown)


if __name__ == "__main__":
    unittest.main()
