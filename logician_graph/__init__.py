"""Logician: a browser workbench for agent work that is measured, not claimed."""

__version__ = "0.1.0"
