"""Analyses of a run as values that pages draw: retrieval, rankings, embeddings, answers, timing.

Functions take a `Run`, and a port if they need vectors or a model.
"""
