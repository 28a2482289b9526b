# SPDX-License-Identifier: Apache-2.0
"""Ratings as scores; observed survival is the product-limit estimate, computed here by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Dialogue, InputError, Rating, Sample, Turn, write
from interloq.agree.rating_scores import rating_scores
from interloq.rank.rank_file import rank_file
from interloq.rank.rank_options import RankOptions

LENGTHS = {"owl": [(1, True), (2, True), (3, False), (3, True)], "parrot": [(1, True), (2, True), (2, True)]}


@pytest.fixture
def chats(folder: Path) -> list[str]:
    """Conversations of some replies, ended by the person or by the limit: two files, of samples and dialogues."""
    samples, dialogues = [], []
    for system, lengths in LENGTHS.items():
        for number, (replies, ended) in enumerate(lengths):
            id, turns = f"{system}/{number}", [Turn(f"{i}", ("p", system)[i % 2]) for i in range(2 * replies)]
            whole = [Rating(5 - number, "p", role="interlocutor"), Rating(1, "q", role="outsider")]
            dialogues.append(Dialogue(id, turns, {system: system}, whole))
            for i in range(1, len(turns), 2):
                last = i == len(turns) - 1
                label = [] if last and not ended else [Rating(float(not last), "p", "continued", "interlocutor")]
                samples.append(Sample(f"{id}#{i}", turns[:i], turns[i].text, (), system, label))
    write(folder / "replies.jsonl", samples, kind="samples")
    write(folder / "talks.jsonl", dialogues, kind="dialogues")
    return [str(folder / "replies.jsonl"), str(folder / "talks.jsonl")]


def test_observed_survival_is_the_product_limit_estimate(chats: list[str]) -> None:
    options = RankOptions(dialogues=chats[1:], aspect="continued", survival=True, n_bootstrap=50, n_permutations=10)
    found = rank_file(chats[:1], options)
    (ranking,) = found.rankings
    assert ranking.metric == "rating(aspect='continued')"
    assert any(note.startswith("ratings by people: higher ones") for note in ranking.notes)
    curves = {curve.system: [(turn.value, turn.n) for turn in curve.turns] for curve in ranking.survival}
    half, third = 3 / 4 * 2 / 3, 3 / 4 * 2 / 3 * 0 / 1  # of those at risk at each turn; the limit ended one at turn 3
    assert curves["owl"] == [(3 / 4, 4), (pytest.approx(half), 3), (pytest.approx(third), 1)]
    assert curves["parrot"] == [(pytest.approx(2 / 3), 3), (0, 2)]


def test_systems_are_ranked_by_the_ratings_of_one_role(chats: list[str]) -> None:
    options = RankOptions(dialogues=chats[1:], aspect="overall", role="interlocutor", n_bootstrap=0)
    (ranking,) = rank_file(chats[1:], options).rankings
    assert {one.system: one.score for one in ranking.standings} == {"owl": 3.5, "parrot": 4.0}
    with pytest.raises(InputError, match="without an aspect"):
        rank_file(chats[1:], RankOptions(dialogues=chats[1:], role="interlocutor"))


def test_what_is_not_rated_is_unscored() -> None:
    rated = Sample("a", ["Hi"], "Hello", ratings=[Rating(2), Rating(4), Rating(None)], system="owl")
    found = list(rating_scores([rated, Sample("b", ["Hi"], "Hoo", system="owl")], aspect="overall"))
    assert [(score.value, score.reason) for score in found] == [(3, ""), (None, "not rated")]
