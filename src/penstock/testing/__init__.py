"""Test user functions and programs without Spark.

- `OneInputHarness`, `TwoInputHarness`, `BroadcastHarness`: one subtask of a function, fed by hand.
  `penstock.testing.function_harness` shows how.
- `StreamHarness`: the same for an operator as a program writes it: a window, a reduce, a join.
- `ManualClock`: processing time for programs that are run batch by batch with
  `penstock.testing.local_executor.LocalJob`.

A whole program runs in the test's own process with the setting `execution.target: in-process`.
"""

from penstock.testing.clock import ManualClock
from penstock.testing.function_harness import BroadcastHarness, OneInputHarness, TwoInputHarness
from penstock.testing.harness import OperatorHarness, Record
from penstock.testing.stream_harness import StreamHarness

__all__ = [
    "BroadcastHarness",
    "ManualClock",
    "OneInputHarness",
    "OperatorHarness",
    "Record",
    "StreamHarness",
    "TwoInputHarness",
]
