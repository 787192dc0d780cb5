"""Embeddings projected to two dimensions, neighbours and topic clusters."""
