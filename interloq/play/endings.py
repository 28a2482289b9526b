# SPDX-License-Identifier: Apache-2.0
"""Who ends a dialogue before its full length, and why: the bot itself, a mark in its text, or a rule about words.

`Dialogue.ended_by` is `speaker: reason`. A farewell stands at the end of an utterance, as a sentence of its own or
after a comma: "Well, see you later!" is one, "I will see you later if it rains." and "We said goodbye." are not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from interloq.errors import InputError
from interloq.servers.replies import Reply, one_line

GOODBYE = "goodbye"  # the rule that stands for all farewells
BY_BOT, BY_FAREWELL = "ended the dialogue", "said goodbye"
_EN = (
    r"(?:good ?bye|bye(?:[ -]bye)?|farewell|cya|so long|take care|good ?night|cheerio"
    r"|(?:i(?:'ll| will) )?(?:see|catch|talk to) (?:you|ya|u)(?: (?:later|soon|again|tomorrow|around|then|next time))?"
    r"|have a (?:nice|good|great|lovely|wonderful) (?:day|evening|night|afternoon|weekend|time|one))"
)
_BEFORE = r"(?:^|[.!?,;:…—–-]\s*|\b(?:ok|okay|well|so|and|then|alright|thanks|thank you)\s+)"
_AFTER = r"(?:,? (?:then|now|for now|everyone|all|my friend|and take care|too))?"
_FAREWELL = re.compile(
    rf"{_BEFORE}{_EN}{_AFTER}[\W_]*$"
    r"|(?:さようなら|さよなら|じゃあ?ね|じゃあ?また|またね|では、?また|バイバイ|ばいばい|おやすみ(?:なさい)?"
    r"|また(?:明日|今度|後で|あとで|会いましょう|話しましょう)|それでは失礼(?:いた)?します)[ねよ]?[\W_ー]*$"
    r"|(?:再见|再見|再会|拜拜|晚安|回头见|明天见|下次见|改天聊)[吧啦了]?[\W_]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class EndRules:
    """When an utterance ends its dialogue: phrases (`goodbye`: any farewell), and a mark that bots may write."""

    phrases: tuple[str, ...] = ()
    mark: str = ""

    def __post_init__(self) -> None:
        if not all(phrase.strip() for phrase in self.phrases):
            raise InputError("a phrase that ends dialogues must not be empty", hint=f"write a text, or {GOODBYE}")

    def apply(self, reply: Reply) -> tuple[Reply, str]:
        """Return the reply without the mark, and why it ends the dialogue; empty if it does not."""
        is_marked = bool(self.mark) and self.mark in reply.text
        if is_marked:
            reply = Reply(reply.text.replace(self.mark, " ").strip(), reply.failure, ends=True)
        if reply.ends and (reply.text or not reply.failure):
            return reply, BY_BOT
        return reply, self._find_phrase(reply.text)

    def facts(self) -> dict[str, Sequence[str] | str]:
        """Return the rules for the header of dialogues; nothing without rules."""
        rules: dict[str, Sequence[str] | str] = {}
        if self.phrases:
            rules["end"] = list(self.phrases)
        if self.mark:
            rules["end_mark"] = self.mark
        return rules

    def _find_phrase(self, text: str) -> str:
        for phrase in self.phrases:
            if phrase == GOODBYE and is_farewell(text):
                return BY_FAREWELL
            if phrase != GOODBYE and phrase.casefold() in text.casefold():
                return f"said {one_line(phrase)!r}"
        return ""


def is_farewell(text: str) -> bool:
    """Return whether an utterance in English, Japanese or Chinese takes leave at its end."""
    return bool(_FAREWELL.search(text.replace("’", "'").strip()))
