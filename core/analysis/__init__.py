"""A run seen from every side: what became of it, what each part contributed, and how far to trust a score.

Functions of a `Run` and of nothing else; those that need vectors or a model are handed the port.
"""
