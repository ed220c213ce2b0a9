"""What every room stands on: parameters, lazy imports, the registry, tables, progress, the core."""
