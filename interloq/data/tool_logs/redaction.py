# SPDX-License-Identifier: Apache-2.0
"""Keys, e-mail addresses and phone numbers in texts, replaced by `<key>`, `<email>` and `<phone>` and counted.

Forms, not meanings, are recognised: what is written in an unusual form stays, and dates, times, prices, versions,
addresses of the internet protocol and order numbers must not change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from interloq.records import Dialogue, Further, Rating, Turn

_EMAIL = r"(?<![\w.+-])[\w.+%-]+@(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}"
_PHONES = (
    r"\+\d{1,3}(?:[ .\-/]?\(?\d{1,5}\)?){2,5}",  # +49 (0)30 123456
    r"\(0?\d{2,4}\) ?\d{3,4}[ .-]\d{3,4}",  # (555) 123-4567
    r"\d{3}([ .-])\d{3}\1\d{4}",  # 555-123-4567
    r"0\d{1,4}[ .\-/]\d{2,4}[ .-]\d{3,4}(?:[ .-]\d{2,4})?",  # 03-1234-5678
    r"0\d(?:[ .]\d\d){4}",  # 01 23 45 67 89
    r"0[1-9]\d{8,9}",  # 09012345678
)
_KEYS = (
    r"(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}",
    r"(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}",
    r"lsv2_[a-z]{2}_[A-Za-z0-9_]{20,}",
    r"(?:AKIA|ASIA)[0-9A-Z]{16}",
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
)
_PATTERNS = {
    "key": re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
        rf"|(?<![A-Za-z0-9])(?:{'|'.join(_KEYS)})"
        r"|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"
        r"|(?i:(?<=\bbearer )[A-Za-z0-9._~+/=-]{16,})"
        r"""|(?i:(?<=password=)|(?<=api_key=)|(?<=apikey=)|(?<=token=)|(?<=secret=))[^\s&'",;]{6,}""",
        re.DOTALL,
    ),
    "email": re.compile(_EMAIL),
    "phone": re.compile(rf"(?<![\w.+/@#$€£¥-])(?<!\d )(?<!\d:)(?:{'|'.join(_PHONES)})(?![\w-]|[.,:/]\d)"),
}
_MAY_HAVE = {"key": re.compile(r"[-_=:. ]|AKIA|ASIA|AIza"), "email": re.compile("@"), "phone": re.compile(r"\d{2}")}
KINDS = tuple(_PATTERNS)


class Redaction:
    """Replaces these kinds of secrets in dialogues; `replaced` counts them, `kept` those of other kinds."""

    def __init__(self, kinds: Collection[str] = KINDS) -> None:
        self.kinds = kinds
        self.replaced: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self._names: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        for kind, pattern in _PATTERNS.items():
            if not _MAY_HAVE[kind].search(text):
                continue
            if kind in self.kinds:
                text, n = pattern.subn(f"<{kind}>", text)
                self.replaced[kind] += n
            else:
                self.kept[kind] += sum(1 for _ in pattern.finditer(text))
        return text

    def dialogue(self, dialogue: Dialogue) -> Dialogue:
        """Return a dialogue without secrets in its turns, comments, fields and names."""
        return replace(
            dialogue,
            id=self._name(dialogue.id),
            turns=tuple(map(self._turn, dialogue.turns)),
            unspoken=tuple((place, self._turn(turn)) for place, turn in dialogue.unspoken),
            systems={self._name(speaker): self._name(system) for speaker, system in dialogue.systems.items()},
            ratings=tuple(map(self._rating, dialogue.ratings)),
            failure=self.text(dialogue.failure),
            occasion=self._name(dialogue.occasion),
            fields=self._fields(dialogue.fields),
        )

    def _turn(self, turn: Turn) -> Turn:
        return replace(
            turn,
            text=self.text(turn.text),
            speaker=self._name(turn.speaker),
            ratings=tuple(map(self._rating, turn.ratings)),
            fields=self._fields(turn.fields or {}) or None,
        )

    def _rating(self, rating: Rating) -> Rating:
        return replace(rating, rater=self._name(rating.rater), comment=self.text(rating.comment))

    def _fields(self, fields: Further) -> Further:
        return {name: self.text(item) if isinstance(item, str) else item for name, item in fields.items()}

    def _name(self, name: str) -> str:
        """Return a name without secrets; different names stay different."""
        if name not in self._names and (clean := self.text(name)) != name:
            self._names[name] = f"{clean}-{len(self._names) + 1}"
        return self._names.get(name, name)
