# SPDX-License-Identifier: Apache-2.0
"""Observed survival of chats, against numbers computed by hand."""

from __future__ import annotations

import re

from interloq.web.admin.observed_survival import observed_curves, survival_section
from interloq.web.chat.conversations import BOT, PERSON, Chat, ChatLine
from interloq.web.messages import render

LIMIT = 3


def talked(number: int, bot: str, replies: int, *, over: bool = True) -> Chat:
    """A conversation with so many replies; ended by the person, unless the limit is reached."""
    lines = [ChatLine(i, (PERSON, BOT)[i % 2], "text", "", float(i)) for i in range(2 * replies)]
    ended = over and replies < LIMIT
    return Chat(number, number, bot, "echo", "", tuple(lines), LIMIT, ended, finished=ended, returned=False)


CHATS = [talked(i, "owl", replies) for i, replies in enumerate((1, 2, 3, 3))]
CHATS += [talked(9, "parrot", 2), talked(10, "parrot", 1, over=False)]


def test_the_limit_censors_and_open_conversations_do_not_count() -> None:
    owl, parrot = observed_curves(CHATS)
    assert [(one.value, one.n) for one in owl.turns if one.n] == [(3 / 4, 4), (1 / 2, 3)]
    assert [(one.value, one.n) for one in parrot.turns] == [(1, 1), (0, 1)]
    low, high = owl.turns[1].ci or (0, 0)
    assert 0 <= low < 1 / 2 < high <= 1


def test_the_section_has_the_curves_as_a_table_and_a_drawing() -> None:
    (found,) = render(list(survival_section(CHATS, LIMIT)), "en")
    assert found["columns"][:4] == ["Reply", "owl", "owl, 95 %", "owl, at risk"]
    assert [row[:2] + row[3:5] + row[6:] for row in found["rows"]] == [
        ["1", "0.75", "4", "1.00", "1"],
        ["2", "0.50", "3", "0.00", "1"],
    ]
    assert [[point[0] for point in line["points"]] for line in found["plot"]] == [[1, 0.75, 0.5], [1, 1, 0]]
    assert "limit of 3 turns are censored" in found["text"][0]
    assert re.match(r"Expected answers within 2 replies: owl 1.25 \(.* to .*\); parrot 1.00", found["text"][1])
    assert list(survival_section(CHATS[-1:], LIMIT)) == []
    (long,) = survival_section([talked(1, "owl", 95)], 100)
    assert len(long["rows"]) == 24
