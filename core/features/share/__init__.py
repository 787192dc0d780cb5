"""Runs as exported files: bundle, HTML, documents, tables, bibliographies."""
