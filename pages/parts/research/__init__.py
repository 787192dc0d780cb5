"""The parts of the Ask page."""
