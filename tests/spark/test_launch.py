"""How the JVM is started: what its command shows, and the archive of its classes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark import archiver, launch
from penstock.spark.class_archive import ClassArchive, cache_folder, find_archive
from penstock.spark.gateway import jvm_pid
from penstock.spark.java import check_java

LOCAL = {"spark.master": "local[2]"}


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("settings", "environ", "plain"),
    [
        ({}, {}, True),
        ({"spark.driver.memory": "2g", "spark.driver.extraJavaOptions": "-Dx=1"}, {}, True),
        ({"spark.master": "local-cluster[1,1,1024]"}, {}, False),
        ({"spark.master": "spark://host:7077"}, {}, False),
        ({"spark.jars.packages": "a:b:1"}, {}, False),
        ({"spark.driver.extraLibraryPath": "/lib"}, {}, False),
        ({}, {"SPARK_HOME": "/opt/spark"}, False),
        ({}, {"PYSPARK_SUBMIT_ARGS": "--jars x pyspark-shell"}, False),
    ],
)
def test_when_spark_is_started_without_its_script(
    settings: dict[str, str], environ: dict[str, str], plain: bool
) -> None:
    assert launch.is_plain({**LOCAL, **settings}, environ) is plain


def test_the_command_shows_nothing_and_its_file_is_private(tmp_path: Path) -> None:
    arguments = tmp_path / "arguments"
    settings = {
        **LOCAL,
        "spark.driver.memory": "3g",
        "spark.driver.extraClassPath": "/a b.jar",
        "spark.driver.extraJavaOptions": '-Dx=1 "-Dpassword=se cr\\\\et"',
    }
    command = launch.own_command("java", settings, ["/one.jar"], ["-Dmine"], arguments)
    assert command == ["java", f"@{arguments}"]
    assert mode_of(arguments) == 0o600
    lines = arguments.read_text().splitlines()
    assert lines[:6] == [
        '"-cp"', '"/a b.jar:/one.jar"', '"-Xmx3g"', '"-Dx=1"', '"-Dpassword=se cr\\\\et"',
        '"-Dmine"',
    ]  # fmt: skip
    assert lines[-1] == '"org.apache.spark.api.python.PythonGatewayServer"'


def test_java_reads_the_arguments_as_they_were_meant(tmp_path: Path) -> None:
    arguments = tmp_path / "arguments"
    odd = "a b\\c\"d'e#g"
    launch.write_arguments(
        arguments, [f"-Dodd={odd}", "-XshowSettings:properties", "-Xshare:auto", "-version"]
    )
    shown = subprocess.run([check_java(), f"@{arguments}"], capture_output=True, text=True)
    assert f"    odd = {odd}\n" in shown.stderr


def test_settings_for_the_script_are_in_a_private_file(tmp_path: Path) -> None:
    properties = tmp_path / "properties"
    settings = {**LOCAL, "spark.a:b=c": " x\\y\nz", "spark.password": "secret"}
    command = launch.submit_command("/opt/spark", settings, {}, properties)
    assert command == [
        "/opt/spark/bin/spark-submit",
        "--load-spark-defaults",
        "--properties-file",
        str(properties),
        "pyspark-shell",
    ]
    assert mode_of(properties) == 0o600
    assert properties.read_text() == (
        "spark.master=local[2]\nspark.a\\:b\\=c=\\ x\\\\y\\nz\nspark.password=secret\n"
    )


def test_what_a_running_jvm_shows(session: SparkSession) -> None:
    pid = jvm_pid()
    assert pid is not None
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    assert os.path.basename(command[0]) == b"java"
    assert len(command) == 3 and command[1].startswith(b"@") and command[2] == b""


def test_a_jvm_that_does_not_come_up(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log, (tmp_path / "lock").open("wb") as lock:
        jvm = launch.start(["false"], tmp_path, os.environ, log, lock.fileno())
        with pytest.raises(RuntimeError, match="it ended with exit code 1"):
            launch.connect(jvm)


# ---- the archive ------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_the_cache_must_be_the_users_own(tmp_path: Path, cache: dict[str, str]) -> None:
    folder = cache_folder(cache)
    assert folder is not None and mode_of(folder) == 0o700
    folder.chmod(0o777)
    assert cache_folder(cache) is None
    assert cache_folder({}) is None
    assert find_archive("java", [], {"XDG_CACHE_HOME": "/proc/no/such"}) is None


def test_an_archive_is_of_one_java_and_one_class_path(
    tmp_path: Path, cache: dict[str, str]
) -> None:
    jar = tmp_path / "a.jar"
    jar.write_text("one")
    first = find_archive("java", [str(jar)], cache)
    assert first is not None
    assert first == find_archive("java", [str(jar)], cache)
    assert first.options(tmp_path / "list") == [f"-XX:DumpLoadedClassList={tmp_path / 'list'}"]
    jar.write_text("three")
    assert find_archive("java", [str(jar)], cache) != first
    assert find_archive("/other/java", [str(jar)], cache) != first


def test_an_archive_is_made_in_the_background(tmp_path: Path, cache: dict[str, str]) -> None:
    java = check_java()
    archive = find_archive(java, [], cache)
    assert archive is not None
    loaded = tmp_path / "classes"
    loaded.write_text("java/lang/Object\njava/util/ArrayList\n")
    archive.make_later(loaded)
    deadline = time.monotonic() + 200
    folder = archive.path.parent
    while not archive.exists() or list(folder.glob("*.tmp")):
        assert time.monotonic() < deadline, sorted(folder.iterdir())
        time.sleep(0.1)
    used = archive.options(loaded)
    assert used[0] == f"-XX:SharedArchiveFile={archive.path}"
    done = subprocess.run(
        [java, *used, "-Xshare:on", "-cp", ":".join(archive.jars), "-version"], capture_output=True
    )
    assert done.returncode == 0, done.stderr
    before = archive.path.stat().st_ino
    archive.make_later(loaded)  # there is one
    assert archive.path.stat().st_ino == before


def test_an_archiver_that_fails_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    subprocess.run(
        [sys.executable, "-I", "-S", archiver.__file__, "false", folder, tmp_path / "a.jsa"],
        check=True,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsa.lock"]


def test_old_archives_go_when_another_is_made(tmp_path: Path, cache: dict[str, str]) -> None:
    archive = find_archive("false", [], cache)
    assert archive is not None
    folder = archive.path.parent
    old, used = folder / "classes-old.jsa", folder / "classes-used.jsa"
    for path in (old, used):
        path.touch()
    os.utime(old, (0, 0))
    (tmp_path / "classes").touch()
    ClassArchive("false", (), archive.path).make_later(tmp_path / "classes")
    assert not old.exists() and used.exists()
