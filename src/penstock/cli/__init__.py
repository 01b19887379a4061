"""The command line: `penstock run`, `list`, `savepoint`, `stop`, `cancel`."""
