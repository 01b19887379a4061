"""Read and write savepoints without their jobs, with the names of Flink's State Processor API.

- `SavepointReader`: the state of each operator, by uid, as streams or rows.
- `SavepointWriter`: a savepoint from data, or from another one with operators added and removed.
"""

from penstock.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    StateBootstrapFunction,
    WindowReaderFunction,
)
from penstock.state_processor.operator_identifier import OperatorIdentifier
from penstock.state_processor.reader import SavepointReader
from penstock.state_processor.rows import StateRow, StateRows
from penstock.state_processor.windows import EvictingWindowSavepointReader, WindowSavepointReader
from penstock.state_processor.writer import (
    OperatorTransformation,
    SavepointWriter,
    StateBootstrapTransformation,
)

__all__ = [
    "BroadcastStateBootstrapFunction",
    "EvictingWindowSavepointReader",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "OperatorIdentifier",
    "OperatorTransformation",
    "SavepointReader",
    "SavepointWriter",
    "StateBootstrapFunction",
    "StateBootstrapTransformation",
    "StateRow",
    "StateRows",
    "WindowReaderFunction",
    "WindowSavepointReader",
]
