"""Parts of the rank stage: BM25, diversity, duplicates, calibration, and the choice of the context."""
