"""A run as the bodies of responses."""
