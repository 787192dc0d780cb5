"""The parts of the Research page."""
