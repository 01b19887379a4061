"""Plans as text: what a rule of the planner makes of a plan, and what changes edges carry.

    statement CREATE TABLE ...
    partitions day=1 day=2

    == title
    set key = value
    query
    SELECT ...
    before
    the plan that the rule is given
    after
    the plan that it makes

A file is named after its rule. In `changelog_modes.txt` a case has `modes` instead: the plan with
the changes of every edge, as `explain` shows it. Statements, settings and partitions in front of
the first case belong to all. `{folder}` in a statement is a folder that has the partitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from penstock.table import EnvironmentSettings, TableEnvironment


@dataclass
class PlanCase:
    rule: str
    title: str
    statements: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    partitions: list[str] = field(default_factory=list)
    parts: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.rule}: {self.title}"

    def text(self, part: str) -> str:
        """Return a part of the case."""
        return "\n".join(self.parts.get(part, ())).rstrip("\n")

    def environment(self, folder: Path) -> TableEnvironment:
        """Return an environment with the case's tables."""
        for partition in self.partitions:
            (folder / partition).mkdir(parents=True)
            (folder / partition / "rows.csv").write_text("1\n")
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.get_config().set("parallelism.default", "1").set("execution.target", "in-process")
        for key, value in self.settings.items():
            t_env.get_config().set(key, value)
        for statement in self.statements:
            t_env.execute_sql(statement.replace("{folder}", str(folder)))
        return t_env


def read_plan_cases(path: Path) -> list[PlanCase]:
    """Return the cases of a file."""
    shared = PlanCase(path.stem, "")
    cases: list[PlanCase] = []
    part = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        case = cases[-1] if cases else shared
        word, _, rest = line.partition(" ")
        if line.startswith("== "):
            part = ""
            cases.append(
                PlanCase(path.stem, rest, [*shared.statements], {**shared.settings},
                         [*shared.partitions])
            )  # fmt: skip
        elif line in ("query", "before", "after", "modes"):
            part = line
            case.parts[part] = []
        elif part:
            case.parts[part].append(line)
        elif word == "statement":
            case.statements.append(rest)
        elif word == "set":
            key, _, value = rest.partition(" = ")
            case.settings[key] = value
        elif word == "partitions":
            case.partitions = rest.split()
        elif line and not line.startswith("#"):
            raise ValueError(f"{path.name}: {line!r} says nothing")
    return cases
