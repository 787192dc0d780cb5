"""Metrics of a ranking, of retrieved text and of an answer."""
