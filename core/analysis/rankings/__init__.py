"""Rankings: rows and curves, comparisons, ablations, duplicates and the null distribution of scores."""
