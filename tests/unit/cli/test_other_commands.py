"""`info`, `completion`, `state`, and what `cluster` says when there is no session."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.testing.local_executor import LocalJob

PROGRAM = """
import sys
from penstock.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2]).map(lambda n: n + 1).name("plus one").print()
env.execute("shown")
print("not reached")
"""


def penstock(*arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "penstock.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("form", ["json", "text"])
def test_info_prints_the_plan_and_runs_nothing(tmp_path: Path, form: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    heading, *plan, line = penstock("info", "-f", form, "-p", "2", str(script)).splitlines()
    assert heading == "----------------------- Execution Plan -----------------------"
    assert line == "--------------------------------------------------------------"
    assert "plus one" in "\n".join(plan)
    if form == "json":
        assert len(json.loads("\n".join(plan))["nodes"]) == 3


def test_completion_knows_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    words = complete(script, ["penstock", "cl"])
    assert words == ["cluster"]
    assert complete(script, ["penstock", "cluster", "st"]) == ["start", "status", "stop"]
    assert "--savepointPath" in complete(script, ["penstock", "stop", "--"])
    assert "--max-running" in complete(script, ["penstock", "cluster", "start", "--max"])
    assert main(["completion", "zsh"]) == 0
    assert capsys.readouterr().out.startswith("autoload -U +X bashcompinit")
    assert main(["completion", "fish"]) == 0
    assert "complete -c penstock -n __fish_use_subcommand -a 'cluster'" in capsys.readouterr().out


def complete(script: str, words: list[str]) -> list[str]:
    """Return what a real shell completes."""
    listed = " ".join(f"'{word}'" for word in words)
    program = f"{script}\nCOMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _penstock\n"
    program += 'printf "%s\\n" "${COMPREPLY[@]}"\n'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.split())


def test_state_of_a_savepoint(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    counted = env.from_collection([1, 1, 2]).key_by(lambda n: n).reduce(lambda a, b: a + b)
    counted.uid("sums").print()
    job = LocalJob(build_plan(env), tmp_path / "job", cuts=2)
    job.step()
    path = job.savepoint(tmp_path / "savepoints")
    listed = penstock("state", "ls", path)
    assert "sums" in listed
    name = next(line.split()[0] for line in listed.split("sums")[1].splitlines()[1:] if line)
    shown = penstock("state", "show", path, "sums", name, "-n", "1")
    assert shown in ("1  2\n... and 1 more\n", "2  2\n... and 1 more\n")
    assert sorted(penstock("state", "show", path, "sums", name).splitlines()) == ["1  2", "2  2"]
    refused = penstock("state", "show", path, "nobody", name, code=1)
    assert "the savepoint has no operator of that uid" in refused
