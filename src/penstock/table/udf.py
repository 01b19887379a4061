"""Functions of the user for tables: PyFlink's `pyflink.table.udf`.

A function that is declared here can be registered under a name for SQL, or called with expressions:

>>> from penstock.table.types import DataTypes
>>> @udf(result_type=DataTypes.BIGINT())
... def plus_one(x):
...     return x + 1
>>> plus_one.function.name
'plus_one'
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.functions.user_defined import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunction,
)
from penstock.errors import ProgramError
from penstock.graph.call_site import capture_call_site
from penstock.graph.relational.types import LogicalType, RowField, RowType
from penstock.graph.relational.user_functions import UserFunction
from penstock.table.expression import Expression, user_call
from penstock.table.sql.type_parser import parse_type
from penstock.table.types import UserDefinedType

TypeLike = LogicalType | UserDefinedType | str


class _Delegate(ScalarFunction):
    """A plain callable as a scalar function; `eval` is the callable itself."""

    # A slot is not among the attributes that the runtime saves with the state.
    __slots__ = ("eval",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.eval = function  # type: ignore[method-assign]


class _TableDelegate(TableFunction):
    """A plain callable as a table function."""

    __slots__ = ("eval",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.eval = function  # type: ignore[method-assign]


class _PandasAggregate(AggregateFunction):
    """A function over the columns of a group; its accumulator is the rows themselves."""

    __slots__ = ("compute",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.compute = function

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.append(args)

    def get_value(self, accumulator: Any) -> Any:
        raise ProgramError("a function over columns is called with columns")


class UserDefinedFunctionWrapper:
    """What `udf`, `udtf`, `udaf` and `udtaf` give: call it with expressions, or register it.

    :param function: the declaration that plans and generated code work with.
    """

    def __init__(self, function: UserFunction) -> None:
        self.function = function
        self.__name__ = function.name

    def __call__(self, *args: Any) -> Expression[Any]:
        """Return the call with these arguments: expressions, or values that become literals."""
        return user_call(self.function, args)

    def named(self, name: str) -> UserFunction:
        """Return the declaration under the name that it is registered by."""
        return self.function.renamed(name)

    def alias(self, *names: str) -> UserDefinedFunctionWrapper:
        """Return the function with other names for the columns that it emits."""
        row = self.function.result_type
        if not isinstance(row, RowType) or len(row.fields) != len(names):
            raise ProgramError(
                f"{self.function.name} emits another number of columns",
                got=f"{len(names)} names for {row}",
                todo="give one name for each column",
            )
        fields = tuple(RowField(n, f.type) for n, f in zip(names, row.fields, strict=True))
        renamed = RowType(fields, is_nullable=row.is_nullable)
        parts = {**vars(self.function), "result_type": renamed}
        return UserDefinedFunctionWrapper(UserFunction(**parts))


def _type(given: TypeLike) -> LogicalType:
    if isinstance(given, str):
        return parse_type(given)
    if isinstance(given, UserDefinedType):
        return given.sql_type()
    if isinstance(given, LogicalType):
        return given
    raise ProgramError(
        "a data type is expected",
        got=repr(given),
        todo="pass for instance DataTypes.BIGINT() or 'BIGINT'",
    )


def _types(given: TypeLike | Sequence[TypeLike] | None) -> tuple[LogicalType, ...] | None:
    if given is None:
        return None
    listed = [given] if isinstance(given, str | LogicalType | UserDefinedType) else given
    return tuple(_type(t) for t in listed)


def _row(given: TypeLike | Sequence[TypeLike]) -> RowType:
    """Return the row of what a table function emits; types alone get the names f0, f1 ..."""
    types = _types(given) or ()
    if len(types) == 1 and isinstance(types[0], RowType):
        return types[0]
    return RowType(tuple(RowField(f"f{i}", t) for i, t in enumerate(types)))


def _name(f: Any, name: str | None) -> str:
    if name is not None:
        return name
    if isinstance(f, functools.partial):
        return _name(f.func, None)
    return getattr(f, "__name__", None) or type(f).__name__


def _declared(f: Any, *kinds: type, what: str) -> Any:
    """Return an instance of the user's class, or the callable."""
    if inspect.isclass(f) and issubclass(f, UserDefinedFunction):
        f = f()
    if isinstance(f, UserDefinedFunction) and not isinstance(f, kinds):
        raise ProgramError(
            f"{what} takes a {kinds[0].__name__} or a function",
            got=type(f).__name__,
            todo=f"subclass {kinds[0].__name__}",
        )
    if not isinstance(f, UserDefinedFunction) and not callable(f):
        raise ProgramError(
            f"{what} takes a function, or an instance of {kinds[0].__name__}", got=repr(f)
        )
    return f


def _deterministic(f: Any, given: bool | None) -> bool:
    own = f.is_deterministic() if isinstance(f, UserDefinedFunction) else None
    if given is not None and own is not None and given != own:
        raise ProgramError(
            "Inconsistent deterministic",
            got=f"deterministic={given}, {type(f).__name__}.is_deterministic() is {own}",
            todo="say it in one place",
        )
    return own if given is None and own is not None else given is not False


def _pandas(func_type: str, what: str) -> bool:
    if func_type not in ("general", "pandas"):
        raise ProgramError(
            f"{what}: func_type is general or pandas", got=repr(func_type), todo="use one of them"
        )
    return func_type == "pandas"


def _site() -> str | None:
    found = capture_call_site()
    return None if found is None else str(found)


def _result(result_type: Any, what: str) -> Any:
    if result_type is None:
        raise ProgramError(
            f"{what} needs the type of the result",
            todo="pass result_type, for instance DataTypes.BIGINT()",
        )
    return result_type


def udf(
    f: Callable[..., Any] | ScalarFunction | AsyncScalarFunction | type | None = None,
    input_types: TypeLike | Sequence[TypeLike] | None = None,
    result_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Declare a scalar function; also as a decorator.

    :param f: a function, or an instance of `ScalarFunction` or `AsyncScalarFunction`.
    :param input_types: types of the arguments; left out, it takes whatever it is given.
    :param result_type: type of the result: a `DataTypes` type or its text, as "BIGINT".
    :param deterministic: whether equal arguments always give the same result. Default: True.
    :param func_type: `general`, called for each row; or `pandas`, called with series.
    """
    if f is None:
        return functools.partial(
            udf, input_types=input_types, result_type=result_type, deterministic=deterministic,
            name=name, func_type=func_type,
        )  # fmt: skip
    f = _declared(f, ScalarFunction, AsyncScalarFunction, what="udf")
    function: Any = f if isinstance(f, UserDefinedFunction) else _Delegate(f)  # type: ignore[abstract]
    is_async = isinstance(f, AsyncScalarFunction) or inspect.iscoroutinefunction(f)
    return UserDefinedFunctionWrapper(
        UserFunction(
            _name(f, name),
            "scalar",
            function,
            _type(_result(result_type, "udf")),
            _types(input_types),
            deterministic=_deterministic(f, deterministic),
            vectorized=_pandas(func_type, "udf"),
            asynchronous=is_async,
            site=_site(),
        )
    )


def udtf(
    f: Callable[..., Any] | TableFunction | type | None = None,
    input_types: TypeLike | Sequence[TypeLike] | None = None,
    result_types: TypeLike | Sequence[TypeLike] | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Declare a table function; also as a decorator.

    :param result_types: types of the columns that it emits, or one ROW type.
    """
    if f is None:
        return functools.partial(
            udtf, input_types=input_types, result_types=result_types,
            deterministic=deterministic, name=name,
        )  # fmt: skip
    f = _declared(f, TableFunction, what="udtf")
    return UserDefinedFunctionWrapper(
        UserFunction(
            _name(f, name),
            "table",
            f if isinstance(f, UserDefinedFunction) else _TableDelegate(f),  # type: ignore[abstract]
            _row(_result(result_types, "udtf")),
            _types(input_types),
            deterministic=_deterministic(f, deterministic),
            site=_site(),
        )
    )


def _aggregate(kind: str, what: str, f: Any, settings: dict[str, Any]) -> Any:
    base: type = AggregateFunction if kind == "aggregate" else TableAggregateFunction
    f = _declared(f, base, what=what)
    pandas = _pandas(settings["func_type"], what)
    own = isinstance(f, ImperativeAggregateFunction)
    if not own and not pandas:
        raise ProgramError(
            f"{what} takes an instance of {base.__name__}, or a function over columns",
            got=repr(f),
            todo="subclass it, or pass func_type='pandas'",
        )
    result, accumulator = settings["result_type"], settings["accumulator_type"]
    if result is None and own:
        result = f.get_result_type()
    declared = _result(result, what)
    return UserDefinedFunctionWrapper(
        UserFunction(
            _name(f, settings["name"]),
            kind,
            f if own else _PandasAggregate(f),
            _type(declared) if kind == "aggregate" else _row(declared),
            _types(settings["input_types"]),
            None if accumulator is None else _type(accumulator),
            deterministic=_deterministic(f, settings["deterministic"]),
            vectorized=not own,
            site=_site(),
        )
    )


def udaf(
    f: Callable[..., Any] | AggregateFunction | type | None = None,
    input_types: TypeLike | Sequence[TypeLike] | None = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Declare an aggregate function; also as a decorator.

    :param f: an instance of `AggregateFunction`, or with `func_type="pandas"` a function that is
        called with a series for each argument and returns one value.
    """
    settings = {key: value for key, value in locals().items() if key != "f"}
    if f is None:
        return functools.partial(udaf, **settings)
    return _aggregate("aggregate", "udaf", f, settings)


def udtaf(
    f: Callable[..., Any] | TableAggregateFunction | type | None = None,
    input_types: TypeLike | Sequence[TypeLike] | None = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Declare a table aggregate function; also as a decorator.

    :param f: an instance of `TableAggregateFunction`.
    """
    settings = {key: value for key, value in locals().items() if key != "f"}
    if f is None:
        return functools.partial(udtaf, **settings)
    return _aggregate("table_aggregate", "udtaf", f, settings)


__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]
