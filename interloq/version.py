"""The version, defined here only."""

__version__ = "0.1.0"
