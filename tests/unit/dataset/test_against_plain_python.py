"""Random programs give what plain Python gives, in any number of partitions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from penstock.dataset import ExecutionEnvironment
from tests.unit.dataset.programs import Records, build, judge, records, steps


@pytest.mark.parametrize("parallelism", [1, 2, 4])
@given(data=records, program=steps)
@settings(max_examples=120, deadline=None)
def test_programs(parallelism: int, data: Records, program: list[tuple[str, Any]]) -> None:
    env = ExecutionEnvironment.create_collections_environment().set_parallelism(parallelism)
    result = build(env, data, program).collect()
    assert sorted(result) == sorted(judge(data, program))
