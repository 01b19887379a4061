"""Read CSV files into data sets, with Flink's builder."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.connectors.csv_lines import CsvLayout, CsvLineFormat, parser_of
from penstock.connectors.file_source.source import FileSource
from penstock.dataset.data_set import DataSet
from penstock.errors import ConfigurationError, TypeMismatchError, show_value
from penstock.graph.call_site import capture_call_site

if TYPE_CHECKING:
    from penstock.dataset.environment import ExecutionEnvironment

#: A value of each type that a field can have, to check keys by before anything is read.
_EXAMPLES = {"str": "", "int": 0, "float": 0.0, "_boolean": False, "Decimal": 0, "encode": b""}


class CsvReader:
    """Say how CSV files look, then with `types` or `pojo_type` what their records are.

    >>> from penstock.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.create_collections_environment()
    >>> people = env.read_csv_file("people.csv").ignore_first_line().types(str, int)
    """

    def __init__(self, env: ExecutionEnvironment, path: str) -> None:
        self._env = env
        self._path = path
        self._layout = CsvLayout()

    def field_delimiter(self, delimiter: str) -> CsvReader:
        """Say what parts the fields of a line; default: a comma."""
        return self._with(field_delimiter=delimiter)

    def line_delimiter(self, delimiter: str) -> CsvReader:
        """Accept the end of a line; lines end with a newline, with or without a return before it.

        :raises ConfigurationError: if it is another one.
        """
        if delimiter not in ("\n", "\r\n"):
            raise ConfigurationError(
                "lines of CSV files end with a newline",
                where="line_delimiter()",
                got=show_value(delimiter),
                todo="convert the file, or read it with create_input() and a format of your own",
            )
        return self

    def parse_quoted_strings(self, quote_character: str = '"') -> CsvReader:
        """Say that fields may stand in quotes, with delimiters inside them."""
        return self._with(quote=quote_character)

    def ignore_first_line(self) -> CsvReader:
        """Leave out the first line of each file."""
        return self._with(ignore_first_line=True)

    def ignore_comments(self, comment_prefix: str) -> CsvReader:
        """Leave out lines that begin with a prefix."""
        return self._with(comment_prefix=comment_prefix)

    def ignore_invalid_lines(self) -> CsvReader:
        """Leave out lines that cannot be read, instead of failing."""
        return self._with(ignore_invalid_lines=True)

    def set_charset(self, charset: str) -> CsvReader:
        """Name the files' encoding; default: UTF-8."""
        return self._with(charset=charset)

    def include_fields(self, *fields: bool | str | int) -> CsvReader:
        """Say which columns are read.

        :param fields: a truth value for each column; or a text such as `"1010"` or `"TFTF"`.
        """
        flags: list[bool] = []
        for field in fields:
            if isinstance(field, str):
                flags += [letter in "1TtXx" for letter in field]
            else:
                flags.append(bool(field))
        return self._with(included=tuple(flags))

    def types(self, *types: Any) -> DataSet:
        """Read tuples with values of the given types: Python classes or `Types`."""
        return self._read(list(types), tuple)

    tuple_type = types

    def pojo_type(self, pojo_type: type, *pojo_fields: str) -> DataSet:
        """Read objects of a dataclass.

        :param pojo_fields: the fields that the columns stand for; default: all, in their order.
        """
        if not dataclasses.is_dataclass(pojo_type):
            raise TypeMismatchError(
                "pojo_type() needs a dataclass",
                where=str(capture_call_site()),
                got=show_value(pojo_type),
                todo="declare the class with @dataclass, or use types()",
            )
        known = {field.name: field.type for field in dataclasses.fields(pojo_type)}
        names = list(pojo_fields or known)
        wrong = [name for name in names if name not in known]
        if wrong:
            raise TypeMismatchError(
                f"{pojo_type.__name__} has no field {wrong[0]!r}",
                where=str(capture_call_site()),
                got=f"fields: {', '.join(known)}",
            )
        return self._read([_class_of(known[name]) for name in names], _Maker(pojo_type, names))

    def _read(self, types: list[Any], make: Any) -> DataSet:
        file_format = CsvLineFormat(self._layout, types, make)
        source = FileSource(file_format, [self._path])
        example = make([_EXAMPLES[parser_of(kind).__name__] for kind in types])
        return self._env._add_source(source, f"CSV {self._path}", example)

    def _with(self, **changes: Any) -> CsvReader:
        self._layout = replace(self._layout, **changes)
        return self


@dataclasses.dataclass(frozen=True)
class _Maker:
    """Make objects of a class from values in the order of some fields."""

    made: type
    names: list[str]

    def __call__(self, values: list[Any]) -> Any:
        return self.made(**dict(zip(self.names, values, strict=True)))


def _class_of(annotation: Any) -> Any:
    """Return the class that a field's annotation names; it may be text."""
    if not isinstance(annotation, str):
        return annotation
    known = {"str": str, "int": int, "float": float, "bool": bool, "bytes": bytes}
    return known.get(annotation, annotation)
