"""The package: what is in it, installing it, what shells make of it."""

import hashlib
import os
import re
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from server import KEYWARD, ROOT

XTASK = os.environ["XTASK"]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def commands():
    """The commands that --help lists."""
    listed = run(KEYWARD, "--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines() if not line.strip().startswith("help")]


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        # This program was built for tests: it is several times as large as what is shipped.
        made = run(XTASK, "dist", "--program", KEYWARD, "--to", cls.folder.name, "--max-mb", "200")
        assert made.returncode == 0, made.stderr
        cls.archive = Path(made.stdout.strip())
        with tarfile.open(cls.archive) as archive:
            cls.members = archive.getmembers()
            archive.extractall(f"{cls.folder.name}/unpacked", filter="data")
        cls.name = cls.archive.name.removesuffix(".tar.gz")
        cls.package = Path(cls.folder.name) / "unpacked" / cls.name

    def test_a_program_that_is_too_large_makes_no_package(self):
        with tempfile.TemporaryDirectory() as folder:
            made = run(XTASK, "dist", "--program", KEYWARD, "--to", folder)
            self.assertNotEqual(made.returncode, 0)
            self.assertIn("more than 16 MB", made.stderr)
            self.assertEqual(list(Path(folder).iterdir()), [])

    def test_the_sum_is_that_of_the_archive(self):
        said = Path(f"{self.archive}.sha256").read_text().split()
        sum_of = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        self.assertEqual(said, [sum_of, self.archive.name])

    def test_the_archive_is_nobodys_and_the_same_each_time(self):
        self.assertEqual({(member.uid, member.gid) for member in self.members}, {(0, 0)})
        with tempfile.TemporaryDirectory() as folder:
            made = run(XTASK, "dist", "--program", KEYWARD, "--to", folder, "--max-mb", "200")
            self.assertEqual(Path(made.stdout.strip()).read_bytes(), self.archive.read_bytes())

    def test_the_program_is_stripped_and_runs(self):
        program = str(self.package / "bin" / "keyward")
        sections = run("readelf", "--sections", "--wide", program).stdout
        self.assertIn(" .text ", sections)
        self.assertNotIn(" .symtab ", sections)
        version = run(program, "--version").stdout.strip()
        self.assertEqual(self.name, f"{version.replace(' ', '-')}-{os.uname().machine}")

    def test_every_command_has_a_manual_page(self):
        pages = sorted(page.name for page in (self.package / "man").iterdir())
        expected = ["keyward.1"] + [f"keyward-{name}.1" for name in commands()]
        self.assertEqual(pages, sorted(expected))
        for page in pages:
            text = (self.package / "man" / page).read_text()
            self.assertRegex(text, r'(?m)^\.TH ')
            self.assertIn(".SH SYNOPSIS", text)
        # Options as --help has them, examples too.
        serve = (self.package / "man" / "keyward-serve.1").read_text()
        self.assertIn("loopback", serve)
        self.assertIn("Examples:", serve)
        backup = (self.package / "man" / "keyward-backup.1").read_text().replace("\\-", "-")
        for option in re.findall(r"(--[a-z-]+)", run(KEYWARD, "backup", "--help").stdout):
            self.assertIn(option, backup)

    def test_bash_completes_commands_and_options(self):
        script = self.package / "completions" / "keyward.bash"
        ask = (
            'source "$1"; COMP_WORDS=(keyward "${@:2}"); COMP_CWORD=$(($# - 1)); '
            '_keyward keyward "${@: -1}" "${@: -2:1}"; echo "${COMPREPLY[@]}"'
        )
        first = run("bash", "-c", ask, "bash", script, "").stdout.split()
        for name in commands():
            self.assertIn(name, first)
        self.assertEqual(run("bash", "-c", ask, "bash", script, "expl").stdout.split(),
                         ["explain", "explain-code"])
        options = run("bash", "-c", ask, "bash", script, "ping", "--w").stdout.split()
        self.assertEqual(options, ["--within"])
        options = run("bash", "-c", ask, "bash", script, "serve", "--appendo").stdout.split()
        self.assertEqual(options, ["--appendonly"])
        values = run("bash", "-c", ask, "bash", script, "serve", "--appendonly", "").stdout.split()
        self.assertEqual(values, ["yes", "no"])
        values = run("bash", "-c", ask, "bash", script, "init", "--with", "ce").stdout.split()
        self.assertEqual(values, ["celery"])

    def test_the_scripts_of_other_shells_know_every_command(self):
        for file in ["_keyward", "keyward.fish"]:
            text = (self.package / "completions" / file).read_text()
            for name in commands():
                self.assertIn(name, text, file)

    def test_it_is_installed_and_keeps_the_settings_there_are(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(self.package / "install", "--root", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            root = Path(folder)
            for file, source in [
                ("usr/bin/keyward", "bin/keyward"),
                ("usr/lib/systemd/system/keyward.service", "packaging/keyward.service"),
                ("usr/lib/systemd/system/keyward-sync.service", "packaging/keyward-sync.service"),
                ("usr/lib/sysusers.d/keyward.conf", "packaging/keyward.sysusers"),
                ("etc/keyward/keyward.conf", "packaging/keyward.conf"),
                ("etc/logrotate.d/keyward", "packaging/keyward.logrotate"),
                ("usr/share/man/man1/keyward-serve.1", "man/keyward-serve.1"),
                ("usr/share/doc/keyward/LICENSE-MIT", "LICENSE-MIT"),
            ]:
                installed = root / file
                self.assertEqual(installed.read_bytes(), (self.package / source).read_bytes())
                mode = installed.stat().st_mode & 0o777
                # Settings may have a password.
                modes = {"usr/bin/keyward": 0o755, "etc/keyward/keyward.conf": 0o640}
                self.assertEqual(mode, modes.get(file, 0o644), file)
            conf = root / "etc/keyward/keyward.conf"
            conf.write_text("port 7000\n")
            again = run(self.package / "install", "--root", folder)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(conf.read_text(), "port 7000\n")
            new = Path(f"{conf}.dpkg-dist").read_text()
            self.assertEqual(new, (ROOT / "packaging/keyward.conf").read_text())
            self.assertIn(f"kept {conf}", again.stdout)

    def test_its_pages_link_to_what_is_there(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(self.package / "install", "--root", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            for root in [self.package, Path(folder) / "usr/share/doc/keyward"]:
                pages = list(root.rglob("*.md"))
                self.assertIn(root / "docs/replication.md", pages)
                links = 0
                for page in pages:
                    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
                        if "://" not in target:
                            links += 1
                            self.assertTrue((page.parent / target).exists(), f"{page}: {target}")
                self.assertGreater(links, 30)

    def test_a_second_installation_leaves_nothing_for_logrotate(self):
        with tempfile.TemporaryDirectory() as folder:
            rotated = Path(folder) / "etc/logrotate.d"
            for _ in range(2):
                done = run(self.package / "install", "--root", folder)
                self.assertEqual(done.returncode, 0, done.stderr)
            # Nothing differs, so nothing is put beside.
            self.assertEqual([path.name for path in rotated.iterdir()], ["keyward"])
            (rotated / "keyward").write_text("/var/log/keyward/*.log {\n    daily\n}\n")
            done = run(self.package / "install", "--root", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(list(rotated.iterdir())), 2)
            conf = Path(folder) / "logrotate.conf"
            conf.write_text(f"include {rotated}\n")
            tried = run("logrotate", "--debug", "--state", f"{folder}/state", conf)
            self.assertNotIn("duplicate", tried.stderr)
            self.assertRegex(tried.stderr, r"(?i)ignoring keyward\.dpkg-dist")

    def test_cargo_installs_it(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(
                "cargo", "install", "--quiet", "--locked", "--debug", "--no-track", "--path",
                "crates/keyward", "--root", folder, cwd=ROOT,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            told = run(f"{folder}/bin/keyward", "--version").stdout
            self.assertEqual(told, run(KEYWARD, "--version").stdout)


if __name__ == "__main__":
    unittest.main()
