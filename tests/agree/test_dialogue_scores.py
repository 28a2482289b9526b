"""Scores of dialogues: what counts, for whom, and what is unscored."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from interloq import Dialogue, InputError, Rating, Score, Turn
from interloq.agree.dialogue_scores import NO_SCORE, TURNS, dialogue_scores, rated_dialogues, select_rankable
from interloq.rank.rank import rank
from tests.made_rankings import played, ranked, recorded


def test_only_what_is_known_to_be_shared_is_paired() -> None:
    alone = ranked(*recorded())
    assert (alone.pairing, alone.differences[0].shared, alone.differences[0].n) == ("none", 0, 60)
    assert any(note.startswith("not paired: ") for note in alone.notes)
    assert any("units" in note and "dialogues;" in note for note in alone.notes)
    first, second = ([s.value or 0 for s in recorded()[0] if s.system == name] for name in "ab")
    assert alone.differences[0].p == pytest.approx(stats.ttest_ind(first, second).pvalue, abs=0.05)
    shared = ranked(*recorded(given=2))
    assert (shared.pairing, shared.differences[0].shared, shared.differences[0].n) == ("opening", 30, 60)
    assert any("start with the same given turns" in note for note in shared.notes)
    assert (shared.differences[0].p or 1) < 0.05 < (alone.differences[0].p or 0)


def test_unscored_dialogues_are_counted_with_their_reasons() -> None:
    scores, dialogues = played({"a": 0, "b": 1}, openings=3)
    lost = {"a~p/opening-0/repeat-1", "a~q/opening-1/repeat-1"}
    scores = [s for s in scores if s.id.split("#")[0] not in lost]
    dialogues = [replace(d, failure="a: timed out at turn 2") if "a~p/opening-0" in d.id else d for d in dialogues]
    broken = [
        Dialogue(
            f"z~p/opening-{i}/repeat-1",
            ["hi", "yes?"],
            {"z": "z", "p": "p"},
            given=2,
            failure=f"z: crashed: E{i} at turn 3",
        )
        for i in range(3)
    ]
    result = ranked(scores, [*dialogues, *broken])
    found = {s.system: s for s in result.standings}
    assert found["a"].dialogues == 4
    assert found["a"].unscored == 2
    assert found["a"].reasons == {"a: timed out": 1, NO_SCORE: 1}
    assert found["a"].failures == {"a: timed out": 1}
    assert [s.system for s in result.standings] == ["b", "a", "z"]
    assert found["z"].rank is None
    assert math.isnan(found["z"].score)
    assert found["z"].reasons == {"z: crashed": 3}
    assert any("not ranked, because no dialogue has a score: 'z'" in note for note in result.notes)
    assert not any("z" in (d.first, d.second) for d in result.differences)


def test_null_scores_are_left_out_of_means() -> None:
    scores, dialogues = played({"a": 0, "b": 1}, openings=2)
    scores[1] = replace(scores[1], value=None, reason="empty reply")
    row = next(r for r in dialogue_scores(scores, dialogues) if r.dialogue == scores[0].id.split("#")[0])
    assert row.value == pytest.approx(scores[0].value)
    assert row.utterances == 1
    assert not row.reason


def test_both_sides_of_a_dialogue_can_be_judged() -> None:
    rng = np.random.default_rng(0)
    scores, dialogues = [], []
    for first, second in combinations("abc", 2):
        for i in range(20):
            id = f"{first}{second}{i}"
            dialogues.append(Dialogue(id, [Turn("x", first), Turn("y", second)], {first: first, second: second}))
            for turn, name in enumerate((first, second)):
                scores.append(Score(f"{id}#{turn}", "made", float("abc".index(name) + rng.normal()), system=name))
    result = ranked(scores, dialogues)
    assert [s.system for s in result.standings] == ["c", "b", "a"]
    assert [s.dialogues for s in result.standings] == [40, 40, 40]
    assert any("both sides" in note for note in result.notes)
    assert not any("different partners" in note for note in result.notes)


def test_self_play_shares_openings() -> None:
    rows = []
    for name, opening in product("ab", range(4)):
        speakers = {name: name, f"{name} (2)": name}
        turns = [Turn(f"opening {opening}"), Turn("mine", name)]
        rows.append(Dialogue(f"{name}~{name}/opening-{opening}", turns, speakers, given=1))
    scores = [Score(f"{d.id}#1", "made", float(i % 5), system=next(iter(d.systems))) for i, d in enumerate(rows)]
    result = ranked(scores, rows)
    assert result.differences[0].shared == 4
    assert result.differences[0].n == 8
    assert not any("different partners" in note for note in result.notes)


def test_what_cannot_be_ranked_is_refused_with_a_cure() -> None:
    scores, dialogues = played({"a": 0, "b": 1}, openings=2)
    cases: list[tuple[list[Score], list[Dialogue], str]] = [
        (scores, dialogues[1:], "1 scored dialogue not found among the dialogues"),
        (scores, [*dialogues, dialogues[0]], "duplicate dialogue id"),
        ([*scores, replace(scores[0], value=99.0)], dialogues, "scored .* twice"),
        ([replace(scores[0], id="7")], dialogues, "does not belong to an utterance in a dialogue"),
        ([replace(scores[0], system="")], dialogues, "does not belong to an utterance in a dialogue"),
        ([replace(scores[0], system="x")], dialogues, "whose systems are: a, p"),
        ([*scores, replace(scores[0], metric="other")], dialogues, "scores of 2 metrics; choose one of: made, other"),
        ([replace(scores[0], value=math.inf)], dialogues, "inf"),
        ([], dialogues, "no scores"),
    ]
    for bad, of, message in cases:
        with pytest.raises(InputError, match=message):
            dialogue_scores(bad, of)
    with pytest.raises(InputError, match="no scores of 'x'"):
        dialogue_scores(scores, dialogues, metric="x")
    for options in ({"method": "elo"}, {"by": "turn"}, {"n_bootstrap": -1}):
        with pytest.raises(InputError):
            ranked(scores, dialogues, **options)


@pytest.mark.parametrize("openings", [2, 5, 9])
def test_few_occasions_are_exchanged_in_all_ways(openings: int) -> None:
    """By lot, five occasions that all speak for one system could have had p = .045, though .0625 is the least."""
    scores, dialogues = played({"low": 0.0, "high": 0.7}, ["p"], openings)
    rows = dialogue_scores(scores, dialogues)
    high, low = ([row.value for row in rows if row.system == name] for name in ("high", "low"))
    expected = stats.permutation_test(
        (high, low), lambda x, y: np.mean(x) - np.mean(y), permutation_type="samples", n_resamples=np.inf
    )  # type: ignore[call-overload]
    (difference,) = rank(rows, n_bootstrap=0).differences
    assert difference.p == pytest.approx(float(expected.pvalue))
    (difference,) = rank([replace(row, value=float(row.system == "high")) for row in rows], n_bootstrap=0).differences
    assert difference.p == 2 / 2**openings


def test_predictions_about_references_rank_no_system() -> None:
    predicted = "reliability(metric=bleu_star)"
    with pytest.raises(InputError, match="it predicts how reliable references are"):
        select_rankable([predicted], None)
    assert select_rankable([predicted, "bleu"], None)[0] == ["bleu"]


TURN_LIST = [Turn("hi", "u"), Turn("hello", "s"), Turn("and?", "u"), Turn("well", "s")]


def dialogue(id: str, *ratings: Rating, occasion: str = "") -> Dialogue:
    return Dialogue(id, TURN_LIST, {"s": "bot"}, ratings, occasion=occasion)


def test_a_dialogue_has_the_mean_of_its_utterances_and_its_number_of_turns() -> None:
    scores = [Score("d#1", "mine", 1.0, system="bot"), Score("d#3", "mine", 2.0, system="bot")]
    found, items = rated_dialogues(scores, [dialogue("d", Rating(4.0, "ann"))])
    assert found == [Score("d", "mine", 1.5, system="bot"), Score("d", TURNS, 4.0, system="bot")]
    assert [(item.key, item.ratings) for item in items] == [(("d", "bot"), (Rating(4.0, "ann"),))]


def test_dialogues_on_one_occasion_share_a_context() -> None:
    scores = [Score(f"{id}#1", "mine", 1.0, system="bot") for id in "abc"]
    dialogues = [dialogue("a", Rating(1.0), occasion="x"), dialogue("b", occasion="y"), dialogue("c")]
    contexts = [item.context for item in rated_dialogues(scores, dialogues)[1]]
    assert [len(context) for context in contexts] == [1, 1, 0]
    assert contexts[0] != contexts[1]


def test_an_unscored_dialogue_stays_with_its_reason() -> None:
    scores = [Score("a#1", "mine", None, "no context", "bot"), Score("b#1", "mine", 1.0, system="bot")]
    found, _ = rated_dialogues(scores, [dialogue("a", Rating(1.0)), dialogue("b", Rating(2.0))])
    assert found[0].value is None
    assert found[0].reason


def test_ratings_that_name_a_system_are_of_this_system() -> None:
    two = Dialogue("d", TURN_LIST, {"s": "bot", "u": "other"}, [Rating(1.0, system="bot"), Rating(2.0, system="other")])
    scores = [Score("d#1", "mine", 1.0, system="bot"), Score("d#2", "mine", 1.0, system="other")]
    _, items = rated_dialogues(scores, [two])
    assert {item.system: [r.value for r in item.ratings] for item in items} == {"bot": [1.0], "other": [2.0]}


def test_dialogues_without_ratings_are_refused() -> None:
    with pytest.raises(InputError, match="no dialogue has ratings"):
        rated_dialogues([], [dialogue("d")])
