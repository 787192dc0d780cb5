"""The choice of adapters for a run: models, searches, collections and workers, by the settings and by what a visitor brings."""
