# SPDX-License-Identifier: Apache-2.0
"""How long people stayed with each bot: Kaplan–Meier curves of conversations that are over.

A conversation that the person ended or left counts as left after its last reply; one that reached the limit of turns is
censored there. With labels 0 and 1 the curves of `meta/survival.py` are this estimate; resamples draw people.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from interloq.errors import count
from interloq.meta.dialogue_scores import DialogueScore
from interloq.meta.survival import Survival, survival_curves
from interloq.meta.table import Estimate
from interloq.web.chat import Chat
from interloq.web.sections import NONE, interval, number, section

RESAMPLES = 500
MOST_ROWS = 30  # of the table


def observed_curves(chats: Iterable[Chat]) -> tuple[Survival, ...]:
    """One curve per bot; conversations that are not over are ignored."""
    over = [chat for chat in chats if chat.over]
    rows = [DialogueScore(str(chat.assignment), chat.bot, "", 0.0, "", turns=_labels(chat)) for chat in over]
    return survival_curves(rows, [str(chat.person) for chat in over], n_bootstrap=RESAMPLES)


def _labels(chat: Chat) -> tuple[float, ...]:
    """1 for each reply that was answered, 0 for the last one before the person left, NaN if the limit ended it."""
    labels = (chat.continued(place) for place in chat.reply_places)
    return tuple(math.nan if label is None else float(label) for label in labels)


def survival_section(chats: Iterable[Chat], limit: int) -> Iterator[dict[str, Any]]:
    """The curves as a drawing and a table; nothing before the first conversation is over."""
    curves = observed_curves(chats)
    if not curves:
        return
    text = [
        "Share of conversations in which the person still answered the bot’s reply at each turn (Kaplan–Meier). "
        f"Conversations that reached the limit of {count(limit, 'turn')} are censored. Intervals: 95 %, from resamples "
        "of people.",
        f"Expected answers within {count(curves[0].horizon, 'reply', 'replies')}: {_expected(curves)}.",
    ]
    columns = ["Reply", *(f"{curve.system}{after}" for curve in curves for after in ("", ", 95 %", ", at risk"))]
    shown = section("survival", "How long did people stay?", text, columns, _rows(curves))
    yield {**shown, "plot": [{"name": curve.system, "points": _points(curve)} for curve in curves]}


def _expected(curves: Sequence[Survival]) -> str:
    return "; ".join(f"{one.system} {number(one.expected.value)} ({interval(one.expected.ci)})" for one in curves)


def _rows(curves: Sequence[Survival]) -> list[list[str]]:
    """Every turn, or every n-th of many."""
    turns = list(zip_longest(*(curve.turns for curve in curves)))
    step = math.ceil(len(turns) / MOST_ROWS)
    return [[str(i + 1), *(part for one in turns[i] for part in _cells(one))] for i in range(0, len(turns), step)]


def _cells(one: Estimate | None) -> list[str]:
    return [NONE] * 3 if one is None else [number(one.value), interval(one.ci), f"{one.n:,}"]


def _points(curve: Survival) -> list[list[float]]:
    """Value and interval after each turn, from the start; the drawing ends where nobody is left."""
    known = [one for one in curve.turns if math.isfinite(one.value)]
    return [[1.0, 1.0, 1.0], *([one.value, *(one.ci or (one.value, one.value))] for one in known)]
