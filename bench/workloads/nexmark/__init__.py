"""Nexmark: an auction house's events, and the queries that are asked of them."""
