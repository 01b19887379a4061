"""Flink's REST API and the dashboard, over snapshots of jobs; and the session that runs jobs."""
