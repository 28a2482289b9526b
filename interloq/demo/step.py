# SPDX-License-Identifier: Apache-2.0
"""A step of the demo: a command, and the function that does the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interloq.data.progress import Progress, silent

TOKENIZERS = {"en": "13a", "ja": "char", "zh": "zh"}


@dataclass(frozen=True)
class DemoStep:
    """One step of the demo: its purpose, its command, and the function that does the same."""

    why: str
    command: list[str]
    call: Callable[[Progress], Any]
    output: str = ""  # the file or folder it writes

    @property
    def verb(self) -> str:
        """Verb of the command."""
        return self.command[0]

    def run(self, progress: Progress = silent) -> Any:
        """Run the step as its command would."""
        return self.call(progress)


def delta_bleu(language: str) -> str:
    """Spec of ΔBLEU, the formula of υBLEU."""
    return f"delta_bleu(order=2,tokenizer={quoted(TOKENIZERS[language])})"


def quoted(text: str) -> str:
    """A text in a spec: in double quotes, because the shell's quotes around the spec are single ones."""
    return json.dumps(text, ensure_ascii=False)
