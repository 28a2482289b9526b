# SPDX-License-Identifier: Apache-2.0
"""The one Unicode form of all texts, so that texts that look the same are the same to every metric, guard and index.

Canonical composition (NFC), never NFKC: `ﬁ`, `²` and full-width letters keep their meaning in scores. No-break spaces
become spaces. Zero-width spaces, word joiners, byte order marks and soft hyphens, which nobody sees, are removed. The
zero-width joiner and non-joiner stay: emoji, Persian and the scripts of India need them. So do marks that change the
direction of writing.

Records (`Turn`, `Reference`, `Sample`, `Pair`) convert their texts to this form when they are made.
"""

from __future__ import annotations

import re
import unicodedata

FORM = "nfc"  # in signatures
_SPACES = "\u00a0\u2007\u202f"
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"
_REPLACED = re.compile(f"[{_SPACES}{_INVISIBLE}]")
_REPLACEMENTS = {**dict.fromkeys(map(ord, _SPACES), " "), **dict.fromkeys(map(ord, _INVISIBLE), None)}


def normalise(text: str) -> str:
    """Return the text in the one form; the same object if it is in this form already."""
    if text.isascii():
        return text
    if _REPLACED.search(text):
        text = text.translate(_REPLACEMENTS)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)
