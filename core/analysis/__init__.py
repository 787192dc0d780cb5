"""Analyses of a run as values that pages draw: retrieval, rankings, embeddings, answers, timing.

Functions of a `Run`; those that need vectors or a model take the port.
"""
