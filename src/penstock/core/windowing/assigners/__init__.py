"""Window assigners, one kind a module; import them from `penstock.core.windowing`."""
