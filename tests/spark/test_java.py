"""Without a usable Java the user reads what to install, and nothing is started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.errors import JavaNotFoundError
from penstock.spark.java import check_java

REMEDY = (
    "  to do: install a Java runtime, version 17 or newer (Debian and Ubuntu: "
    "apt-get install openjdk-17-jre-headless), or set JAVA_HOME to one"
)


def fake_java(home: Path, says: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)
    return java


def test_the_java_of_this_machine() -> None:
    assert os.access(check_java(), os.X_OK)


def test_no_java(tmp_path: Path) -> None:
    with pytest.raises(JavaNotFoundError) as caught:
        check_java({"PATH": str(tmp_path)})
    assert str(caught.value) == (
        "Spark needs Java, and none was found\n"
        "  where: JAVA_HOME is not set, no java on the PATH\n" + REMEDY
    )


def test_java_home_that_holds_none(tmp_path: Path) -> None:
    with pytest.raises(JavaNotFoundError) as caught:
        check_java({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    assert str(caught.value) == (
        f"Spark needs Java, and none was found\n  where: JAVA_HOME={tmp_path}\n" + REMEDY
    )


@pytest.mark.parametrize(
    ("says", "version"),
    [('openjdk version "11.0.20" 2023-07-18', 11), ('java version "1.8.0_392"', 8)],
)
def test_java_that_is_too_old(tmp_path: Path, says: str, version: int) -> None:
    java = fake_java(tmp_path, says)
    with pytest.raises(JavaNotFoundError) as caught:
        check_java({"JAVA_HOME": str(tmp_path)})
    assert str(caught.value) == (
        f"Spark needs Java 17 or newer\n  where: {java}\n  got:   Java {version}\n" + REMEDY
    )


def test_version_from_the_release_file(tmp_path: Path) -> None:
    java = fake_java(tmp_path, "never asked")
    (tmp_path / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="21.0.2"\n')
    assert check_java({"PATH": str(java.parent)}) == str(java)


def test_a_program_that_is_no_java(tmp_path: Path) -> None:
    fake_java(tmp_path, "hello")
    with pytest.raises(JavaNotFoundError, match="does not tell its version"):
        check_java({"JAVA_HOME": str(tmp_path)})
