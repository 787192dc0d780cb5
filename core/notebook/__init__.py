"""OpenQuery in a notebook: questions asked in a cell, runs with rich displays, tables as pandas frames."""
