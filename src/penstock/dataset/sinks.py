"""Where data sets end: in the user's program, on the terminal, in files, in formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from penstock.connectors.batch_files import LineOutputFormat, PrintingOutputFormat
from penstock.connectors.csv_sink import CsvLine
from penstock.connectors.text_sink import WriteMode
from penstock.core.batch.formats import OutputFormat, TextFormatter
from penstock.core.batch.options import Order
from penstock.dataset.operator_settings import OperatorSettings
from penstock.errors import TypeMismatchError, show_value
from penstock.graph.call_site import capture_call_site
from penstock.graph.dataset.keys import make_sort_key
from penstock.graph.dataset.nodes import SinkKind, SinkNode


class DataSink(OperatorSettings):
    """The end of a data set, run by `env.execute()`."""

    def sort_local_output(self, field: Any, order: Order) -> DataSink:
        """Sort what each subtask writes."""
        node = self._node
        assert isinstance(node, SinkNode)
        key = make_sort_key("sort_local_output()", field, order, node.inputs[0].example)
        node.sort = (*node.sort, key)
        return self


class DataSetSinks(OperatorSettings):
    """Base of data sets: how their records are got."""

    def collect(self) -> list[Any]:
        """Run the program, and return all records of this data set as a list."""
        return list(self._run(SinkKind.COLLECT))

    def count(self) -> int:
        """Run the program, and return the number of records."""
        return int(self._run(SinkKind.COUNT))

    def print(self, sink_identifier: str | None = None) -> None:
        """Run the program and print all records; given a prefix, print in the workers instead.

        :param sink_identifier: the prefix; the sink then waits for `execute()`.
        """
        if sink_identifier is not None:
            self.print_on_task_manager(sink_identifier)
            return
        for record in self.collect():
            print(record)

    def print_to_err(self) -> None:
        """Run the program and print all records to standard error."""
        for record in self.collect():
            print(record, file=sys.stderr)

    def print_on_task_manager(self, prefix: str = "") -> DataSink:
        """Print records where they are, behind a prefix, when the program is executed."""
        return self.output(PrintingOutputFormat(prefix))

    def write_as_text(
        self, file_path: str | os.PathLike[str], write_mode: WriteMode | str | None = None
    ) -> DataSink:
        """Write `str(record)` of each record, a line each.

        A sink of parallelism 1 writes a file, any other the files `1`, `2` ... of a folder.

        :param write_mode: default: an error if the output is there already.
        """
        return self.output(LineOutputFormat(file_path, str, write_mode))

    def write_as_formatted_text(
        self,
        file_path: str | os.PathLike[str],
        formatter: Callable[[Any], str] | TextFormatter[Any],
        write_mode: WriteMode | str | None = None,
    ) -> DataSink:
        """Write a line for each record, as a formatter makes it."""
        is_object = isinstance(formatter, TextFormatter)
        return self.output(
            LineOutputFormat(file_path, formatter.format if is_object else formatter, write_mode)  # type: ignore[union-attr, arg-type]
        )

    def write_as_csv(
        self,
        file_path: str | os.PathLike[str],
        row_delimiter: str | WriteMode = "\n",
        field_delimiter: str = ",",
        write_mode: WriteMode | str | None = None,
    ) -> DataSink:
        """Write the fields of each record, a line each; nothing is quoted.

        `write_as_csv(path, WriteMode.OVERWRITE)` is Flink's short form.
        """
        if isinstance(row_delimiter, WriteMode):
            row_delimiter, write_mode = "\n", row_delimiter
        line = CsvLine(field_delimiter)
        return self.output(LineOutputFormat(file_path, line, write_mode, row_delimiter))

    def write(
        self,
        output_format: OutputFormat[Any],
        file_path: str | None = None,
        write_mode: WriteMode | str | None = None,
    ) -> DataSink:
        """Write to a format of the user's own.

        :param file_path: handed to the format's `set_output_file_path`, if it is given.
        :param write_mode: handed to the format's `set_write_mode`, if it is given.
        """
        if file_path is not None and hasattr(output_format, "set_output_file_path"):
            output_format.set_output_file_path(file_path)
        if write_mode is not None and hasattr(output_format, "set_write_mode"):
            output_format.set_write_mode(write_mode)
        return self.output(output_format)

    def output(self, output_format: OutputFormat[Any]) -> DataSink:
        """Hand the records to an output format when the program is executed."""
        if not isinstance(output_format, OutputFormat):
            raise TypeMismatchError(
                "output() needs an OutputFormat object",
                where=str(capture_call_site()),
                got=show_value(output_format),
                todo="pass an object of a subclass of OutputFormat",
            )
        node = SinkNode(
            name=f"DataSink ({type(output_format).__name__})",
            inputs=(self._node,),
            site=capture_call_site(),
            kind=SinkKind.OUTPUT,
            output=output_format,
        )
        self._env._add_sink(node)
        return DataSink(self._env, node)

    def _run(self, kind: SinkKind) -> Any:
        node = SinkNode(name=kind.value, inputs=(self._node,), site=capture_call_site(), kind=kind)
        return self._env._run(node)
