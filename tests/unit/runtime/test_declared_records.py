"""Records of a declared type whose values cannot change travel without a look at each of them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.graph.declared_types import Converter

TAG = OutputTag("side")


class Sharing(ProcessFunction):
    """Go on changing a list that was sent to the side, which has no declared type."""

    def process_element(self, value: int, ctx: Any) -> Any:
        held = [value]
        yield TAG, held
        held.append(-1)
        yield (value % 2, value)


def test_a_side_output_is_not_of_the_type_of_the_main_one() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.get_configuration().set_string("execution.target", "in-process")
    env.set_parallelism(2)
    pairs = Types.TUPLE([Types.LONG(), Types.LONG()])
    main = env.from_collection(list(range(6))).process(Sharing(), pairs)
    side = main.get_side_output(TAG).key_by(lambda held: held[0]).map(lambda held: (0, len(held)))
    summed = main.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    found = list(summed.union(side).execute_and_collect())
    assert found.count((0, 1)) == 6
    assert {(0, 0 + 2 + 4), (1, 1 + 3 + 5)} <= set(found)


@pytest.mark.parametrize(
    ("type_info", "immutable"),
    [
        (Types.LONG(), True),
        (Types.TUPLE([Types.STRING(), Types.TUPLE([Types.FLOAT()])]), True),
        (Types.TUPLE([Types.STRING(), Types.LIST(Types.INT())]), False),
        (Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.INT()]), False),
        (Types.ROW([Types.INT()]), False),
        (Types.LIST(Types.INT()), False),
    ],
)
def test_which_types_are_immutable(type_info: Any, immutable: bool) -> None:
    assert Converter(type_info).immutable is immutable
