"""Sharing a run: its export as files, and its replay."""
