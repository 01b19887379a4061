from __future__ import annotations

import pickle

import pytest

from penstock.common import Types
from penstock.core.output_tag import OutputTag
from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK, Watermark
from penstock.errors import ConfigurationError


def test_tags_are_equal_by_id() -> None:
    tag: OutputTag[str] = OutputTag("late", Types.STRING())
    assert tag == OutputTag("late")
    assert hash(tag) == hash(OutputTag("late"))
    assert tag != OutputTag("early")
    again = pickle.loads(pickle.dumps(tag))
    assert (again, again.type_info) == (tag, Types.STRING())


@pytest.mark.parametrize("tag_id", ["", None, 5])
def test_a_tag_needs_an_id(tag_id: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OutputTag(tag_id)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "a side output needs an id\n  where: OutputTag(tag_id, type_info)\n"
        f"  got:   tag_id={tag_id!r}\n"
        "  to do: give a non-empty string, for instance OutputTag('late-data')"
    )


def test_watermarks_are_ordered_and_end_where_javas_longs_end() -> None:
    assert Watermark(1) < Watermark(2)
    assert Watermark(2) == Watermark(2)
    assert (MIN_WATERMARK, MAX_WATERMARK) == (-9223372036854775808, 9223372036854775807)
    assert str(Watermark(5)) == "Watermark @ 5"
