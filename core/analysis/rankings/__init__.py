"""Rankings: rows, curves, comparisons, ablations, duplicates and the null distribution."""
