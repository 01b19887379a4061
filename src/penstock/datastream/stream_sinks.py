"""Where streams end: printing, files, sockets, sinks of the user's, and the user's own process."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from penstock.common.job_client import JobClient
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.base import SupportsPreprocessing
from penstock.connectors.collect import CollectSink, open_collector
from penstock.connectors.csv_sink import csv_sink
from penstock.connectors.file_sink import BucketAssigner, FileSink, RollingFileSink
from penstock.connectors.file_sink.parquet import ParquetBulkWriters
from penstock.connectors.print_sink import PrintSink
from penstock.connectors.socket_sink import SocketSink
from penstock.connectors.text_sink import TextSink, WriteMode
from penstock.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.core.functions import SinkFunction, TwoPhaseCommitSinkFunction
from penstock.core.io import Sink
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.data_stream_sink import DataStreamSink
from penstock.datastream.stream_base import StreamBase
from penstock.execution.data_frames import columns_of, find_data_frames
from penstock.graph.declared_types import printed_text_of, shown_by, text_of
from penstock.graph.function_checks import require_object
from penstock.graph.specs import MapSpec, OperatorSpec, SinkFunctionSpec, SinkSpec


class StreamSinks(StreamBase):
    """Base of streams: everything that ends one."""

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Write every record to the standard output of the user's process.

        A line is `prefix:2> record`; the prefix is `sink_identifier`, the number that of the
        subtask, left out if there is only one.
        """
        return self._print(PrintSink(sink_identifier, False), "Print to Std. Out")

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Write every record to the standard error of the user's process."""
        return self._print(PrintSink(sink_identifier, True), "Print to Std. Err")

    def write_as_text(self, path: str, write_mode: WriteMode | str | None = None) -> DataStreamSink:
        """Write `str(record)` as a line to a file; a folder of files if there are many subtasks.

        :param write_mode: OVERWRITE, or NO_OVERWRITE, the default.
        """
        encode = text_of(self._transformation.output_type) or str
        sink = TextSink(path, write_mode, encode=encode)
        return self._add_sink("Unnamed", SinkSpec(sink))

    def write_as_csv(
        self,
        path: str,
        write_mode: WriteMode | str | None = None,
        row_delimiter: str = "\n",
        field_delimiter: str = ",",
    ) -> DataStreamSink:
        """Write records (tuples, lists, Row) as lines of fields."""
        sink = csv_sink(path, write_mode, row_delimiter, field_delimiter)
        return self._add_sink("Unnamed", SinkSpec(sink))

    def write_to_socket(
        self, host_name: str, port: int, schema: Callable[[Any], Any] | Any
    ) -> DataStreamSink:
        """Send every record to a socket server, from one subtask.

        :param schema: a function of a record that returns str or bytes, or a SerializationSchema.
        """
        encode = getattr(schema, "serialize", schema)
        sink = self._add_sink("Unnamed", SinkSpec(SocketSink(host_name, port, encode)))
        return sink.set_parallelism(1)

    def add_sink(self, sink_func: SinkFunction[Any] | Sink) -> DataStreamSink:
        """Give every record to a SinkFunction."""
        require_object("add_sink()", sink_func, SinkFunction, Sink)
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        if isinstance(sink_func, TwoPhaseCommitSinkFunction):
            return self.sink_to(TwoPhaseCommitSink(sink_func))
        return self._add_sink("Unnamed", SinkFunctionSpec(sink_func))

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Give every record to a sink."""
        require_object("sink_to()", sink, Sink)
        transformer = sink.get_transformer() if isinstance(sink, SupportsPreprocessing) else None
        if transformer is not None:
            return transformer.apply(self)._add_sink("Unnamed", SinkSpec(sink))
        text = text_of(self._transformation.output_type)
        if isinstance(sink, RollingFileSink) and text is not None:
            sink = sink.written_by(text)
        return self._add_sink("Unnamed", SinkSpec(sink))

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job and bring the records of this stream to the user's process.

        Close the iterator (or use it in a `with` statement) to end a job that is still running.

        :param limit: return a list of at most so many records instead, and end the job.
        """
        collector = open_collector()
        sink = SinkSpec(CollectSink(collector.id))
        name = "Data stream collect sink"
        source = self._transformation
        if (shown := shown_by(source.output_type)) is not None:
            source = self._add_operator("Format", MapSpec(shown), [source])
            source.follows_input = True
        # Where the records are made they keep their order, and need no exchange to get here.
        self._add_operator(name, sink, [source]).follows_input = True
        handle = self._environment.submit(job_execution_name or "DataStream Collect")
        results = CloseableIterator(collector, handle)
        if limit is None:
            return results
        with results:
            # Not one record more than asked for is waited for: there may be none.
            return list(itertools.islice(results, limit))

    def to_data_frame(self, job_execution_name: str | None = None, path: str | None = None) -> Any:
        """Run the job, which must end by itself, and return this stream as a DataFrame of Spark.

        The stream must have a declared type of rows or tuples, or of a single value, which becomes
        the column `value`. The rows are written once, exactly, to Parquet files.

        :param path: folder of the files; one that goes with the process if left out.
        :raises ConfigurationError: if a DataFrame has no column for the stream's type.

        >>> counts.to_data_frame().createOrReplaceTempView("counts")  # doctest: +SKIP
        """
        folder, row_type = self._write_rows(path)
        self._environment.execute(job_execution_name or "DataStream to DataFrame")
        return find_data_frames().read(folder, row_type, streaming=False)

    def to_streaming_data_frame(
        self, job_execution_name: str | None = None, path: str | None = None
    ) -> tuple[Any, JobClient]:
        """Start the job, and return this stream as a streaming DataFrame of Spark and the job.

        A row appears when its checkpoint is complete, exactly once for a query of Spark's that has
        a checkpoint location. Types and `path` are as with `to_data_frame`.
        """
        folder, row_type = self._write_rows(path)
        job = self._environment.execute_async(job_execution_name or "DataStream to DataFrame")
        try:
            return find_data_frames().read(folder, row_type, streaming=True), job
        except BaseException:
            job.cancel()
            raise

    def _write_rows(self, path: str | None) -> tuple[str, TypeInformation]:
        folder = find_data_frames().folder() if path is None else path
        row_type, as_row = columns_of(self._transformation.output_type)
        source = self._transformation
        if as_row is not None:
            source = self._add_operator("To Row", MapSpec(as_row), [source])
            source.follows_input = True
        writers = ParquetBulkWriters.for_row_type(row_type)
        sink = (
            FileSink.for_bulk_format(folder, writers)
            .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
            .build()
        )
        self._add_operator("DataFrame", SinkSpec(sink), [source])
        return folder, row_type

    def _print(self, sink: PrintSink, name: str) -> DataStreamSink:
        source = self._transformation
        if (text := printed_text_of(source.output_type)) is not None:
            # A declared type has Flink's own way of printing, as in PyFlink.
            source = self._add_operator("Format", MapSpec(text), [source])
        return DataStreamSink(self._add_operator(name, SinkSpec(sink), [source]))

    def _add_sink(self, name: str, spec: OperatorSpec) -> DataStreamSink:
        return DataStreamSink(self._add_operator(name, spec, [self._transformation]))
