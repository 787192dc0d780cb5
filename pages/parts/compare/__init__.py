"""The parts of the Compare page."""
