"""Markdown of models and web pages: parsed once, written for the screen and for files, read as sentences."""
