"""Two answers side by side, and their differences."""
