"""Faults of every part of a run, as tables; `tests/test_faults.py` runs them."""
