"""Evaluation: ranking metrics, uncertainty, judged data sets, and experiments over settings."""

from core.features.evaluate.results_folder import load

__all__ = ["load"]
