"""Data sets: documents and judged questions, with one module for each layout on disk."""
