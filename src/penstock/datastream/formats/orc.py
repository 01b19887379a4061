"""ORC in files, under PyFlink's module path."""

from penstock.connectors.file_sink.orc import OrcBulkWriters

__all__ = ["OrcBulkWriters"]
