# SPDX-License-Identifier: Apache-2.0
"""A bot that says the lines of a text file.

Lines that are empty or begin with `#` are ignored. A line with a tab, `food | eat<TAB>What do you like to cook?`, is an
answer to turns that contain one of the words before the tab; if there is one that was not said yet, it comes before the
lines without a tab. No line is repeated before all lines without a tab were said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from interloq.data.files.opening import not_utf8, read_small
from interloq.errors import InputError
from interloq.play.bot import Bot, generator
from interloq.records import Turn
from interloq.servers.replies import Reply, roles
from interloq.signature import Signature, file_fingerprint, signature
from interloq.unicode_form import normalise


@dataclass(frozen=True)
class Scripted(Bot, name="scripted"):
    """Says the lines of a text file."""

    places = ("file",)
    file: Annotated[str, "a text file with one reply per line, or `words<TAB>reply`"]
    order: Annotated[
        Literal["random", "sequence"], "the seed picks a line that was not said yet, or lines in their order"
    ] = "random"

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        return [self._reply(turns, seed) for turns, seed in zip(dialogues, seeds, strict=True)]

    def signature(self) -> Signature:
        self._script  # noqa: B018 - fails early
        return signature(replace(self, file=""), lines=file_fingerprint(Path(self.file)))

    def _reply(self, turns: Sequence[Turn], seed: int) -> Reply:
        answers, lines = self._script
        own = [turn.text for turn, role in zip(turns, roles(turns), strict=True) if role == "assistant"]
        last = turns[-1].text if turns else ""
        fitting = [text for words, text in answers if words.search(last) and text not in own]
        if self.order == "sequence":
            spoken = sum(text in lines for text in own)
            return Reply(fitting[0] if fitting else lines[spoken % len(lines)])
        choices = fitting or [line for line in lines if line not in own] or lines
        return Reply(choices[int(generator(seed, turns).integers(len(choices)))])

    @cached_property
    def _script(self) -> tuple[list[tuple[re.Pattern[str], str]], list[str]]:
        """Return answers with the words that they answer, and the other lines."""
        try:
            text = normalise(read_small(self.file).decode("utf-8"))
        except UnicodeDecodeError as error:
            raise not_utf8(error, self.file) from error
        answers, lines = [], []
        for line in text.splitlines():
            words, tab, answer = line.partition("\t")
            if not line.strip() or line.startswith("#"):
                continue
            if tab:
                answers.append((_any_of(words.split("|")), answer.strip()))
            else:
                lines.append(line.strip())
        if not lines:
            hint = "add lines without a tab, which are said if no word matches"
            raise InputError("no line that is always possible", hint=hint, where=self.file)
        return answers, lines


def _any_of(words: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that finds one of the words; words in Latin letters only as whole words."""
    parts = []
    for word in filter(None, map(str.strip, words)):
        escaped = re.escape(word)
        parts.append(rf"\b{escaped}\b" if word.isascii() else escaped)
    return re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)
