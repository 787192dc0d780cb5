"""Retrieval, from search results to citations: attrition, traces, and queries' contributions."""
