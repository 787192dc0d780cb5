"""The version of OpenQuery."""

__version__ = "0.1.0"
