"""Intervals and tests: what figures over questions show."""
