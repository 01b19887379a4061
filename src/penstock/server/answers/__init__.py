"""Flink's REST answers as functions of snapshots: no server, no state, no clock.

`table.py` lists all answers about one job by path; the app serves them, an archive holds them.
"""
