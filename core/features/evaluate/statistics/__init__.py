"""Confidence intervals and significance tests for figures over questions."""
