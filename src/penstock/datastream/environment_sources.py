"""Sources: where the streams of an environment begin."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from operator import getitem
from typing import Any

from penstock.common import Duration, TypeInformation, Types, WatermarkStrategy
from penstock.connectors.collection import CollectionSource
from penstock.connectors.data_generator import DataGeneratorSource
from penstock.connectors.file_source.file_format import FileFormat
from penstock.connectors.file_source.source import FileProcessingMode, FileSourceBuilder
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.connectors.socket import SocketSource
from penstock.connectors.source_function import SourceFunctionSource
from penstock.connectors.text_file import TextFileSource
from penstock.core.functions import SourceFunction
from penstock.core.io import Source
from penstock.datastream.environment_settings import EnvironmentSettings
from penstock.datastream.stream import DataStream
from penstock.errors import TypeMismatchError
from penstock.execution.data_frames import find_data_frames
from penstock.graph.call_site import capture_call_site
from penstock.graph.declared_types import make_converter
from penstock.graph.function_checks import require_object
from penstock.graph.specs import SourceSpec
from penstock.graph.transformations import OperatorTransformation


class EnvironmentSources(EnvironmentSettings):
    """Base of the environment: makes streams from sources."""

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Read from a source, with watermarks made for each of its splits.

        :param watermark_strategy: `WatermarkStrategy.no_watermarks()` if time does not matter.
        :param source_name: name of the operator.
        """
        require_object("from_source()", source, Source)
        return self._add_source(source, source_name, type_info, watermark_strategy)

    def add_source(
        self,
        source_func: SourceFunction[Any] | Source,
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Read from a SourceFunction of the user's, or from a source without watermarks."""
        require_object("add_source()", source_func, SourceFunction, Source)
        source = (
            source_func if isinstance(source_func, Source) else SourceFunctionSource(source_func)
        )
        return self._add_source(source, source_name, type_info)

    def create_input(
        self, input_format: Source, type_info: TypeInformation | None = None
    ) -> DataStream:
        """Read from a source that Flink would call an input format."""
        require_object("create_input()", input_format, Source)
        return self._add_source(input_format, "Custom File Source", type_info)

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """Make a stream of the elements of a collection, read in one subtask.

        :param type_info: type of the elements; elements of a ROW type become `Row` objects.
        """
        source = CollectionSource(_converted(collection, type_info))
        return self._add_source(source, "Collection Source", type_info)

    def from_elements(self, *elements: Any, type_info: TypeInformation | None = None) -> DataStream:
        """Make a stream of the given elements, read in one subtask."""
        return self.from_collection(elements, type_info)

    def from_parallel_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """Make a stream of the elements of a collection, dealt out to all subtasks in turn."""
        elements = _converted(collection, type_info)
        source = DataGeneratorSource(partial(getitem, elements), count=len(elements))
        return self._add_source(source, "Parallel Collection Source", type_info)

    def from_data_frame(self, data_frame: Any, source_name: str = "DataFrame") -> DataStream:
        """Make a stream of the rows of a DataFrame of Spark, batch or streaming.

        The records are `Row` objects with the columns' names; their type is known. Rows of one
        partition stay in order and go to one subtask. A column of type TIMESTAMP gives times
        without a zone, as the session's time zone shows them.

        Rows are kept in the job's folder until a checkpoint no longer needs them. So a job that is
        started again goes on with exactly the rows that it has not counted, if it has a checkpoint
        directory: a batch DataFrame is computed once, and a streaming one goes on from a
        checkpoint of its own that lies in the same folder.

        >>> env.from_data_frame(spark.read.parquet("orders"))  # doctest: +SKIP
        >>> env.from_data_frame(spark.readStream.format("rate").load())  # doctest: +SKIP
        """
        return self._add_source(find_data_frames().source(data_frame), source_name, None)

    def generate_sequence(self, from_: int, to: int) -> DataStream:
        """Make a stream of the numbers `from_` to `to`, both included, read in parallel."""
        return self._add_source(NumberSequenceSource(from_, to), "Sequence Source", Types.LONG())

    def from_sequence(self, from_: int, to: int) -> DataStream:
        """Do what `generate_sequence` does; Flink's newer name."""
        return self.generate_sequence(from_, to)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream:
        """Make a stream of the lines of a file, of the files of a folder or of a glob pattern."""
        source = TextFileSource(file_path, charset_name)
        return self._add_source(source, "Text File Source", Types.STRING())

    def read_file(
        self,
        input_format: FileFormat,
        file_path: str,
        watch_type: FileProcessingMode = FileProcessingMode.PROCESS_ONCE,
        interval: int = -1,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Make a stream of the records of a file, of the files of a folder or of a glob pattern.

        :param input_format: how to read them, for instance `StreamFormat.text_line_format()`.
        :param watch_type: whether to go on for ever and read files that appear. Unlike Flink's,
            a file that is changed afterwards is not read again.
        :param interval: milliseconds between two looks for new files.
        """
        require_object("read_file()", input_format, FileFormat)
        builder = FileSourceBuilder(input_format, [file_path])
        if watch_type is FileProcessingMode.PROCESS_CONTINUOUSLY:
            builder.monitor_continuously(Duration.of_millis(interval))
        return self._add_source(builder.build(), "Custom File Source", type_info)

    def socket_text_stream(
        self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0
    ) -> DataStream:
        """Make a stream of the lines that a socket server sends.

        :param max_retry: seconds to go on trying to connect; -1 for ever.
        """
        source = SocketSource(hostname, port, delimiter, max_retry)
        return self._add_source(source, "Socket Stream", Types.STRING())

    def _add_source(
        self,
        source: Source,
        name: str,
        type_info: TypeInformation | None,
        strategy: WatermarkStrategy | None = None,
    ) -> DataStream:
        type_info = type_info or source.get_produced_type()
        spec = SourceSpec(source, strategy)
        operator = OperatorTransformation(name, spec, [], self.get_parallelism(), type_info)
        if not source.parallel:
            operator.force_non_parallel()
        return DataStream(self, operator)  # type: ignore[arg-type]


def _converted(collection: Iterable[Any], type_info: TypeInformation | None) -> list[Any]:
    """Return the elements as ones of the declared type: a wrong one is an error of this line."""
    convert = make_converter(type_info)
    if convert is None:
        return list(collection)
    try:
        return [convert(element) for element in collection]
    except TypeMismatchError as error:
        error.where = str(capture_call_site())
        raise
