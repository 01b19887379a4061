"""`scripts/ensure-java` on machines that are made up: a path with only what each is to have."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.arch.sources import ROOT

TOOLS = ("bash", "env", "sed", "head", "cat", "chmod")
ASKED_FOR = (
    "penstock needs Java 17 or newer (found: {found}): "
    "install for instance openjdk-17-jre-headless, or set JAVA_HOME\n"
)


class Machine:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for tool in TOOLS:
            (folder / tool).symlink_to(shutil.which(tool) or f"/bin/{tool}")
        self.have("id", "echo 1000")

    def have(self, command: str, script: str) -> None:
        path = self.folder / command
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def have_java(self, version: str) -> None:
        self.have("java", f"echo 'openjdk version \"{version}\" 2024-01-16' >&2")

    def have_root_and_apt_get(self, offered: str) -> None:
        self.have("id", "echo 0")
        java = self.folder / "java"
        install = f'echo \'echo "version \\"21.0.1\\"" >&2\' > {java}; chmod +x {java}'
        self.have(
            "apt-get",
            f"""
            case "$*" in
              "install --dry-run -qq {offered}") exit 0 ;;
              *--dry-run*) exit 100 ;;
              "install -y"*{offered}) {install} ;;
            esac
            """,
        )

    def ensure_java(self, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.folder), **variables}
        script = ROOT / "scripts" / "ensure-java"
        return subprocess.run([script], capture_output=True, text=True, env=environment)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("version", ["17.0.15", "21", "25.0.1"])
def test_a_java_that_is_new_enough_is_taken_silently(machine: Machine, version: str) -> None:
    machine.have_java(version)
    done = machine.ensure_java()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(("version", "found"), [("1.8.0_292", "8"), ("11.0.2", "11")])
def test_an_old_java_without_root_is_one_line(machine: Machine, version: str, found: str) -> None:
    machine.have_java(version)
    done = machine.ensure_java()
    assert (done.returncode, done.stderr) == (1, ASKED_FOR.format(found=found))


def test_no_java_without_root_is_one_line(machine: Machine) -> None:
    done = machine.ensure_java()
    assert (done.returncode, done.stderr) == (1, ASKED_FOR.format(found="none"))


def test_a_wrong_java_home_is_named(machine: Machine) -> None:
    done = machine.ensure_java(JAVA_HOME="/nowhere")
    assert done.returncode == 1
    assert "(found: none, in JAVA_HOME=/nowhere)" in done.stderr


@pytest.mark.parametrize("offered", ["openjdk-17-jre-headless", "openjdk-21-jre-headless"])
def test_root_with_apt_get_installs_what_the_release_has(machine: Machine, offered: str) -> None:
    machine.have_root_and_apt_get(offered)
    done = machine.ensure_java()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "no Java from 17 on: installing a headless one with apt-get\n"


def test_scripts_are_executable() -> None:
    scripts = [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]
    assert all(os.access(script, os.X_OK) for script in scripts)


def test_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    shown = subprocess.run(["make", "help"], capture_output=True, text=True, cwd=ROOT).stdout
    assert re.findall(r"make ([\w-]+)", shown) == targets
