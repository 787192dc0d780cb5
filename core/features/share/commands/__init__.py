"""The commands `export`, `open`, `replay` and `key`."""
