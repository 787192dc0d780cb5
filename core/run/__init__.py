"""A run as data: its events, its state and its JSON."""
