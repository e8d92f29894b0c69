"""What can go wrong below the tables, by what the caller does next."""

from __future__ import annotations


class StorageError(Exception):
    """A write or read failed, or the database cannot be used: stop loudly, nothing was half-written."""


class LostOwnership(StorageError):
    """Another engine owns this run now: stop working on it and write nothing."""


class NotOpen(StorageError):
    """What was to be answered is answered or withdrawn: nothing was written, and nothing is wrong with the database."""
