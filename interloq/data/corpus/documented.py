"""Fields that carry their own help, from which the settings file and the options of the command line are made."""

from __future__ import annotations

from dataclasses import field
from typing import TypeVar

T = TypeVar("T")


def documented(default: T, help: str) -> T:
    """A dataclass field with a default and one line that says what it does."""
    return field(default=default, metadata={"help": help})
