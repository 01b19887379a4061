"""The command line `penstock`: programs, jobs, sessions, savepoints, SQL."""
