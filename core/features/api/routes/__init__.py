"""The paths of the HTTP service."""
