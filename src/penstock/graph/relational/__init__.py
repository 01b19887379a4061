"""Relational programs as plain data: logical types, typed expressions, functions, plans."""
