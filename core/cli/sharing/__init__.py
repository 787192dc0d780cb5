"""The commands that take runs out, in and through again: `export`, `open`, `replay`."""
