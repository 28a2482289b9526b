# SPDX-License-Identifier: Apache-2.0
"""Folder for results that can be computed again, and for answers of servers that would be paid for again.

It is named by INTERLOQ_CACHE (default: `interloq` in the user's cache folder); `off` disables the cache.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """Return the folder of the cache; None if it is off."""
    given = os.environ.get("INTERLOQ_CACHE", "")
    if given == "off":
        return None
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else base / "interloq"
