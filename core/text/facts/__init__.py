"""Comparison of numbers, dates and names of texts."""
