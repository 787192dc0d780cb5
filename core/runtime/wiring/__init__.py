"""Choose the adapters of a run from settings and visitors' input."""
