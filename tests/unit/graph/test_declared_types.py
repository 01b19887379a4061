from __future__ import annotations

import pickle
from typing import NamedTuple

import pytest

from penstock.common import Row, RowKind, Types
from penstock.common.flink_text import to_flink_text
from penstock.datastream import (
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.key_selection import make_key_selector
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import TypeMismatchError
from penstock.graph.declared_types import make_converter, printed_text_of, shown_by, text_of
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink

PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])


@pytest.mark.parametrize(
    "given",
    [
        ("ann", 3),
        ["ann", 3],
        {"age": 3, "name": "ann"},
        Row("ann", 3),
        Row(age=3, name="ann"),
        Row(name="ann", age=3),
    ],
)
def test_a_record_of_a_row_type_becomes_a_row_with_the_declared_names(given):
    convert = pickle.loads(pickle.dumps(make_converter(PERSON)))
    assert convert(given) == Row(name="ann", age=3)


def test_a_row_that_fits_already_is_not_copied():
    row = Row(name="ann", age=3)
    assert make_converter(PERSON)(row) is row


def test_unnamed_fields_are_called_f0_f1():
    assert make_converter(Types.ROW([Types.INT(), Types.INT()]))((1, 2)).f1 == 2


def test_rows_inside_rows_are_converted_and_the_kind_is_kept():
    outer = Types.ROW_NAMED(["id", "who"], [Types.INT(), PERSON])
    given = Row.of_kind(RowKind.DELETE, 1, ("ann", 3))
    result = make_converter(outer)(given)
    assert result.who == Row(name="ann", age=3)
    assert result.get_row_kind() is RowKind.DELETE


def test_none_stays_none_and_some_types_need_no_conversion():
    assert make_converter(PERSON)(None) is None
    assert make_converter(Types.INT())(None) is None
    assert make_converter(None) is None
    assert make_converter(Types.PICKLED_BYTE_ARRAY()) is None
    assert make_converter(Types.SQL_DATE()) is None


PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


@pytest.mark.parametrize(
    ("type_info", "given", "expected"),
    [
        # Recorded from PyFlink 2.3.
        (Types.INT(), 1.5, 1),
        (Types.DOUBLE(), 2, 2.0),
        (Types.BOOLEAN(), 5, True),
        (Types.TUPLE([Types.INT(), Types.INT()]), (1, 2, 3), (1, 2)),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1}, {"a": 1}),
        # The rest follows from these.
        (Types.FLOAT(), 0.1, 0.10000000149011612),
        (Types.FLOAT(), 2, 2.0),
        (Types.LONG(), True, 1),
        (PAIR, ["a", 1], ("a", 1)),
        (PAIR, ("a", 1.5), ("a", 1)),
        (PAIR, Row("a", 1), ("a", 1)),
        (Types.LIST(Types.INT()), [1, 2.5], [1, 2]),
        (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 1}, {"a": 1.0}),
        (Types.ROW_NAMED(["f"], [Types.FLOAT()]), (0.1,), Row(f=0.10000000149011612)),
        (Types.ROW_NAMED(["p"], [PAIR]), (("a", 2.5),), Row(p=("a", 2))),
    ],
)
def test_values_are_converted_where_pyflink_converts(type_info, given, expected):
    convert = pickle.loads(pickle.dumps(make_converter(type_info)))
    found = convert(given)
    assert found == expected
    assert type(found) is type(expected)
    assert repr(found) == repr(expected)


class Named(NamedTuple):
    name: str
    number: int


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.INT(), 2**31 - 1),
        (PAIR, ("a", 1)),
        (PAIR, Named("a", 1)),
        (PERSON, Row(name="ann", age=3)),
        (Types.LIST(Types.PICKLED_BYTE_ARRAY()), [1, "a"]),
    ],
)
def test_values_that_fit_stay_the_same_objects(type_info, value):
    assert make_converter(type_info)(value) is value


@pytest.mark.parametrize(
    ("type_info", "value", "name"),
    [
        (Types.STRING(), 1, "String"),
        (Types.INT(), "x", "Integer"),
        (Types.INT(), 2**40, "Integer"),
        (Types.DOUBLE(), "1.5", "Double"),
        (Types.FLOAT(), [1], "Float"),
        (Types.INT(), float("nan"), "Integer"),
        (Types.LIST(Types.INT()), (1, 2), "ListTypeInfo<Integer>"),
        (Types.MAP(Types.STRING(), Types.INT()), [1], "MapTypeInfo<String, Integer>"),
        (PAIR, ("a",), "TupleTypeInfo(String, Integer)"),
        (PAIR, 5, "TupleTypeInfo(String, Integer)"),
        (PERSON, ("ann",), str(PERSON)),
        (PERSON, 5, str(PERSON)),
    ],
)
def test_values_that_do_not_fit_are_refused(type_info, value, name):
    with pytest.raises(TypeMismatchError) as caught:
        make_converter(type_info)(value)
    assert str(caught.value) == (
        f"a value does not fit the declared type {name}\n"
        f"  got:   {type(value).__name__} {value!r}\n"
        "  to do: correct the declared type, or what the function returns"
    )


def test_an_error_names_operator_line_and_value(tmp_path):
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.from_collection([1]).map(lambda v: "x", output_type=Types.INT()).name("wrong").print()
    with pytest.raises(TypeMismatchError) as caught:
        LocalJob(build_plan(env), tmp_path).run()
    what, where, got, _ = str(caught.value).splitlines()
    assert what == "a value does not fit the declared type Integer"
    assert where.startswith(f"  where: operator 'wrong', built at {__file__}:")
    assert got == "  got:   str 'x'"


class Aside(ProcessFunction):
    def process_element(self, value, ctx):
        yield TAG, value
        ctx.output(TAG, value + 0.5)


TAG = OutputTag("aside", Types.TUPLE([Types.INT()]))


def side_output_of(tag, function, tmp_path, keyed):
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = env.from_collection([1, 2])
    main = (stream.key_by(lambda v: v) if keyed else stream).process(function)
    sink = RecordingSink()
    side = main.name("asides").get_side_output(tag)
    (side.key_by(lambda v: 0).map(lambda v: v) if keyed else side).sink_to(sink)
    LocalJob(build_plan(env), tmp_path, poll_ms=0).run()
    return sink.values()


class KeyedAside(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield OutputTag("aside"), value + 0.5


@pytest.mark.parametrize("keyed", [False, True])
def test_the_type_of_a_tag_acts_on_its_side_output(tmp_path, keyed):
    function = KeyedAside() if keyed else Aside()
    ints = OutputTag("aside", Types.INT())
    found = side_output_of(ints, function, tmp_path / "ints", keyed)
    assert sorted(found) == ([1, 2] if keyed else [1, 1, 2, 2])
    assert all(type(value) is int for value in found)
    with pytest.raises(TypeMismatchError) as caught:
        side_output_of(TAG, function, tmp_path / "tuples", keyed)
    what, where, got, _ = str(caught.value).splitlines()
    assert what == "a value does not fit the declared type TupleTypeInfo(Integer)"
    assert where.startswith(f"  where: operator 'asides', built at {__file__}:")
    assert got == ("  got:   float 1.5" if keyed else "  got:   int 1")


def test_elements_of_a_collection_are_refused_at_once():
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(TypeMismatchError) as caught:
        env.from_collection(["x"], type_info=Types.INT())
    assert caught.value.where.startswith(f"{__file__}:")


def test_keys_are_of_their_declared_type():
    selector, _ = make_key_selector(lambda pair: pair[1], Types.DOUBLE(), ())
    assert repr(selector.get_key(("a", 1))) == "1.0"
    selector, _ = make_key_selector(0, Types.STRING(), ())
    assert selector.get_key(("a", 1)) == "a"
    selector, _ = make_key_selector(lambda pair: Row(*pair), PERSON, ())
    assert selector.get_key(("ann", 3)) == Row(name="ann", age=3)


def test_rows_are_printed_as_pyflink_prints_them():
    assert printed_text_of(PERSON)(Row("ann", None)) == "+I[ann,None]"
    assert text_of(PERSON)(Row("ann", None)) == "+I[ann, null]"
    assert text_of(Types.FLOAT())(0.10000000149011612) == "0.1"
    assert text_of(Types.FLOAT())(16777216.0) == "1.6777216E7"
    assert text_of(Types.TUPLE([Types.FLOAT(), Types.INT()]))((0.20000000298023224, 1)) == "(0.2,1)"


def test_a_float_looks_short_outside_the_job():
    assert shown_by(Types.FLOAT())(0.10000000149011612) == 0.1
    assert shown_by(Types.FLOAT())(float("inf")) == float("inf")
    both = Types.TUPLE([Types.STRING(), Types.LIST(Types.FLOAT())])
    assert shown_by(both)(("a", [0.10000000149011612, None])) == ("a", [0.1, None])
    row = Types.ROW_NAMED(["f"], [Types.FLOAT()])
    assert shown_by(row)(Row(f=0.10000000149011612)) == Row(f=0.1)
    assert shown_by(Types.DOUBLE()) is None
    assert shown_by(PERSON) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (("a", 1), "(a,1)"),
        (("a", ("b", None)), "(a,(b,null))"),
        ([1, 2], "[1, 2]"),
        ({"a": True}, "{a=true}"),
        (Row(1, "a"), "+I[1, a]"),
        ("text", "text"),
        (1e10, "1.0E10"),
        (1e-5, "1.0E-5"),
        (-123456789.5, "-1.234567895E8"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0, "0.0"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_values_print_as_in_flink(value, text):
    assert to_flink_text(value) == text


def test_only_types_that_python_prints_differently_need_flinks_text():
    for type_info in (Types.TUPLE([Types.INT()]), Types.BOOLEAN(), Types.DOUBLE(), PERSON):
        assert text_of(type_info) is not None
    assert text_of(Types.STRING()) is None
    assert text_of(Types.INT()) is None
    assert text_of(None) is None
