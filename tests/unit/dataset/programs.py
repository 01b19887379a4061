"""Random DataSet programs as data: run by the API, and by plain Python as the judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from penstock.dataset import DataSet, ExecutionEnvironment, JoinHint, Order

Records = list[tuple[int, int]]

records = st.lists(st.tuples(st.integers(0, 5), st.integers(-20, 20)), max_size=25)

#: One step of a program: its name and its argument.
steps = st.lists(
    st.one_of(
        st.tuples(st.just("map"), st.integers(-3, 3)),
        st.tuples(st.just("filter"), st.integers(2, 4)),
        st.tuples(st.just("flat_map"), st.integers(0, 2)),
        st.tuples(st.just("sum"), st.just(0)),
        st.tuples(st.just("min"), st.just(0)),
        st.tuples(st.just("max"), st.just(0)),
        st.tuples(st.just("group_list"), st.sampled_from([1, -1])),
        st.tuples(st.just("distinct"), st.just(0)),
        st.tuples(st.just("union"), records),
        st.tuples(st.just("join"), records),
        st.tuples(st.just("broadcast_join"), records),
        st.tuples(st.just("left"), records),
        st.tuples(st.just("right"), records),
        st.tuples(st.just("full"), records),
        st.tuples(st.just("co_group"), records),
        st.tuples(st.just("cross"), st.lists(st.integers(0, 3), max_size=3)),
        st.tuples(st.just("first_of_group"), st.integers(1, 3)),
        st.tuples(st.just("rebalance"), st.just(0)),
        st.tuples(st.just("range"), st.just(0)),
        st.tuples(st.just("hash"), st.just(0)),
    ),
    max_size=4,
)


def _pair(left: Any, right: Any) -> tuple[int, int]:
    """Make one record of the two sides of a join; one may be missing."""
    key = left[0] if left is not None else right[0]
    return key, (0 if left is None else left[1]) * 3 + (7 if right is None else right[1])


def _folded(values: Iterable[int]) -> int:
    """Fold values so that their order matters."""
    total = 0
    for value in values:
        total = (total * 31 + value) % 10007
    return total


def build(env: ExecutionEnvironment, data: Records, program: list[tuple[str, Any]]) -> DataSet:
    """Return the program's result as a data set."""
    result = env.from_collection(data)
    for name, argument in program:
        result = _apply(env, result, name, argument)
    return result


def _apply(env: ExecutionEnvironment, data: DataSet, name: str, arg: Any) -> DataSet:
    if name in ("sum", "min", "max"):
        return getattr(data.group_by(0), name)(1)
    if name in ("join", "left", "right", "full"):
        other = env.from_collection(arg)
        kind = {
            "join": data.join,
            "left": data.left_outer_join,
            "right": data.right_outer_join,
            "full": data.full_outer_join,
        }[name]
        return kind(other).where(0).equal_to(0).with_(_pair)
    simple = {
        "map": lambda: data.map(lambda r: ((r[0] + arg) % 6, r[1])),
        "filter": lambda: data.filter(lambda r: r[1] % arg != 0),
        "flat_map": lambda: data.flat_map(lambda r: [(r[0], r[1] + i) for i in range(arg)]),
        "distinct": lambda: data.distinct(),
        "union": lambda: data.union(env.from_collection(arg)),
        "rebalance": lambda: data.rebalance(),
        "range": lambda: data.partition_by_range(1),
        "hash": lambda: data.partition_by_hash(0),
    }
    if name in simple:
        return simple[name]()
    if name == "group_list":
        order = Order.ASCENDING if arg > 0 else Order.DESCENDING
        groups = data.group_by(0).sort_group(1, order)
        return groups.reduce_group(_fold_group)
    if name == "broadcast_join":
        joined = data.join(env.from_collection(arg), JoinHint.BROADCAST_HASH_SECOND)
        return joined.where(0).equal_to(0).with_(_pair)
    if name == "co_group":
        return (
            data.co_group(env.from_collection(arg))
            .where(0)
            .equal_to(0)
            .with_(lambda a, b: [(len(list(a)), sum(r[1] for r in b))])
        )
    if name == "cross":
        return data.cross(env.from_collection(arg)).with_(lambda r, n: (r[0], r[1] + n))
    assert name == "first_of_group"
    return data.group_by(0).sort_group(1, Order.ASCENDING).first(arg)


def _fold_group(values: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    held = list(values)
    return [(held[0][0], _folded(value for _, value in held))]


def judge(data: Records, program: list[tuple[str, Any]]) -> Records:
    """Return the program's result as plain Python gives it."""
    result = list(data)
    for name, argument in program:
        result = _judge(result, name, argument)
    return result


def _judge(data: Records, name: str, arg: Any) -> Records:
    mine, theirs = _groups(data), _groups(arg) if isinstance(arg, list) and name != "cross" else {}
    if name in ("sum", "min", "max"):
        how: Any = {"sum": sum, "min": min, "max": max}[name]
        return [(key, how(values)) for key, values in mine.items()]
    if name in ("join", "broadcast_join", "left", "right", "full"):
        keys = {
            "left": mine.keys(),
            "right": theirs.keys(),
            "full": mine.keys() | theirs.keys(),
        }.get(name, mine.keys() & theirs.keys())
        return [
            _pair(left, right)
            for key in keys
            for left in [(key, v) for v in mine.get(key, [])] or [None]
            for right in [(key, v) for v in theirs.get(key, [])] or [None]
        ]
    if name == "co_group":
        keys = mine.keys() | theirs.keys()
        return [(len(mine.get(key, [])), sum(theirs.get(key, []))) for key in keys]
    simple: dict[str, Any] = {
        "map": lambda: [((k + arg) % 6, v) for k, v in data],
        "filter": lambda: [(k, v) for k, v in data if v % arg != 0],
        "flat_map": lambda: [(k, v + i) for k, v in data for i in range(arg)],
        "distinct": lambda: list(set(data)),
        "union": lambda: data + arg,
        "group_list": lambda: [
            (k, _folded(sorted(values, reverse=arg < 0))) for k, values in mine.items()
        ],
        "cross": lambda: [(k, v + n) for k, v in data for n in arg],
        "first_of_group": lambda: [(k, v) for k, vs in mine.items() for v in sorted(vs)[:arg]],
    }
    return simple[name]() if name in simple else data


def _groups(data: Records) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for key, value in data:
        groups[key].append(value)
    return dict(groups)
