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
from interloq.rank.survival import Survival, survival_curves
from interloq.statistics.estimate import Estimate
from interloq.web.admin.sections import NONE, Shown, interval, number, section
from interloq.web.chat.conversations import Chat
from interloq.web.messages import Message, message

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
    columns: list[Shown] = [message("reply")]
    for curve in curves:
        system = curve.system
        columns += [system, message("system_interval", system=system), message("system_at_risk", system=system)]
    text = [message("survival_text", turns=limit), _expected(curves)]
    shown = section("survival", message("survival"), text, columns, _rows(curves))
    yield {**shown, "plot": [{"name": curve.system, "points": _points(curve)} for curve in curves]}


def _expected(curves: Sequence[Survival]) -> Message:
    expected = []
    for curve in curves:
        value, ci = number(curve.expected.value), interval(curve.expected.ci)
        expected.append(message("value_with_interval", system=curve.system, value=value, interval=ci))
    return message("survival_expected", replies=curves[0].horizon, systems=expected)


def _rows(curves: Sequence[Survival]) -> list[list[Shown]]:
    """Return one row per turn, or per n-th turn if there are many."""
    turns = list(zip_longest(*(curve.turns for curve in curves)))
    step = math.ceil(len(turns) / MOST_ROWS)
    rows = []
    for i in range(0, len(turns), step):
        cells: list[Shown] = [str(i + 1)]
        for share in turns[i]:
            cells += _cells(share)
        rows.append(cells)
    return rows


def _cells(share: Estimate | None) -> list[Shown]:
    if share is None:
        return [NONE, NONE, NONE]
    return [number(share.value), interval(share.ci), f"{share.n:,}"]


def _points(curve: Survival) -> list[list[float]]:
    """Return value and interval after each turn, from the start; the plot ends where nobody is left."""
    points = [[1.0, 1.0, 1.0]]
    for share in curve.turns:
        if math.isfinite(share.value):
            low, high = share.ci or (share.value, share.value)
            points.append([share.value, low, high])
    return points
