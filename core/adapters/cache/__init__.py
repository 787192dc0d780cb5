"""Caches on disk: pages, articles, embeddings."""
