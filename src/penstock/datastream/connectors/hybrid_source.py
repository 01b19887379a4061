"""Sources one after another. Names and signatures are PyFlink's."""

from penstock.connectors.hybrid_source import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
