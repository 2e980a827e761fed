"""The container file and compose files, as far as they can be tried without containers:
their instructions are read, and their commands are run."""

import json
import re
import subprocess
import tempfile
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

    def services(self):
        text = (ROOT / "systems/api-billing/docker-compose.yml").read_text()
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


if __name__ == "__main__":
    unittest.main()
