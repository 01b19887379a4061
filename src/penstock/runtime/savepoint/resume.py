"""Let a program go on from a savepoint: check that it can, and tell its tasks where it is."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.plan import ExecutionPlan
from penstock.runtime.savepoint.format import Savepoint
from penstock.runtime.savepoint.program import adapt
from penstock.runtime.savepoint.restore import RESTORE_SETTING


def resumed_from(
    plan: ExecutionPlan, path: str, *, ignore_unclaimed: bool = False
) -> ExecutionPlan:
    """Return a plan whose tasks begin with what a savepoint holds.

    :param path: of the savepoint.
    :param ignore_unclaimed: drop the state of operators that the program does not have.
    :raises StateError: if the savepoint cannot be read, or the program cannot go on from it.
    """
    savepoint = Savepoint.open(path)
    manifest = savepoint.manifest
    adapted = adapt(
        plan,
        manifest.operators,
        where=f"savepoint {savepoint.path}",
        keyed={part.uid for part in manifest.parts if part.groups},
        stateful=_stateful(savepoint),
        ignore_unclaimed=ignore_unclaimed,
    )
    return replace(adapted, settings={**adapted.settings, RESTORE_SETTING: savepoint.path})


def _stateful(savepoint: Savepoint) -> set[str]:
    """Return the operators whose state would be missed.

    Every subtask leaves something: watermarks, say, or counts. That is not state to be missed.
    """
    manifest = savepoint.manifest
    found = {part.uid for part in manifest.parts if part.groups or part.operator_state}
    found |= set(manifest.offset.get("sources", ()))
    for uid in {part.uid for part in manifest.parts} - found:
        for plain in savepoint.plain(uid).values():
            if any(
                name.startswith("function") or name == "writer" for name in plain.operator or ()
            ):
                found.add(uid)
    return found
