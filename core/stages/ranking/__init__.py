"""Parts of the rank stage: BM25, diversity, duplicates, calibration and context selection."""
