"""Values of SQL: what built-in functions do with them. Generated code calls these functions.

Arguments are never NULL unless a docstring says so; see `graph.relational.types` for which Python
value stands for which type.
"""
