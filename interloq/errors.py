# SPDX-License-Identifier: Apache-2.0
"""The errors and warnings, as a tree. A message says what was wrong, the value seen, what would be right, and where.

InterloqError                 anything Interloq raises on purpose; the command line prints it in one line and exits 2
├── InputError                a record, file or argument that cannot be used
├── SpecError                 a spec string with an unknown component, field or value
└── MissingDependencyError    something that needs an extra which is not installed

RejectedWarning               some lines of a file were set aside, or a metric failed on some samples; the rest was used
ReadWarning                   a file was read with changes: a field under another name, messages skipped
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable


class InterloqError(Exception):
    """Base class of every error that Interloq raises on purpose."""


class InputError(InterloqError):
    """Input that cannot be used; `where` is `file:line` when it is known."""

    def __init__(self, what: str, *, hint: str = "", where: str = "") -> None:
        self.what, self.hint, self.where = what, hint, where
        message = what
        if where:
            message = f"{where}: {message}"
        if hint:
            message = f"{message}; {hint}"
        super().__init__(message)


class SpecError(InterloqError):
    """A spec string that cannot be turned into a component."""


class MissingDependencyError(InterloqError):
    """An optional dependency is needed and absent."""

    def __init__(self, needed_by: str, package: str, extra: str) -> None:
        super().__init__(
            f"{needed_by} needs the package {package!r}, which is not installed; run: pip install 'interloq[{extra}]'"
        )


class RejectedWarning(UserWarning):
    """Some of the input was not used: lines were set aside, or a metric failed on samples."""


class ReadWarning(UserWarning):
    """A file was read with changes: a field had another name, or messages were skipped."""


_SHORT = reprlib.Repr()  # limits depth as well as length: hostile values may be nested too deeply for `repr`
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def short_repr(value: object) -> str:
    """Return the value for a message, in at most 60 characters, whatever its size and depth."""
    return f"{_SHORT.repr(value):.60}"


def count(n: int, singular: str, plural: str = "") -> str:
    """Return a count that agrees with its noun, for messages: `1 pair`, `2,000 pairs`."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def find_nearest(word: str, known: Iterable[str]) -> str:
    """Return the most similar known word; empty if none is similar."""
    return next(iter(difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.5)), "")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'bleu'?`, or the list of known words if none is similar."""
    names = sorted(known)
    close = find_nearest(word, names)
    if close:
        return f"; did you mean {close!r}?"
    return f"; known: {', '.join(names)}" if names else ""
