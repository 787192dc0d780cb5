"""The parts of the Answers view of the Evaluate page."""
