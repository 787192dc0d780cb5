"""Runs as files that leave: a bundle, one HTML file, documents, tables, bibliographies."""
