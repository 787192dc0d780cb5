"""Data sets: documents and questions with judgements, one module for each layout on disk."""
