"""Retrieval, from search results to citations: attrition, traces, and contributions of queries."""
