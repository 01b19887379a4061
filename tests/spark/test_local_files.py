"""Spark's files on a local disk are written without a process and a checksum for each."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from penstock.spark.local_files import CLASS_NAME


def test_files_are_written_by_our_class(session: SparkSession, tmp_path: Path) -> None:
    jvm = session.sparkContext._jvm
    assert jvm is not None
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    files = jvm.org.apache.hadoop.fs.FileSystem.getLocal(hadoop)
    assert files.getClass().getName() == CLASS_NAME

    path = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "folder" / "file"))
    stream = files.create(path)
    stream.writeBytes("text")
    stream.close()
    assert (tmp_path / "folder" / "file").read_text() == "text"
    assert [entry.name for entry in (tmp_path / "folder").iterdir()] == ["file"]
    # Files that were written elsewhere, with a checksum beside them, are read all the same.
    assert files.open(path).read() == ord("t")
