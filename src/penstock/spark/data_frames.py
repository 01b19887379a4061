"""DataFrames of Spark as sources, and results as DataFrames.

A DataFrame's rows are staged as Parquet files by its own executors, and read by the job's workers.
A streaming DataFrame is a query of its own, whose checkpoint lies in the source's folder.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as spark_types
from pyspark.sql.functions import col, convert_timezone, current_timezone, lit
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming import StreamingQuery

from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types
from penstock.connectors.arrow_types import arrow_schema, file_row_type
from penstock.connectors.file_paths import absolute, is_local, join, store_of
from penstock.connectors.staged_rows import ROWS_OF_A_FILE, Stage, StagedRowsSource, Stager
from penstock.core.io import Source
from penstock.errors import ConfigurationError, SourceError, TypeMismatchError, show_value
from penstock.execution.data_frames import DataFrames
from penstock.spark.session import open_session

_PLAIN: dict[type[spark_types.DataType], Callable[[], TypeInformation]] = {
    spark_types.StringType: Types.STRING,
    spark_types.CharType: Types.STRING,
    spark_types.VarcharType: Types.STRING,
    spark_types.BooleanType: Types.BOOLEAN,
    spark_types.ByteType: Types.BYTE,
    spark_types.ShortType: Types.SHORT,
    spark_types.IntegerType: Types.INT,
    spark_types.LongType: Types.LONG,
    spark_types.FloatType: Types.FLOAT,
    spark_types.DoubleType: Types.DOUBLE,
    spark_types.DecimalType: Types.BIG_DEC,
    spark_types.DateType: Types.SQL_DATE,
    spark_types.TimestampType: Types.SQL_TIMESTAMP,
    spark_types.TimestampNTZType: Types.SQL_TIMESTAMP,
}


class SparkDataFrames(DataFrames):
    """DataFrames of PySpark."""

    def source(self, data_frame: Any) -> Source:
        if not isinstance(data_frame, DataFrame):
            raise _no_frame(data_frame)
        names = data_frame.columns
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigurationError(
                "the columns of a DataFrame must have different names",
                where="from_data_frame()",
                got=f"{', '.join(twice)} more than once",
                todo="rename them: data_frame.toDF(...)",
            )
        row_type = row_type_of(data_frame.schema)
        bounded = not data_frame.isStreaming
        return StagedRowsSource(lambda: _FrameStager(data_frame), row_type, bounded=bounded)

    def folder(self) -> str:
        folder = tempfile.mkdtemp(prefix="penstock-frame-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def read(self, path: str, row_type: TypeInformation, *, streaming: bool) -> Any:
        # The one that the job runs in, or has run in.
        session = SparkSession.builder.getOrCreate()
        store_of(absolute(path)).make_folder(absolute(path))
        reader = session.readStream if streaming else session.read
        schema = from_arrow_schema(arrow_schema(file_row_type(row_type)))
        return reader.schema(schema).parquet(_url_of(path))

    def load(
        self, form: str, options: Mapping[str, str], settings: Mapping[str, str], *, streaming: bool
    ) -> Any:
        session = open_session(settings, slots=1)
        reader: Any = session.readStream if streaming else session.read
        try:
            return reader.format(form).options(**options).load()
        except Exception as error:
            raise _refused("read", form, error) from None

    def save(
        self, rows: pa.Table, form: str, options: Mapping[str, str], settings: Mapping[str, str]
    ) -> None:
        try:
            frame = self.create(rows, settings)
            frame.write.format(form).options(**options).mode("append").save()
        except Exception as error:
            raise _refused("written", form, error) from None

    def create(self, rows: pa.Table, settings: Mapping[str, str]) -> Any:
        types = from_arrow_schema(rows.schema, prefer_timestamp_ntz=True)
        return open_session(settings, slots=1).createDataFrame(rows, types)

    def aligned(self, data_frame: Any, wanted: pa.Schema | None) -> tuple[Any, pa.Schema]:
        if not isinstance(data_frame, DataFrame):
            raise _no_frame(data_frame)
        schema = to_arrow_schema(data_frame.schema, timezone="UTC") if wanted is None else wanted
        missing = [name for name in schema.names if name not in data_frame.columns]
        if missing:
            raise ConfigurationError(
                "a DataFrame does not have all columns of the table",
                got=f"columns {', '.join(data_frame.columns)}",
                todo=f"it lacks {', '.join(missing)}: correct the names in CREATE TABLE",
            )
        types = from_arrow_schema(schema, prefer_timestamp_ntz=True)
        columns = [_in_utc(field) for field in types.fields]
        return data_frame.select(*columns), schema


def _no_frame(value: Any) -> TypeMismatchError:
    return TypeMismatchError(
        "from_data_frame() needs a DataFrame of Spark",
        got=show_value(value),
        todo="make one of other data with spark.createDataFrame()",
    )


def _in_utc(field: spark_types.StructField) -> Column:
    """Return a column of a type; a moment as what a clock shows in UTC."""
    name = "`{}`".format(field.name.replace("`", "``"))
    found = col(name).cast(field.dataType)
    if isinstance(field.dataType, spark_types.TimestampType):
        clock = found.cast(spark_types.TimestampNTZType())
        found = convert_timezone(current_timezone(), lit("UTC"), clock)
    return found.alias(field.name)


def _refused(verb: str, form: str, error: BaseException) -> ConfigurationError:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return ConfigurationError(
        f"Spark's format {form!r} cannot be {verb}",
        where="'connector' = 'spark'",
        got=" ".join(lines[:2]) or type(error).__name__,
        todo="check 'format' and the options, which are Spark's own",
    )


class _FrameStager(Stager):
    """Stages a DataFrame: a batch one as a whole, a streaming one batch by batch."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self._session = frame.sparkSession
        self._group = f"penstock-frame-{uuid.uuid4().hex}"
        self._query: StreamingQuery | None = None
        self._stage: Stage
        self._wake: Callable[[], None]
        self._fail: Callable[[BaseException], None]
        self._stopped = False

    def start(
        self, stage: Stage, wake: Callable[[], None], fail: Callable[[BaseException], None]
    ) -> None:
        self._stage, self._wake, self._fail = stage, wake, fail
        work: Callable[[], Any] = self._stage_whole
        if self._frame.isStreaming:
            self._query = (
                self._frame.writeStream.foreachBatch(self._stage_batch)
                .option("checkpointLocation", _url_of(join(stage.directory, "checkpoint")))
                .start()
            )
            work = self._query.awaitTermination
        threading.Thread(
            target=self._run, args=(work,), name="penstock-data-frame", daemon=True
        ).start()

    def stop(self) -> None:
        self._stopped = True
        if self._query is not None:
            self._query.stop()
        else:
            self._session.sparkContext.cancelJobGroup(self._group)

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except Exception as error:
            if not self._stopped:
                self._fail(_failed(error))

    def _stage_whole(self) -> None:
        self._session.sparkContext.setJobGroup(self._group, "rows for Penstock")
        self._write(self._frame, 0, last=True)

    def _stage_batch(self, frame: DataFrame, number: int) -> None:
        # A batch that Spark repeats may be in the job's results already.
        if self._stage.has(number):
            return
        if not self._stage.wait_for_room():
            raise RuntimeError("the job has ended: the batch is staged when it goes on")
        self._write(frame, number)

    def _write(self, frame: DataFrame, number: int, *, last: bool = False) -> None:
        folder = _url_of(self._stage.folder_of(number))
        rows = frame.select(*map(_staged_column, frame.schema.fields))
        rows.write.mode("overwrite").option("maxRecordsPerFile", ROWS_OF_A_FILE).parquet(folder)
        self._stage.add(number, last=last)
        self._wake()


def _url_of(path: str) -> str:
    """Return a path as Spark takes it for what it is, whatever its default file system."""
    path = absolute(path)
    return Path(path).as_uri() if is_local(path) else path


def row_type_of(schema: spark_types.StructType) -> RowTypeInfo:
    """Return the type of the rows of a DataFrame.

    :raises ConfigurationError: if a column has a type without a counterpart.
    """
    types = [_type_of(field.dataType, field.name) for field in schema.fields]
    return Types.ROW_NAMED(schema.fieldNames(), types)


def _type_of(kind: spark_types.DataType, column: str) -> TypeInformation:
    if type(kind) in _PLAIN:
        return _PLAIN[type(kind)]()
    if isinstance(kind, spark_types.BinaryType):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    if isinstance(kind, spark_types.ArrayType):
        return Types.LIST(_type_of(kind.elementType, column))
    if isinstance(kind, spark_types.MapType):
        return Types.MAP(_type_of(kind.keyType, column), _type_of(kind.valueType, column))
    if isinstance(kind, spark_types.StructType):
        return row_type_of(kind)
    raise ConfigurationError(
        "a column of a DataFrame has a type that records do not have",
        where=f"from_data_frame(), column {column!r}",
        got=kind.simpleString(),
        todo="cast the column to another type, or leave it out with select()",
    )


def _staged_column(field: spark_types.StructField) -> Column:
    name = "`{}`".format(field.name.replace("`", "``"))
    return col(name).cast(_without_zone(field.dataType)).alias(field.name)


def _without_zone(kind: spark_types.DataType) -> spark_types.DataType:
    """Return a type in which times are what the session's time zone shows."""
    if isinstance(kind, spark_types.TimestampType):
        return spark_types.TimestampNTZType()
    if isinstance(kind, spark_types.ArrayType):
        return spark_types.ArrayType(_without_zone(kind.elementType), kind.containsNull)
    if isinstance(kind, spark_types.MapType):
        key, value = _without_zone(kind.keyType), _without_zone(kind.valueType)
        return spark_types.MapType(key, value, kind.valueContainsNull)
    if isinstance(kind, spark_types.StructType):
        return spark_types.StructType(
            [
                spark_types.StructField(each.name, _without_zone(each.dataType), each.nullable)
                for each in kind.fields
            ]
        )
    return kind


def _failed(error: BaseException) -> SourceError:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return SourceError(
        "Spark cannot compute the rows of a DataFrame",
        got=" ".join(lines[:3]) or type(error).__name__,
        todo="try data_frame.show(), or a query with writeStream, outside the job",
    )
