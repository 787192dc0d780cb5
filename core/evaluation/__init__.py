"""Evaluation: metrics of rankings, their uncertainty, data sets with judgements, and experiments over settings."""

from core.evaluation.results_folder import load

__all__ = ["load"]
