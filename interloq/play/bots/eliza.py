# SPDX-License-Identifier: Apache-2.0
"""A rule-based bot in the style of ELIZA (Weizenbaum, 1966): patterns, and answers that reflect the speaker's words.

The rules are our own, for English, Japanese and Chinese; `language='auto'` is determined by the script of the last
turn. The first matching rule answers; the seed chooses among its answers, and one that was already given in the
dialogue is repeated only after all others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, get_args

from interloq.data.text.language import supported_language
from interloq.play.bot import NOTHING_TO_ANSWER, generator
from interloq.play.bots.eliza_rules import RULES, TURNED
from interloq.records import Turn
from interloq.registry import Component
from interloq.servers.replies import Reply
from interloq.signature import Signature, fingerprint, signature

Language = Literal["en", "ja", "zh"]
LONGEST = 100  # characters of the speaker's words that are repeated
_END = re.compile(r"[.!?。！？…\n]+")


@dataclass(frozen=True)
class Eliza(Component):
    """Rule-based bot in the style of ELIZA."""

    language: Annotated[
        Literal["auto", "en", "ja", "zh"], "language of the rules; `'auto'`: by the script of the last turn"
    ] = "auto"

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        return [self._reply(turns, seed) for turns, seed in zip(dialogues, seeds, strict=True)]

    def signature(self) -> Signature:
        return signature(self, rules=fingerprint(repr((RULES, TURNED))))

    def _reply(self, turns: Sequence[Turn], seed: int) -> Reply:
        if not turns:
            return Reply("", NOTHING_TO_ANSWER)
        own = supported_language(turns[-1].text, get_args(Language))
        language = own if self.language == "auto" else self.language
        answers = _answers(turns[-1].text, language)
        said = {turn.text for turn in turns}
        new = [answer for answer in answers if answer not in said] or answers
        return Reply(new[int(generator(seed, turns).integers(len(new)))])


def _answers(text: str, language: Language) -> list[str]:
    """Possible answers to the text, from the first rule that matches its last sentence, or else an earlier one."""
    sentences = [part.strip() for part in _END.split(text.replace("’", "'")) if part.strip()] or [""]
    for pattern, answers in _rules(language):
        for sentence in reversed(sentences):
            if match := pattern.search(sentence):
                words = _turned(match.groupdict().get("x") or "", language)
                return [answer.replace("{x}", words) for answer in answers]
    raise AssertionError("the last rule matches everything")


def _turned(words: str, language: Language) -> str:
    """The speaker's words from the other side: `my dog` becomes `your dog`."""
    turned = TURNED[language]
    words = words.strip(" ,;:、，")[:LONGEST].strip()
    if language == "en":
        return re.sub(r"[\w']+", lambda word: turned.get(word[0].lower(), word[0]), words)
    each = re.compile("|".join(sorted(turned, key=len, reverse=True)))
    return each.sub(lambda word: turned[word[0]], words)


@cache
def _rules(language: Language) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    return [(re.compile(pattern, re.IGNORECASE), answers) for pattern, answers in RULES[language]]
