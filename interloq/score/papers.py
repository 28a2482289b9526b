# SPDX-License-Identifier: Apache-2.0
"""BibTeX entries of the papers in `papers.bib`; a metric names its papers in its class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from interloq.version import __version__

RELIABILITY = "gao-etal-2021-ream"  # --min-reliability
SACREBLEU = "post-2018-call"  # tokenizers of sacrebleu
OURS = "interloq"
YEAR = "2026"  # of the version


@cache
def entries() -> dict[str, str]:
    """BibTeX entries by key, with one for Interloq itself."""
    text = Path(__file__).with_name("papers.bib").read_text("utf-8")
    return {**dict(_entries(text)), OURS: _software()}


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for entry in text.split("\n\n"):
        if key := re.match(r"\s*@\w+\{([^,]+),", entry):
            yield key[1], entry.strip()


def _software() -> str:
    fields = {
        "title": "Interloq: evaluation of open-domain dialogue systems",
        "author": "{The Interloq authors}",
        "year": YEAR,
        "note": f"Python package interloq, version {__version__}",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{OURS},", *lines, "}"])
