"""Metrics that user functions keep, under the module path that PyFlink has for them."""

from penstock.core.metrics import Counter, Distribution, Gauge, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]
