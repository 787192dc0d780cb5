"""Integer arithmetic for the included embedder: a model that uses it, and exact kernels."""
