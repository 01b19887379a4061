"""`filesystem`: files of rows, read and written."""
