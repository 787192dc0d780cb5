"""Embeddings projected to two dimensions."""
