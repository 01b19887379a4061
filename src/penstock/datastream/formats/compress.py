"""Compressed lines in files; PyFlink has no module for them, Flink has the class."""

from penstock.connectors.file_sink.compress import CompressWriterFactory, CompressWriters

__all__ = ["CompressWriterFactory", "CompressWriters"]
