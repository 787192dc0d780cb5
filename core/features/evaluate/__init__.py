"""Evaluation: ranking metrics, uncertainty, judged data sets, and experiments over settings."""
