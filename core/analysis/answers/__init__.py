"""The answer against its sources, and answers against each other."""
