"""How often a metric orders systems as people do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import Dialogue, InputError, Rating, Sample, Turn, write
from interloq.agree.system_agreement import order_accuracy, order_note, rated_systems, rating_scores, without_p_of_few
from interloq.rank.rank import rank
from interloq.rank.rank_file import rank_file
from interloq.rank.rank_options import RankOptions
from interloq.statistics.correlation import coefficients
from tests.made_rankings import played, ranked


def test_pairs_in_the_order_of_people_are_counted_and_equal_scores_are_half() -> None:
    human = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 3.0, "stranger": 9.0}
    found = order_accuracy("abcd", np.array([0.0, 0.0, 1.0, -1.0]), human)
    assert found
    assert found.n == 5  # people judge c and d equal
    assert found.value == pytest.approx((0.5 + 1 + 0 + 1 + 0) / 5)
    assert found.ci
    assert 0 <= found.ci[0] < found.value < found.ci[1] <= 1
    assert "0.50" in order_note(found)
    assert order_accuracy("ab", np.array([0.0, 1.0]), {"a": 1.0, "b": 1.0}) is None
    assert "unknown" in order_note(None)


def test_perfect_order_of_few_systems_does_not_prove_a_perfect_metric() -> None:
    found = order_accuracy("abcdef", np.arange(6.0), {name: float(i) for i, name in enumerate("abcdef")})
    assert found
    assert found.value == 1
    assert found.ci
    assert found.ci[0] < 0.5
    assert found.ci[1] == 1


def test_a_ranking_says_how_often_its_metric_agrees_with_people() -> None:
    scores, dialogues = played({"a": 0, "b": 3, "c": 6}, openings=10)
    result = ranked(scores, dialogues, human={"a": 1.0, "b": 3.0, "c": 2.0})
    assert result.order
    assert result.order.value == pytest.approx(2 / 3)
    assert any("as people do in 0.67" in note for note in result.notes)
    assert all(estimate.p is None and "3 systems" in estimate.note for estimate in result.human.values())
    assert not any("as people do" in note for note in ranked(scores, dialogues).notes)
    assert rank([]).order is None


def test_ratings_in_dialogues_are_people_s_scores_of_systems() -> None:
    made = [
        Dialogue("1", ["hi", "ho"], {"a": "x", "b": "y"}, [Rating(4.0, system="x"), Rating(1.0, system="y")]),
        Dialogue("2", ["hi", "ho"], {"a": "x", "b": "y"}, [Rating(2.0, system="x"), Rating(9, "", "fun", system="x")]),
    ]
    assert rated_systems(made) == {"x": 3.0, "y": 1.0}
    aspects = [Rating(1.0, aspect="fun", system="x"), Rating(1.0, aspect="sad", system="x")]
    assert rated_systems([Dialogue("1", ["hi"], {"a": "x"}, aspects)]) == {}
    assert rated_systems([Dialogue("1", ["hi", "ho"], {"a": "x", "b": "y"}, [Rating(4.0)])]) == {}  # of which?
    assert rated_systems([]) == {}


def test_p_values_need_five_systems() -> None:
    few, enough = (without_p_of_few(coefficients(np.square(np.arange(float(n))), np.arange(float(n)))) for n in (4, 5))
    assert all(estimate.p is None and "4 systems" in estimate.note for estimate in few.values())
    assert all(estimate.p is not None and not estimate.note for estimate in enough.values())


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
