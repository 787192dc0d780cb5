"""Arithmetic in integers for the embedder that ships: a model that uses it, and kernels that are exact."""
