"""Programs that are to show their plan and not run: `penstock info`."""

from __future__ import annotations

import os
from collections.abc import Callable

#: Set to `json` or `text` by a command line that wants the plan alone.
PLAN_VARIABLE = "PENSTOCK_PLAN_ONLY"
_HEADING = "----------------------- Execution Plan -----------------------"
_LINE = "--------------------------------------------------------------"


def end_with_plan(json: Callable[[], str], text: Callable[[], str]) -> None:
    """Print the plan and end the program, if only the plan is wanted."""
    wanted = os.environ.get(PLAN_VARIABLE)
    if not wanted:
        return
    print(_HEADING)
    print(json() if wanted == "json" else text())
    print(_LINE, flush=True)
    # As Flink's client does: what the program would do afterwards needs a job that has run.
    raise SystemExit(0)
