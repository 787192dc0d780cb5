"""Markdown of models and web pages: parsing, display, files and sentences."""
