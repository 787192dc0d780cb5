"""Methods: ways to run the stages for a question."""
