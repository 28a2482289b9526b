# SPDX-License-Identifier: Apache-2.0
"""File system errors in one line: what could not be written, why, and what to do."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from interloq.data.files.folders import PART
from interloq.errors import InputError

LONGEST = 160  # characters of a library's message
HINTS = {
    errno.ENOSPC: "free some space and run the command again",
    errno.EDQUOT: "free some of your quota and run the command again",
    errno.EFBIG: "write to a disk without that limit (see `ulimit -f`)",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
    errno.EIO: "check the disk",
    errno.EMFILE: "raise the limit on open files (see `ulimit -n`)",
    errno.EXDEV: "choose an output on a single disk",
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST), "choose another output"),
    **dict.fromkeys((errno.ENOTEMPTY, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL), "choose another output"),
}


@contextlib.contextmanager
def writing(path: str | Path, *also: type[Exception]) -> Iterator[None]:
    """Turn file system errors into one line about this output; `also` lists exceptions of a library to treat alike."""
    try:
        yield
    except also as error:
        raise InputError(f"cannot write {_target(path)}: {format_error_line(error)}", hint=hint(error)) from error
    except OSError as error:
        if not is_of_files(error):
            raise
        other = f" ({error.filename})" if Path(path).name not in str(error.filename or path) else ""
        raise InputError(
            f"cannot write {_target(path)}: {format_error_line(error)}{other}", hint=hint(error)
        ) from error


def _target(path: str | Path) -> str:
    """Return the final name of a path: users do not know `.NAME.….part`."""
    names = str(path).split("/")
    for i, name in enumerate(names):
        if part := PART.fullmatch(name):
            names[i] = part[1]
    return "/".join(names)


def is_of_files(error: OSError) -> bool:
    """Return whether an error is about a file, not a network or a program; errors of numpy's writers have no number."""
    return error.errno in HINTS or (error.errno is None and type(error) is OSError)


def format_error_line(error: Exception) -> str:
    """Return an error in one line of limited length."""
    text = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1] + "…"


def hint(error: Exception) -> str:
    """Return the hint for an error number, even if only the message names it; by default, the hint for a full disk."""
    if getattr(error, "errno", None) in HINTS:
        return HINTS[error.errno]  # type: ignore[attr-defined]
    for number, hint_of_number in HINTS.items():
        if os.strerror(number) in str(error):
            return hint_of_number
    return HINTS[errno.ENOSPC]
