"""Experiments, comparisons and evaluations in the background."""
