"""The parts of What if, a view of Explain."""
