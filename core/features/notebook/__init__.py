"""OpenQuery in a notebook: questions in cells, rich displays of runs, pandas tables."""
