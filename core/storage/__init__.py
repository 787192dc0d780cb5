"""Runs and files on disk."""
