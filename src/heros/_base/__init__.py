"""Shared base modules: parameters, lazy imports, the registry, tables, progress bars, the compiled core."""
