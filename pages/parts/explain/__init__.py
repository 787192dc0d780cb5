"""The views of the Explain page."""
