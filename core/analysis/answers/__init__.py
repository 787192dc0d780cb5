"""Answers: counts, sources, attribution, judgement and comparison of versions."""
