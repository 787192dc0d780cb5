"""Intervals, tests and agreement: what figures over questions show."""
