"""Files, archives, requirements and the interpreter of a job."""

from __future__ import annotations

import json
import os
import stat
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from penstock.errors import ConfigurationError
from penstock.spark import worker_setup
from penstock.spark.dependencies import Dependencies, gather
from penstock.spark.interpreter import find_interpreter, worker_interpreter
from tests.spark.conftest import MakeEnvironment, RunProgram
from tests.spark.packages import make_wheel, make_zip

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
PROGRAM = Path(__file__).parent / "programs" / "dependent.py"


def layout(folder: Path | None) -> dict[str, object]:
    assert folder is not None
    found: dict[str, object] = json.loads((folder / "layout.json").read_text())
    return found


# ------------------------------------------------------------------------------------- gathering


def test_nothing_is_needed() -> None:
    assert gather({}) == Dependencies(None, None)
    assert gather({"python.executable": "python3"}) == Dependencies(None, "python3")


def test_files_folders_and_packages(tmp_path: Path) -> None:
    (tmp_path / "single.py").write_text("x = 1")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "inside.py").touch()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    zipped = make_zip(tmp_path / "zipped.zip", far__away="x = 2")
    names = [f"file://{tmp_path}/single.py", "plain", "package", zipped.name]
    files = ",".join(names[:1] + [str(tmp_path / name) for name in names[1:]])

    folder = gather({"python.files": files}).folder

    assert layout(folder) == {"path": ["0", "1/plain", "2/package", "2", "3"], "archives": False}
    assert folder is not None
    for name in ("0/single.py", "1/plain/inside.py", "2/package/__init__.py", "3/far/away.py"):
        assert (folder / name).is_file()


def test_the_same_content_is_gathered_once(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("x = 1")
    first, again = gather({"python.files": str(module)}), gather({"python.files": str(module)})
    module.write_text("x = 2")
    changed = gather({"python.files": str(module)})
    assert first == again
    assert changed.folder != first.folder


def test_archives_keep_links_and_permissions(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    with tarfile.open(tmp_path / "env.tar.gz", "w:gz") as packed:
        packed.add(tmp_path / "run", "bin/run")
    with zipfile.ZipFile(tmp_path / "env.zip", "w") as packed_too:
        packed_too.write(tmp_path / "run", "bin/run")
        link = zipfile.ZipInfo("bin/link")
        link.create_system = 3
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed_too.writestr(link, "run")
    folder = gather(
        {"python.archives": f"{tmp_path}/env.tar.gz#one/deep,{tmp_path}/env.zip"}
    ).folder
    assert folder is not None
    assert layout(folder) == {"path": [], "archives": True}
    for file in ("one/deep/bin/run", "env.zip/bin/run"):
        assert os.access(folder / "archives" / file, os.X_OK)
    assert os.readlink(folder / "archives/env.zip/bin/link") == "run"


@pytest.mark.parametrize("key", ["python.files", "python.archives", "python.requirements"])
def test_a_missing_file(key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        gather({key: "/nowhere/lib.zip"})
    assert str(caught.value) == (
        "a file that the job needs does not exist\n"
        f"  where: configuration key {key}\n"
        "  got:   /nowhere/lib.zip\n"
        "  to do: name a file or folder of this machine"
    )


def test_archives_that_are_none(tmp_path: Path) -> None:
    text = tmp_path / "data.zip"
    text.write_text("not packed")
    with pytest.raises(ConfigurationError) as caught:
        gather({"python.archives": str(text)})
    assert str(caught.value) == (
        "the file is no archive\n"
        "  where: configuration key python.archives\n"
        f"  got:   {text}\n"
        "  to do: pack it with zip or tar"
    )
    with pytest.raises(ConfigurationError) as caught:
        gather({"python.archives": f"{make_zip(text, a='')}#../up"})
    assert str(caught.value) == (
        "an archive can be unpacked below the working directory only\n"
        "  where: configuration key python.archives\n"
        "  got:   '../up'\n"
        "  to do: name a folder without a path"
    )


def test_requirements_that_cannot_be_installed(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("penstock-has-no-such-package==1.0\n")
    with pytest.raises(ConfigurationError) as caught:
        gather({"python.requirements": f"{requirements}#{packages}"})
    got = caught.value.got or ""
    assert "No matching distribution found for penstock-has-no-such-package==1.0" in got
    assert str(caught.value) == (
        "the requirements of the job cannot be installed\n"
        f"  where: configuration key python.requirements: {requirements}\n"
        "  got:   " + got.replace("\n", "\n         ") + "\n"
        "  to do: correct the file, or give a folder with the packages beside it"
    )


# ----------------------------------------------------------------------------------- interpreter


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_an_interpreter_of_this_machine(tmp_path: Path) -> None:
    assert worker_interpreter(sys.executable, None, "local[2]") == sys.executable
    assert worker_interpreter("/far/away/python", None, "spark://host:7077") == "/far/away/python"


def test_an_interpreter_inside_an_archive(tmp_path: Path) -> None:
    (tmp_path / "archives" / "env").mkdir(parents=True)
    python = script(tmp_path / "archives" / "env" / "python", f'exec {sys.executable} "$@"')
    assert find_interpreter("env/python", tmp_path) == str(python)
    assert worker_interpreter("env/python", tmp_path, "local-cluster[2,1,1024]") == str(python)
    with pytest.raises(ConfigurationError) as caught:
        worker_interpreter("env/python", tmp_path, "spark://host:7077")
    assert str(caught.value) == (
        "an interpreter inside an archive can be used on this machine only\n"
        "  where: configuration key python.executable\n"
        "  got:   env/python with the master spark://host:7077\n"
        "  to do: install it at the same place on every machine and name its path"
    )


@pytest.mark.parametrize(
    ("text", "what", "got", "todo"),
    [
        ("", "was not found", "{path}", "name another interpreter"),
        ("exit 3", "does not run", "{path}", "name another interpreter"),
        ("echo {own} pyspark", "lacks pyspark", "{path}", "install penstock into its environment"),
    ],
)
def test_an_interpreter_that_will_not_do(
    tmp_path: Path, text: str, what: str, got: str, todo: str
) -> None:
    path = tmp_path / "python"
    if text:
        script(path, text.format(own=OWN))
    with pytest.raises(ConfigurationError) as caught:
        worker_interpreter(str(path), None, "local[2]")
    assert str(caught.value) == (
        f"the interpreter for the workers {what}\n"
        "  where: configuration key python.executable\n"
        f"  got:   {got.format(path=path)}\n"
        f"  to do: {todo}"
    )


def test_an_interpreter_of_another_version(tmp_path: Path) -> None:
    path = script(tmp_path / "python", "echo 3.1")
    with pytest.raises(ConfigurationError) as caught:
        worker_interpreter(str(path), None, "local[2]")
    assert str(caught.value) == (
        "the workers need the same version of Python as the program\n"
        "  where: configuration key python.executable\n"
        f"  got:   {path} is Python 3.1; the program runs on {OWN}\n"
        "  to do: name another interpreter"
    )


# ------------------------------------------------------------------------------------- on workers


def test_a_worker_on_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = gather({"python.archives": str(make_zip(tmp_path / "data.zip", a="1"))}).folder
    assert folder is not None
    # As if Spark had brought the folder there under its name.
    folder = folder.rename(tmp_path / "brought.tar.gz")
    monkeypatch.setenv("PENSTOCK_DEPENDENCIES", json.dumps(["/nowhere", "brought.tar.gz"]))
    monkeypatch.setattr(worker_setup, "_active", False)
    monkeypatch.setattr(worker_setup.SparkFiles, "get", lambda name: str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    worker_setup.activate_dependencies()
    assert Path("data.zip/a.py").read_text() == "1"


def test_a_job_with_everything(make_env: MakeEnvironment, tmp_path: Path) -> None:
    make_wheel(tmp_path / "packages", "fromwheel", "1.0", "def thrice(n): return 3 * n")
    (tmp_path / "requirements.txt").write_text("fromwheel==1.0\n")
    zipped = make_zip(tmp_path / "zipped.zip", fromzip__lib="def twice(n): return 2 * n")
    data = make_zip(tmp_path / "data.zip", numbers="5")
    python = script(tmp_path / "python", f'export WHICH=other; exec {sys.executable} "$@"')

    def work(value: int) -> tuple[int, int, str, str | None]:
        import fromwheel
        import fromzip.lib

        text = Path("stuff/numbers.py").read_text()
        return fromzip.lib.twice(value), fromwheel.thrice(value), text, os.environ.get("WHICH")

    env = make_env()
    env.add_python_file(str(zipped))
    env.add_python_archive(str(data), "stuff")
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "packages"))
    env.set_python_executable(str(python))
    stream = env.from_collection([1, 2]).key_by(lambda n: n).map(work)
    with stream.execute_and_collect("everything") as results:
        assert sorted(results) == [(2, 3, "5", "other"), (4, 6, "5", "other")]


def test_a_module_that_has_changed_since_the_last_job(
    make_env: MakeEnvironment, tmp_path: Path
) -> None:
    def ask(value: int) -> int:
        import penstock_test_module

        return value + int(penstock_test_module.NUMBER)

    found = []
    for number in (10, 20):
        (tmp_path / "penstock_test_module.py").write_text(f"NUMBER = {number}")
        env = make_env()
        env.add_python_file(str(tmp_path / "penstock_test_module.py"))
        with env.from_collection([1]).map(ask).execute_and_collect("changed") as results:
            found += list(results)
    env = make_env()
    with env.from_collection([1]).map(lambda n: os.getcwd()).execute_and_collect("plain") as r:
        assert list(r) == [os.getcwd()]
    assert found == [11, 21]


@pytest.mark.timeout(300)
def test_two_executor_processes(run_program: RunProgram, tmp_path: Path) -> None:
    zipped = make_zip(tmp_path / "zipped.zip", fromzip__lib="def twice(n): return 2 * n")
    data = make_zip(tmp_path / "data.zip", numbers="5")
    with run_program(PROGRAM, zipped, data) as program:
        assert program.finish() == "(2, '5')\n(4, '5')\n"
