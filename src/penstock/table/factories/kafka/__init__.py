"""`kafka` and `upsert-kafka`: topics as tables."""
