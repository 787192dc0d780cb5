"""The commands `openquery eval ...`, which measure, compare and check settings and answers."""
