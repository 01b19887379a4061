"""In which cases asynchronous functions try again, under PyFlink's module path."""

from penstock.core.functions.async_retry import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]
