"""Formats of rows in files and messages."""
