"""The parts of a conversation on the Research page."""
