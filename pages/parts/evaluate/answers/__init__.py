"""The parts of the Answers view on the Evaluate page."""
