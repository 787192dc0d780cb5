"""Answers to the questions of a data set, measured and judged."""
