"""The environment of a DataSet program: where data sets begin, and where they are computed."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from typing import Any

from penstock.common import Configuration, ExecutionConfig, JobExecutionResult, TypeInformation
from penstock.common.options import MASTER, PARALLELISM
from penstock.connectors.csv_lines import CsvLayout, CsvLineFormat, parser_of
from penstock.connectors.file_paths import absolute, store_of
from penstock.connectors.file_source.json_lines import JsonLinesFormat
from penstock.connectors.file_source.parquet_format import ParquetColumnarRowInputFormat
from penstock.connectors.file_source.source import FileSource
from penstock.connectors.file_source.stream_format import TextLineFormat
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.core.batch.formats import InputFormat
from penstock.core.io import Source
from penstock.dataset.csv_reader import CsvReader
from penstock.dataset.data_set import DataSet
from penstock.errors import ConfigurationError, GraphError, TypeMismatchError, show_value
from penstock.execution.batch import BatchRequest, find_batch_engine
from penstock.execution.configuration import lay_over, load_configuration, local_cores
from penstock.graph.call_site import capture_call_site
from penstock.graph.dataset.keys import UNKNOWN
from penstock.graph.dataset.nodes import SinkNode, SourceNode
from penstock.graph.dataset.render import to_json

_DEFAULT_NAME = "Penstock Batch Job"


class ExecutionEnvironment:
    """The context of a DataSet program.

    >>> env = ExecutionEnvironment.create_collections_environment()
    >>> env.generate_sequence(1, 4).map(lambda n: n * n).collect()
    [1, 4, 9, 16]
    """

    def __init__(self, configuration: Configuration | None = None, engine: str = "spark") -> None:
        self._configuration = load_configuration()
        if configuration is not None:
            lay_over(self._configuration, configuration)
        self._config = ExecutionConfig()
        self._engine = engine
        self._sinks: list[SinkNode] = []
        self._executed = False
        self._cached_files: dict[str, str] = {}
        self._last: JobExecutionResult | None = None
        self._id = uuid.uuid4().hex

    # --- environments ---------------------------------------------------------------------

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> ExecutionEnvironment:
        """Return an environment with the settings of file and client, on Spark."""
        return ExecutionEnvironment(configuration)

    @staticmethod
    def create_local_environment(
        parallelism: int | None = None, configuration: Configuration | None = None
    ) -> ExecutionEnvironment:
        """Return an environment that runs on a Spark of this machine."""
        env = ExecutionEnvironment(configuration)
        env._configuration.remove_config(MASTER.key)
        return env if parallelism is None else env.set_parallelism(parallelism)

    @staticmethod
    def create_collections_environment() -> ExecutionEnvironment:
        """Return an environment that computes on lists in this process, without Spark.

        For tests and small data: parallelism 1, everything in memory.
        """
        return ExecutionEnvironment(engine="collections").set_parallelism(1)

    @staticmethod
    def create_remote_environment(
        master: str, port: int | None = None, *jar_files: str
    ) -> ExecutionEnvironment:
        """Return an environment that runs on a Spark master.

        :param master: a master URL, for instance `spark://host:7077`; or a host name.
        :param port: port of a standalone master, if `master` is a host name.
        :param jar_files: accepted; there is nothing in a JVM to find in them.
        """
        env = ExecutionEnvironment()
        url = master if port is None else f"spark://{master}:{port}"
        env._configuration.set_string(MASTER.key, url)
        return env

    # --- settings -------------------------------------------------------------------------

    def get_config(self) -> ExecutionConfig:
        """Return the settings that concern the execution of functions."""
        return self._config

    def get_configuration(self) -> Configuration:
        """Return all settings by key."""
        return self._configuration

    def set_parallelism(self, parallelism: int) -> ExecutionEnvironment:
        """Set the number of subtasks of operators that do not say."""
        if not isinstance(parallelism, int) or parallelism < 1:
            raise ConfigurationError(
                "the parallelism must be at least 1",
                where="set_parallelism()",
                got=show_value(parallelism),
            )
        self._configuration.set(PARALLELISM, parallelism)
        return self

    def get_parallelism(self) -> int:
        """Return the number of subtasks of operators that do not say; default: the cores."""
        return self._configuration.get(PARALLELISM) or local_cores()

    def get_id(self) -> str:
        """Return the id of this environment."""
        return self._id

    def register_cached_file(
        self, file_path: str | os.PathLike[str], name: str, executable: bool = False
    ) -> None:
        """Make a file known to all subtasks under a name.

        A function gets it by `get_runtime_context().get_distributed_cache().get_file(name)`.

        :raises ConfigurationError: if there is no such file.
        """
        path = absolute(file_path)
        if not store_of(path).exists(path):
            raise ConfigurationError(
                "the file to be cached does not exist",
                where=f"register_cached_file() at {capture_call_site()}",
                got=path,
            )
        self._cached_files[name] = path

    # --- sources --------------------------------------------------------------------------

    def from_collection(
        self, data: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataSet:
        """Make a data set of the elements of a collection, in parts for all subtasks.

        :param type_info: accepted; elements are of any type.
        """
        elements = list(data)
        example = elements[0] if elements else UNKNOWN
        return self._add_source(elements, "Collection", example)

    def from_elements(self, *elements: Any) -> DataSet:
        """Make a data set of the given elements."""
        return self.from_collection(elements)

    def from_parallel_collection(
        self, iterator: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataSet:
        """Do what `from_collection` does: all collections are read in parallel."""
        return self.from_collection(iterator, type_info)

    def generate_sequence(self, from_: int, to: int) -> DataSet:
        """Make a data set of the numbers `from_` to `to`, both included."""
        return self._add_source(NumberSequenceSource(from_, to), "Sequence", from_)

    def read_text_file(
        self, file_path: str | os.PathLike[str], charset_name: str = "UTF-8"
    ) -> DataSet:
        """Make a data set of the lines of a file, of a folder with all below it, or of a pattern.

        Compressed files are unpacked; large ones are read in parallel.
        """
        source = FileSource(TextLineFormat(charset_name), [file_path])
        return self._add_source(source, f"Text {os.fspath(file_path)}", "")

    #: Flink's `StringValue` is a `str` here.
    read_text_file_with_value = read_text_file

    def read_csv_file(self, file_path: str | os.PathLike[str]) -> CsvReader:
        """Begin to read CSV files: say how they look, then `types(...)`."""
        return CsvReader(self, os.fspath(file_path))

    def read_file_of_primitives(
        self,
        file_path: str | os.PathLike[str],
        type_class: Any,
        delimiter: str = "\n",
    ) -> DataSet:
        """Make a data set of single values, parted by newlines or by another delimiter.

        :param type_class: `str`, `int`, `float`, `bool`, `Decimal` or a basic type of `Types`.
        """
        if delimiter == "\n":
            layout = CsvLayout(field_delimiter="\0")
            values: Any = CsvLineFormat(layout, [type_class], _only)
            return self._add_source(FileSource(values, [file_path]), "Primitives", UNKNOWN)
        parse = parser_of(type_class)
        lines = self.read_text_file(file_path)
        return lines.flat_map(
            lambda line: [parse(text) for text in line.split(delimiter) if text]
        ).name("Primitives")

    def read_json_lines(
        self, file_path: str | os.PathLike[str], type_info: TypeInformation | None = None
    ) -> DataSet:
        """Make a data set of JSON values, one on each line: dicts, or rows of a ROW type."""
        source = FileSource(JsonLinesFormat(type_info), [file_path])
        return self._add_source(source, "JSON lines", UNKNOWN)

    def read_parquet_file(
        self, file_path: str | os.PathLike[str], row_type: TypeInformation
    ) -> DataSet:
        """Make a data set of the rows of Parquet files.

        :param row_type: a ROW type with the columns that are read.
        """
        source = FileSource(ParquetColumnarRowInputFormat(row_type), [file_path])
        return self._add_source(source, "Parquet", UNKNOWN)

    def create_input(
        self, input_format: Source | InputFormat[Any], type_info: TypeInformation | None = None
    ) -> DataSet:
        """Read a bounded source, or an input format of the user's own."""
        if not isinstance(input_format, (Source, InputFormat)):
            raise TypeMismatchError(
                "create_input() needs an InputFormat or a bounded Source",
                where=str(capture_call_site()),
                got=show_value(input_format),
            )
        return self._add_source(input_format, type(input_format).__name__, UNKNOWN)

    # --- execution ------------------------------------------------------------------------

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Compute everything that sinks were added for since the last execution.

        `collect`, `count` and `print` have executed the program already.

        :raises GraphError: if there is no sink.
        :raises JobError: if the job failed.
        """
        self._require_sinks("execute()")
        return self._execute([], job_name)[0]

    def get_execution_plan(self) -> str:
        """Return the plan of what would be executed now, as JSON.

        :raises GraphError: if there is no sink.
        """
        self._require_sinks("get_execution_plan()")
        return to_json(self._sinks, self.get_parallelism())

    def get_last_job_execution_result(self) -> JobExecutionResult | None:
        """Return the result of the last execution, with its accumulators; None before any."""
        return self._last

    def _require_sinks(self, call: str) -> None:
        if not self._sinks:
            after = (
                " since the last execution: collect(), count() and print() execute by themselves"
            )
            raise GraphError(
                "there is nothing to execute: no sink was added"
                + (after if self._executed else ""),
                where=f"{call} at {capture_call_site()}",
                todo=f"add a sink (write_as_text(), output() ...), or leave this {call} out",
            )

    def _add_sink(self, sink: SinkNode) -> None:
        self._sinks.append(sink)

    def _run(self, sink: SinkNode) -> Any:
        return self._execute([sink], None)[1][sink.id]

    def _execute(
        self, more: list[SinkNode], job_name: str | None
    ) -> tuple[JobExecutionResult, dict[int, Any]]:
        sinks, self._sinks = [*self._sinks, *more], []
        self._executed = True
        request = BatchRequest(
            sinks=sinks,
            parallelism=self.get_parallelism(),
            configuration=self._configuration.to_dict(),
            job_name=job_name or _DEFAULT_NAME,
            cached_files=dict(self._cached_files),
            job_parameters=self._config.get_global_job_parameters(),
        )
        result = find_batch_engine(self._engine).run(request)
        self._last = result.job
        return result.job, result.values

    def _add_source(self, source: Any, name: str, example: Any) -> DataSet:
        node = SourceNode(
            name=f"DataSource ({name})", site=capture_call_site(), source=source, example=example
        )
        return DataSet(self, node)


def _only(values: list[Any]) -> Any:
    return values[0]
