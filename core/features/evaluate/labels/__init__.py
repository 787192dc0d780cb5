"""Labels of a run's passages, and comparisons of two rankings by labels."""
