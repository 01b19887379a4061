"""DataFrames of an engine: the protocol between the API and who knows them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

import pyarrow as pa

from penstock.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from penstock.core.io import Source
from penstock.errors import ConfigurationError

#: Entry point group under which an engine registers its DataFrames.
DATA_FRAMES = "penstock.data_frames"
#: The column of a stream of single values.
VALUE = "value"


class DataFrames(ABC):
    """Turns DataFrames into sources, and files into DataFrames."""

    @abstractmethod
    def source(self, data_frame: Any) -> Source:
        """Return a source of the rows of a DataFrame.

        :raises TypeMismatchError: if it is something else.
        """

    @abstractmethod
    def folder(self) -> str:
        """Return a new folder that both sides can reach, removed when the process ends."""

    @abstractmethod
    def read(self, path: str, row_type: TypeInformation, *, streaming: bool) -> Any:
        """Return the Parquet files of a folder as a DataFrame, also those that are still to come.

        :param streaming: return one that goes on with new files.
        """

    @abstractmethod
    def load(
        self, form: str, options: Mapping[str, str], settings: Mapping[str, str], *, streaming: bool
    ) -> Any:
        """Return what the engine reads in one of its own formats, as a DataFrame.

        :param settings: the job's: with them the engine is started if it is not running.
        """

    @abstractmethod
    def save(
        self, rows: pa.Table, form: str, options: Mapping[str, str], settings: Mapping[str, str]
    ) -> None:
        """Append rows to what one of the engine's own formats writes."""

    @abstractmethod
    def create(self, rows: pa.Table, settings: Mapping[str, str]) -> Any:
        """Return rows as a DataFrame."""

    @abstractmethod
    def aligned(self, data_frame: Any, wanted: pa.Schema | None) -> tuple[Any, pa.Schema]:
        """Return a DataFrame with the columns of a schema, and their types.

        Moments are clock times of UTC then, whatever the zone of the engine's session.

        :param wanted: columns by name; None: those that it has.
        :raises ConfigurationError: if it does not have one of them.
        """


def find_data_frames() -> DataFrames:
    """Return who knows DataFrames.

    :raises ConfigurationError: if no engine that is installed has them.
    """
    for point in entry_points(group=DATA_FRAMES):
        found: DataFrames = point.load()()
        return found
    raise ConfigurationError(
        "there are no DataFrames: no engine that has them is installed",
        todo="install penstock with pyspark",
    )


def columns_of(
    type_info: TypeInformation,
) -> tuple[TypeInformation, Callable[[Any], Any] | None]:
    """Return the columns for records of a type, and what turns a record into a row of them.

    >>> columns_of(Types.INT())[0].get_field_names()
    ['value']
    """
    if isinstance(type_info, RowTypeInfo):
        return type_info, None
    if isinstance(type_info, TupleTypeInfo):
        types = type_info.get_field_types()
        return Types.ROW_NAMED([f"f{number}" for number in range(len(types))], types), None
    return Types.ROW_NAMED([VALUE], [type_info]), _as_row


def _as_row(value: Any) -> tuple[Any]:
    return (value,)
