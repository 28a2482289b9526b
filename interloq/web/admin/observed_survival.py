# SPDX-License-Identifier: Apache-2.0
"""How long people stayed with each bot: Kaplan–Meier curves of conversations that are over.

A conversation that the person ended or left counts as left after its last reply; one that reached the limit of turns is
censored there. With labels 0 and 1 the curves of `rank/survival.py` are this estimate; resamples draw people.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from interloq.agree.dialogue_scores import DialogueScore
from interloq.errors import count
from interloq.rank.survival import Survival, survival_curves
from interloq.statistics.estimate import Estimate
from interloq.web.admin.sections import NONE, interval, number, section
from interloq.web.chat.conversations import Chat

RESAMPLES = 500
MOST_ROWS = 30  # of the table


def observed_curves(chats: Iterable[Chat]) -> tuple[Survival, ...]:
    """One curve per bot; conversations that are not over are ignored."""
    over = [chat for chat in chats if chat.over]
    rows = [DialogueScore(str(chat.assignment), chat.bot, "", 0.0, "", turns=_labels(chat)) for chat in over]
    return survival_curves(rows, [str(chat.person) for chat in over], n_bootstrap=RESAMPLES)


def _labels(chat: Chat) -> tuple[float, ...]:
    """1 for each reply that was answered, 0 for the last one before the person left, NaN if the limit ended it."""
    labels = []
    for place in chat.reply_places:
        label = chat.continued(place)
        labels.append(math.nan if label is None else float(label))
    return tuple(labels)


def survival_section(chats: Iterable[Chat], limit: int) -> Iterator[dict[str, Any]]:
    """Yield the curves as a plot and a table; nothing before the first conversation is over."""
    curves = observed_curves(chats)
    if not curves:
        return
    text = [
        "Share of conversations in which the person still answered the bot’s reply at each turn (Kaplan–Meier). "
        f"Conversations that reached the limit of {count(limit, 'turn')} are censored. Intervals: 95 %, from resamples "
        "of people.",
        f"Expected answers within {count(curves[0].horizon, 'reply', 'replies')}: {'; '.join(_expected(curves))}.",
    ]
    columns = ["Reply"]
    for curve in curves:
        columns += [curve.system, f"{curve.system}, 95 %", f"{curve.system}, at risk"]
    shown = section("survival", "How long did people stay?", text, columns, _rows(curves))
    yield {**shown, "plot": [{"name": curve.system, "points": _points(curve)} for curve in curves]}


def _expected(curves: Sequence[Survival]) -> list[str]:
    return [f"{one.system} {number(one.expected.value)} ({interval(one.expected.ci)})" for one in curves]


def _rows(curves: Sequence[Survival]) -> list[list[str]]:
    """Return one row per turn, or per n-th turn if there are many."""
    turns = list(zip_longest(*(curve.turns for curve in curves)))
    step = math.ceil(len(turns) / MOST_ROWS)
    rows = []
    for i in range(0, len(turns), step):
        cells = [str(i + 1)]
        for share in turns[i]:
            cells += _cells(share)
        rows.append(cells)
    return rows


def _cells(share: Estimate | None) -> list[str]:
    if share is None:
        return [NONE] * 3
    return [number(share.value), interval(share.ci), f"{share.n:,}"]


def _points(curve: Survival) -> list[list[float]]:
    """Return value and interval after each turn, from the start; the plot ends where nobody is left."""
    points = [[1.0, 1.0, 1.0]]
    for share in curve.turns:
        if math.isfinite(share.value):
            low, high = share.ci or (share.value, share.value)
            points.append([share.value, low, high])
    return points
