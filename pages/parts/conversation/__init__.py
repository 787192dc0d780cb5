"""The parts of a conversation on the Ask page."""
