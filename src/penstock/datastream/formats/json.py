"""JSON in files, under PyFlink's module path; JSON lines are Penstock's own."""

from penstock.connectors.file_source.json_lines import JsonLinesFormat

__all__ = ["JsonLinesFormat"]
