"""What MATCH_RECOGNIZE looks for: a row of stages, their conditions, and what a match gives.

A condition and a measure read rows of the match. They are plain expressions over a wider row: the
columns of the row in hand, then the values that `Reading` lists.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.relational.expressions import AggregateCall, Expr, SortKey


@dataclass(frozen=True)
class RowValue:
    """A column of one of the rows that a variable has taken; NULL if there is no such row.

    :param variable: None: of all rows of the match.
    :param first: whether rows are counted from the first one; else from the last.
    """

    variable: str | None
    first: bool
    offset: int
    column: int


@dataclass(frozen=True)
class RowsAggregate:
    """Aggregates over all rows that a variable has taken; None: over all rows of the match."""

    variable: str | None
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True)
class Reading:
    """What expressions read of a match: single values, then the results of aggregates."""

    values: tuple[RowValue, ...] = ()
    aggregates: tuple[RowsAggregate, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.values or self.aggregates)


@dataclass(frozen=True)
class MatchStage:
    """A variable of the pattern: how many rows it takes, and which.

    :param most: None: any number.
    :param condition: None: any row. Its columns are the row's, then those of `reading`.
    """

    name: str
    least: int = 1
    most: int | None = 1
    greedy: bool = True
    condition: Expr | None = None
    reading: Reading = Reading()

    @property
    def quantifier(self) -> str:
        """How often, as it is written in a pattern."""
        short = {(1, 1): "", (0, None): "*", (1, None): "+", (0, 1): "?"}
        bounds = (self.least, self.most)
        if bounds in short:
            text = short[bounds]
        elif self.least == self.most:
            text = f"{{{self.least}}}"
        else:
            text = f"{{{self.least},{'' if self.most is None else self.most}}}"
        return text if self.greedy or not text else f"{text}?"


@dataclass(frozen=True)
class MatchSpecification:
    """All that MATCH_RECOGNIZE says.

    :param order: behind the time attribute.
    :param skip: `NEXT ROW`, `PAST LAST ROW`, `FIRST` or `LAST`; the last two with a variable.
    :param within: milliseconds.
    :param measures: over the partition's columns, then those of `reading`.
    """

    partition: tuple[int, ...]
    time: int
    is_rowtime: bool
    order: tuple[SortKey, ...]
    stages: tuple[MatchStage, ...]
    skip: str
    skip_to: str | None
    within: int | None
    measures: tuple[Expr, ...]
    reading: Reading

    def describe(self, names: list[str], measured: list[str]) -> str:
        """Return it as text, for plans and for the names of operators.

        :param names: of the input's columns.
        :param measured: of the measures.
        """
        parts = []
        if self.partition:
            parts.append(f"partitionBy=[{', '.join(names[i] for i in self.partition)}]")
        order = [f"{names[self.time]} ASC", *map(str, self.order)]
        parts.append(f"orderBy=[{', '.join(order)}]")
        measures = zip(self.measures, measured, strict=True)
        parts.append(f"measures=[{', '.join(f'{e} AS {name}' for e, name in measures)}]")
        parts.append("rowsPerMatch=[ONE ROW PER MATCH]")
        to = f"TO {self.skip} {self.skip_to}" if self.skip_to else f"{self.skip}"
        parts.append(f"after=[SKIP {'TO ' if self.skip == 'NEXT ROW' else ''}{to}]")
        pattern = " ".join(stage.name + stage.quantifier for stage in self.stages)
        within = "" if self.within is None else f" WITHIN {self.within} ms"
        parts.append(f"pattern=[({pattern}){within}]")
        define = [f"{s.name} AS {s.condition}" for s in self.stages if s.condition is not None]
        parts.append(f"define=[{', '.join(define)}]")
        return ", ".join(parts)
