"""The parts of the History."""
