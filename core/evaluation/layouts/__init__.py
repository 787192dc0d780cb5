"""Layouts of data sets on disk, one a module. Each has `load(path)`, which raises `BadInput` with file and line."""
