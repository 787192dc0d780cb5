"""The version of OpenQuery."""

__version__ = "0.2.0"
