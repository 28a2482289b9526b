# SPDX-License-Identifier: Apache-2.0
"""The interface of bots: dialogues in, one reply per dialogue out; and the checks of their replies.

A bot never stops a run because of one dialogue: errors are reported in the reply's `failure`. A failure with text is a
note on a usable reply (`too long`: it was cut); a failure without text is the reason why there is no reply. A bot may
end the dialogue (`Reply.ends`), with or without a last text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from interloq.errors import MissingDependencyError, SpecError
from interloq.records import Turn
from interloq.registry import Component, complete
from interloq.servers.replies import Reply, one_line
from interloq.signature import Signature

LONGEST = 4_000  # characters of a reply; longer ones are cut
CRASHES = (
    24  # in a row, after which a batch is no longer searched for the dialogue that caused it: enough for 2^20 dialogues
)
EMPTY, TOO_LONG, UNWRITABLE = "empty", "too long", "characters replaced that cannot be written"
JOINED = "; "  # between the failures of one reply
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")  # NUL and lone surrogates, which JSON cannot represent


class BotLike(Protocol):
    """What a bot must have; `as_bot` adds the rest."""

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        """Return the next reply in each dialogue.

        It depends only on the turns and the seed, not on the rest of the batch.
        """

    def signature(self) -> Signature | str:
        """Return the spec with fingerprints of its weights, index or address; missing files are errors here already."""


class Bot(Component, kind="bot"):
    """Base of bots: a frozen dataclass whose fields are its whole configuration.

    A bot must define `replies` and `signature`. A class that does not inherit from here gets the other defaults from
    `as_bot`. A bot that can show a reply while it arrives is a `StreamingBot` too.
    """

    waits: ClassVar[bool] = False  # for other processes or servers, so it may run in a thread beside other bots
    batch: int = 0  # the preferred number of dialogues at once; 0: any

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        """Return the next reply in each dialogue.

        It depends only on the turns and the seed, not on the rest of the batch.
        """
        raise NotImplementedError

    def signature(self) -> Signature | str:
        """Return the spec with fingerprints of its weights, index or address; missing files are errors here already."""
        raise NotImplementedError

    def try_out(self, turns: Sequence[Turn]) -> None:
        """Ask once before a run, and raise an `InputError` if no dialogue would be answered."""

    def close(self) -> None:
        """End everything the bot started; called at the end of a run."""


@runtime_checkable
class StreamingBot(Protocol):
    """A bot that can show a reply while it arrives."""

    def stream(self, turns: Sequence[Turn], seed: int, show: Callable[[str], None]) -> Reply:
        """Return one reply; call `show` with its text so far."""


class ReplyCandidate(NamedTuple):
    """A possible reply, and its log-probability given the dialogue."""

    text: str
    log_probability: float


@runtime_checkable
class CandidateBot(Protocol):
    """A bot that can give several replies to a dialogue, for another model to choose from."""

    def candidates(
        self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int], n: int
    ) -> list[list[ReplyCandidate] | Exception]:
        """Return up to `n` possible replies to each dialogue; none to a dialogue without turns."""

    def check_candidates(self, n: int) -> None:
        """Refuse more candidates than its decoding can find."""


def as_bot(bot: BotLike) -> Bot:
    """Return the bot; its class gets the defaults of `Bot` that it lacks, so that other code can rely on them."""
    complete(type(bot), "bot")
    return cast("Bot", bot)


def ask_bot(
    bot: BotLike, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int], *, longest: int = LONGEST
) -> list[Reply]:
    """Return the bot's replies, checked; an exception becomes the failure of the dialogue that caused it.

    A batch that crashes is halved until the dialogue that caused it is alone, unless everything crashes.
    """
    return [check_reply(reply, longest=longest) for reply in _Searching(bot).replies(dialogues, seeds)]


def stream_reply(
    bot: BotLike, turns: Sequence[Turn], seed: int, show: Callable[[str], None], *, longest: int = LONGEST
) -> Reply:
    """Return the bot's reply, checked; `show` is called with the text so far if the bot can stream it."""
    if not isinstance(bot, StreamingBot):
        return ask_bot(bot, [turns], [seed], longest=longest)[0]
    try:
        return check_reply(bot.stream(turns, seed, show), longest=longest)
    except (MissingDependencyError, SpecError):
        raise
    except (Exception, SystemExit) as error:
        return make_crash_reply(error)


def check_reply(reply: Any, *, longest: int = LONGEST) -> Reply:
    """Return a valid reply: text or a failure, at most as long as allowed, and representable in JSON."""
    if not isinstance(reply, Reply):
        return Reply("", f"the bot gave {type(reply).__name__}, not a Reply")
    for part in (reply.text, reply.failure):  # a dataclass does not check types
        if not issubclass(type(part), str):
            return Reply("", f"the bot gave a Reply of {type(part).__name__}, not of text")
    notes = [said for part in reply.failure.split(JOINED) if (said := one_line(part))]
    text = _UNWRITABLE.sub("\ufffd", reply.text)
    if text != reply.text:
        notes.append(UNWRITABLE)
    if len(text) > longest:
        notes.append(TOO_LONG)
    text, failure, ends = text[:longest], JOINED.join(dict.fromkeys(notes)), reply.ends is True
    if not text.strip():
        return Reply("", failure or ("" if ends else EMPTY), ends=ends)
    return Reply(text, failure, ends=ends)


def make_crash_reply(error: BaseException) -> Reply:
    """Return a reply for a bot that raised an exception."""
    failure = f"crashed: {type(error).__name__}"
    if message := one_line(str(error)):
        failure += f": {message}"
    return Reply("", failure)


def generator(seed: int, turns: Sequence[Turn]) -> np.random.Generator:
    """Return a random generator for one reply, from the dialogue's seed and the number of turns."""
    return np.random.default_rng([seed % 2**64, len(turns)])


class _Searching:
    """Asks a bot for replies, and searches a batch that crashes for the dialogue that caused it."""

    def __init__(self, bot: BotLike) -> None:
        self.bot, self.crashes = bot, 0

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Any]:
        if not dialogues:
            return []
        try:
            replies = self._ask(dialogues, seeds)
        except (MissingDependencyError, SpecError):  # no single dialogue is the cause
            raise
        except (Exception, SystemExit) as error:
            self.crashes += 1
            if len(dialogues) == 1 or self.crashes >= CRASHES:
                return [make_crash_reply(error)] * len(dialogues)
            half = len(dialogues) // 2
            return self.replies(dialogues[:half], seeds[:half]) + self.replies(dialogues[half:], seeds[half:])
        self.crashes = 0
        return replies

    def _ask(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Any]:
        replies: Any = self.bot.replies(dialogues, seeds)
        if not isinstance(replies, list | tuple):
            raise TypeError(f"the bot gave {type(replies).__name__}, not a list of replies")
        if len(replies) != len(dialogues):
            raise ValueError(f"the bot gave {len(replies)} replies to {len(dialogues)} dialogues")
        return list(replies)
