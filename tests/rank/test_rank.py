"""Ranks from dialogues, beside literal loops and scipy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from interloq.agree.dialogue_scores import DialogueScore, dialogue_scores, extremes
from interloq.errors import InputError
from interloq.rank.rank import rank, ranks_of
from interloq.rank.ranking import Method
from interloq.records import Dialogue, Score
from tests.made_rankings import played, ranked, recorded


def test_scores_are_means_of_dialogue_means() -> None:
    scores, dialogues = played({"a": 0, "b": 1})
    del scores[0]  # this dialogue has one utterance left, and counts no less than the others
    by_dialogue: dict[str, list[float]] = {}
    for score in scores:
        by_dialogue.setdefault(score.id.split("#")[0], []).append(score.value or 0)
    found = {s.system: s for s in ranked(scores, dialogues).standings}
    for system in "ab":
        means = [sum(v) / len(v) for id, v in by_dialogue.items() if id.startswith(f"{system}~")]
        assert found[system].score == pytest.approx(sum(means) / len(means))
        assert found[system].dialogues == len(means) == 20
    assert found["a"].utterances == 39


def test_scores_have_t_intervals_and_the_best_is_that_of_a_literal_bootstrap() -> None:
    scores, dialogues = played({"a": 0.0, "b": 0.2, "c": 3.0}, openings=6)
    rows = dialogue_scores(scores, dialogues)
    table = {(row.occasion, row.system): row.value for row in rows}
    occasions, systems = sorted({row.occasion for row in rows}), ["a", "b", "c"]
    rng = np.random.default_rng(7)
    drawn = rng.integers(len(occasions), size=(300, len(occasions)))
    means = np.array([[np.mean([table[occasions[i], s] for i in draw]) for s in systems] for draw in drawn])
    ranks = np.array([[1 + sum(other > own for other in row) for own in row] for row in means])
    found = {s.system: s for s in rank(rows, n_bootstrap=300, seed=7).standings}
    for i, system in enumerate(systems):
        values = [table[occasion, system] for occasion in occasions]
        expected = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert found[system].ci == pytest.approx(expected)
        assert found[system].best == pytest.approx((ranks[:, i] == 1).mean())
    assert found["c"].rank == 1
    assert found["c"].rank_range == (1, 1)
    assert {found["a"].rank_range, found["b"].rank_range} == {(2, 3)}


def test_differences_agree_with_the_paired_t_test_and_are_adjusted_by_holm() -> None:
    scores, dialogues = played({"a": 0.0, "b": 0.35, "c": 2.0}, openings=40)
    rows = dialogue_scores(scores, dialogues)
    result = rank(rows, n_permutations=4000)
    columns = {s: np.array([r.value for r in sorted(rows, key=lambda r: r.occasion) if r.system == s]) for s in "abc"}
    for d in result.differences:
        expected = stats.ttest_rel(columns[d.first], columns[d.second])
        assert d.difference == pytest.approx((columns[d.first] - columns[d.second]).mean())
        assert d.difference > 0
        assert (d.n, d.units, d.shared) == (160, 80, 80)
        assert d.p == pytest.approx(expected.pvalue, abs=0.02)
    assert [(d.first, d.second) for d in result.differences] == [("c", "b"), ("c", "a"), ("b", "a")]
    raw = sorted(d.p or 0 for d in result.differences)
    holm = np.minimum(np.maximum.accumulate(np.array(raw) * [3, 2, 1]), 1)
    assert sorted(d.p_adjusted or 0 for d in result.differences) == pytest.approx(list(holm))


def test_partners_count_as_one_unit_each() -> None:
    """A system that shines with one partner of eight only: dialogues are sure of it, partners are not."""
    rows = [
        DialogueScore(f"{s}{p}{i}", s, p, (8.0 if s == "b" and p == "p0" else 0.0) + 0.01 * (i % 7), f"{p}|{i}")
        for s, p, i in product("ab", [f"p{k}" for k in range(8)], range(25))
    ]
    by_dialogue, by_partner = (rank(rows, by=by).differences[0] for by in ("dialogue", "partner"))
    assert by_dialogue.ci
    assert by_partner.ci
    assert by_dialogue.p
    assert by_partner.p
    assert by_dialogue.difference == pytest.approx(1)
    assert by_partner.difference == pytest.approx(1)
    assert by_dialogue.ci[0] > 0.5
    assert by_partner.ci[0] < 0
    assert by_dialogue.p < 0.01
    assert by_partner.p == 1
    assert (by_dialogue.units, by_partner.units) == (200, 8)
    few = rank([row for row in rows if row.partner in ("p0", "p1", "p2", "p3")], by="partner")
    assert any("only 4 partners" in note for note in few.notes)
    assert few.differences[0].ci
    assert few.differences[0].ci[0] < 0


def test_without_shared_occasions_dialogues_are_dealt_out() -> None:
    rng = np.random.default_rng(0)
    rows = [
        DialogueScore(f"{s}{i}", s, "p", float(rng.normal() + shift), f"p|{s}{i}")
        for s, shift in (("a", 0.0), ("b", 0.5))
        for i in range(40)
    ]
    difference = rank(rows, n_permutations=4000).differences[0]
    first, second = ([r.value for r in rows if r.system == s] for s in "ab")
    assert (difference.n, difference.units, difference.shared) == (80, 80, 0)
    assert difference.p == pytest.approx(stats.ttest_ind(first, second).pvalue, abs=0.02)


@pytest.mark.parametrize("method", ["mean", "bradley-terry"])
def test_lower_is_better_turns_the_order_round(method: str) -> None:
    scores, dialogues = played({"a": 0, "b": 1, "c": 2}, openings=30)
    usual, turned = (ranked(scores, dialogues, method=method, lower_is_better=flag) for flag in (False, True))
    assert [s.system for s in usual.standings] == ["c", "b", "a"]
    assert [s.system for s in turned.standings] == ["a", "b", "c"]
    assert turned.standings[0].best == pytest.approx(1, abs=0.01)
    if method == "mean":  # a mean stays what it is; a strength is of who is better
        assert turned.standings[0].score == usual.standings[2].score
    else:
        assert turned.standings[0].score == pytest.approx(-usual.standings[2].score)


def test_a_metric_says_itself_that_lower_is_better() -> None:
    """Nobody should release the system that surprises most because an option was forgotten."""
    scores, dialogues = played({"a": 0, "b": 1}, openings=30)
    orders = {}
    for name in ("perplexity(model='nowhere')", "perplexity", "bleu"):
        renamed = [replace(score, metric=name) for score in scores]
        for lower in (None, True, False):
            orders[name, lower] = [s.system for s in ranked(renamed, dialogues, lower_is_better=lower).standings]
    up, down = ["b", "a"], ["a", "b"]
    assert list(orders.values()) == [*[down] * 6, *[up] * 3], "an option does not turn it"
    for name in ("toxicity", "perplexity of ours"):
        own = [replace(score, metric=name) for score in scores]
        with pytest.raises(InputError, match=r"unknown whether higher or lower scores are better; add --higher"):
            ranked(own, dialogues)
        assert [s.system for s in ranked(own, dialogues, lower_is_better=True).standings] == down
    renamed = [replace(score, metric="perplexity") for score in scores]
    rows = dialogue_scores(renamed, dialogues)
    best = extremes(rows, 1)["a"].best[0].value
    assert best == min(row.value for row in rows if row.system == "a")


@pytest.mark.parametrize("name", ["length", "length(tokenizer='char')", "mlm(model='x')"])
def test_what_has_no_better_end_ranks_nothing_unless_told(name: str) -> None:
    scores, dialogues = played({"a": 0, "b": 1}, openings=30)
    rows = dialogue_scores([replace(score, metric=name) for score in scores], dialogues)
    for refused in (rank, lambda rows: extremes(rows, 1)):
        with pytest.raises(InputError, match=r"cannot rank by .*: neither a high nor a low score is better"):
            refused(rows)
    orders = [[s.system for s in rank(rows, lower_is_better=lower).standings] for lower in (False, True)]
    assert orders == [["b", "a"], ["a", "b"]]


def test_a_metric_of_sets_ranks_nothing() -> None:
    scores, dialogues = played({"a": 0, "b": 1})
    for lower in (None, True, False):
        with pytest.raises(InputError, match="it scores sets of replies"):
            ranked([replace(s, metric="distinct(n=1)") for s in scores], dialogues, lower_is_better=lower)


def renamed(scores: Sequence[Score], dialogues: Sequence[Dialogue]) -> tuple[list[Score], list[Dialogue]]:
    """The same dialogues of bot b under each other's ids."""
    order = np.random.default_rng(9).permutation(30)
    names = {f"b{i}": f"b{j}" for i, j in enumerate(order)}
    named = [replace(s, id=f"{names.get(s.id[:-2], s.id[:-2])}#2") for s in scores]
    return named, [replace(d, id=names.get(d.id, d.id)) for d in dialogues]


@pytest.mark.parametrize("given", [0, 2])
@pytest.mark.parametrize("method", ["mean", "bradley-terry"])
def test_ids_change_no_result(given: int, method: str) -> None:
    made = recorded(given=given)
    if not given and method == "bradley-terry":
        with pytest.raises(InputError, match="no two systems share an occasion"):
            ranked(*made, method=method)
        return
    first, second = (ranked(*found, method=method) for found in (made, renamed(*made)))
    assert first.differences == second.differences
    assert first.standings == second.standings


def test_an_occasion_can_be_declared_and_pairing_switched_off() -> None:
    scores, dialogues = recorded()
    named = [replace(d, occasion=d.turns[0].text) for d in dialogues]
    declared = rank(dialogue_scores(scores, named))
    assert (declared.pairing, declared.unit, declared.differences[0].shared) == ("occasion", "occasion", 30)
    assert (declared.differences[0].p or 1) < 0.05
    off = rank(dialogue_scores(scores, named, pair_by="none"))
    assert (off.pairing, off.differences) == ("none", ranked(scores, dialogues).differences)
    with pytest.raises(InputError, match="cannot pair by opening: no dialogue has given turns"):
        dialogue_scores(scores, named, pair_by="opening")
    mixed = [replace(d, occasion="") if d.id in ("a0", "b7") else d for d in named]
    notes = rank(dialogue_scores(scores, mixed)).notes
    assert any("2 of 60 dialogues not paired" in note for note in notes)


def test_many_systems_can_be_told_apart() -> None:
    """Of 1,000 exchanges no p-value is below 1/1,001, which 66 pairs make .066: more are needed, and made."""
    scores, dialogues = played({chr(97 + i): 3.0 * i for i in range(12)}, openings=30)
    differences = ranked(scores, dialogues).differences
    assert len(differences) == 66
    assert all(d.p_adjusted is not None and d.p_adjusted < 0.05 for d in differences)


def test_agreement_with_people_is_scipys() -> None:
    scores, dialogues = played({"a": 0, "b": 1, "c": 2, "d": 3, "e": 2.5})
    human = {"a": 0.1, "b": 0.5, "c": 0.4, "d": 0.9, "e": 0.6, "nobody": 1.0}
    result = ranked(scores, dialogues, human=human)
    own = {s.system: s.score for s in result.standings}
    pairs = [own[name] for name in "abcde"], [human[name] for name in "abcde"]
    for name, test in (("spearman", stats.spearmanr), ("kendall", stats.kendalltau), ("pearson", stats.pearsonr)):
        estimate = result.human[name]
        assert estimate.value == pytest.approx(test(*pairs).statistic)
        assert estimate.ci
        assert estimate.ci[0] - 1e-9 <= estimate.value <= estimate.ci[1] + 1e-9
        assert estimate.n == 5
    assert any("'nobody'" in note for note in result.notes)
    assert ranked(scores, dialogues).human == {}


@given(st.permutations(range(24)))
@settings(max_examples=15, deadline=None)
def test_the_order_of_the_input_changes_nothing(order: list[int]) -> None:
    scores, dialogues = played({"a": 0, "b": 0.1}, openings=3)
    mixed = [scores[i] for i in order], [dialogues[i // 2] for i in order if i % 2]
    for method in ("mean", "bradley-terry"):
        assert ranked(*mixed, method=method, n_bootstrap=20, n_permutations=20) == ranked(
            scores, dialogues, method=method, n_bootstrap=20, n_permutations=20
        )


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5]), min_size=1, max_size=6))
def test_ranks_share_the_better_place(values: list[float]) -> None:
    expected = stats.rankdata([-v for v in values], method="min")
    assert list(ranks_of(np.array(values))) == list(expected)


def test_equal_systems_share_the_rank_and_the_first_place() -> None:
    rows = [DialogueScore(f"{s}{i}", s, "p", float(i), f"p|{i}") for s, i in product("ab", range(5))]
    result = rank(rows)
    assert [s.rank for s in result.standings] == [1, 1]
    assert [s.best for s in result.standings] == [0.5, 0.5]
    assert result.differences[0].difference == 0
    assert result.differences[0].p == 1


def test_one_system_is_first() -> None:
    for method in ("mean", "bradley-terry"):
        result = ranked(*played({"a": 0}), method=method)
        assert result.standings[0].rank == 1
        assert result.differences == ()


def test_the_signature_holds_what_the_numbers_rest_on() -> None:
    scores, dialogues = played({"a": 0, "b": 1})
    plain = ranked(scores, dialogues, partner_set="abc").signature
    assert {"metric": "made", "partners": "abc", "seed": "0"}.items() <= plain.parts.items()
    scores[3] = replace(scores[3], value=9.0)
    assert ranked(scores, dialogues, partner_set="abc").signature != plain


def between_bots(seed: int = 0, openings: int = 6) -> list[DialogueScore]:
    """Dialogues of all pairs of four bots, with the scores of both sides."""
    rng, rows = np.random.default_rng(seed), []
    for (i, first), (j, second), n in product(enumerate("abcd"), enumerate("abcd"), range(openings)):
        if i < j:
            for (place, own), other in (((i, first), second), ((j, second), first)):
                value = 0.3 * place + float(rng.normal())
                dialogue = f"{first}{second}{n}"
                rows.append(
                    DialogueScore(dialogue, own, other, value, f"{own}{dialogue}", pairing="none", content=dialogue)
                )
    return rows


@pytest.mark.parametrize("method", ["mean", "bradley-terry"])
def test_a_difference_its_interval_and_its_p_are_of_the_same_dialogues(method: Method) -> None:
    rows = between_bots()
    result = rank(rows, method=method)
    means = {s: np.mean([row.value for row in rows if row.system == s]) for s in "abcd"}
    for d in result.differences:
        assert d.n == 36
        assert d.shared == 6
        assert d.ci
        assert d.p is not None
        if method == "mean":
            assert d.units == 30
            assert d.difference == pytest.approx(means[d.first] - means[d.second])
            assert (d.ci[0] > 0) == (d.p < 0.05)
    assert (result.pairing, result.unit) == ("dialogue", "dialogue")
    assert not any("not paired" in note or "shared occasions" in note for note in result.notes)
    assert any("paired within dialogues" in note for note in result.notes)


def test_the_interval_excludes_zero_if_and_only_if_p_is_below_5_percent() -> None:
    rng, seen = np.random.default_rng(1), set()
    for trial in range(40):
        n, shared = int(rng.integers(4, 20)), bool(trial % 2)
        rows = [
            DialogueScore(f"{s}{i}", s, "p", float(rng.normal() + 0.6 * (s == "b")), f"{i}" if shared else f"{s}{i}")
            for s, i in product("ab", range(n))
        ]
        (found,) = rank(rows, seed=trial, n_bootstrap=0).differences
        assert found.p is not None
        excludes = found.ci is not None and found.ci[0] > 1e-9
        assert excludes == (found.p < 0.05)
        seen.add(excludes)
    assert seen == {True, False}


def test_no_ranges_of_equal_systems_are_disjoint_and_all_hold_the_truth_together() -> None:
    rng, wrong = np.random.default_rng(0), 0
    for trial in range(40):
        effect = rng.normal(size=25)
        rows = [
            DialogueScore(f"{s}{i}", s, "p", float(effect[i] + rng.normal()), f"{i}")
            for s, i in product("abcdefgh", range(25))
        ]
        found = rank(rows, n_bootstrap=0, n_permutations=1000, seed=trial)
        wrong += any(s.rank_range != (1, 8) for s in found.standings)
    assert wrong <= 6  # 5 % are 2
    assert found.range_level == 0.95


@pytest.mark.parametrize("factor", [1e-11, 1e-14, 1e9])
@pytest.mark.parametrize("method", ["mean", "bradley-terry"])
def test_other_units_of_scores_change_no_rank_and_no_p(method: Method, factor: float) -> None:
    rows = between_bots()
    rows += [replace(row, dialogue=f"e{row.dialogue}", system=row.system.upper()) for row in rows]  # ties
    usual = rank(rows, method=method, n_bootstrap=100)
    scaled = rank([replace(row, value=row.value * factor) for row in rows], method=method, n_bootstrap=100)
    for one, other in zip(usual.standings, scaled.standings, strict=True):
        assert (one.system, one.rank, one.rank_range, one.best) == (
            other.system,
            other.rank,
            other.rank_range,
            other.best,
        )
    for first, second in zip(usual.differences, scaled.differences, strict=True):
        assert (first.first, first.second) == (second.first, second.second)
        assert first.p == pytest.approx(second.p, rel=1e-9)
        assert first.p_adjusted == pytest.approx(second.p_adjusted, rel=1e-9)


# ---- a ranking as a table --------------------------------------------------------------------------------------------


def test_there_is_one_row_per_system_the_best_first() -> None:
    ranking = ranked(*played({"low": 0.0, "high": 4.0}), n_bootstrap=50)
    rows = ranking._table_rows()
    assert [(row["system"], row["rank"], row["dialogues"]) for row in rows] == [("high", 1, 20), ("low", 2, 20)]
    assert (rows[0]["rank_from"], rows[0]["rank_to"]) == ranking.standings[0].rank_range
    assert "2 systems ranked by made" in repr(ranking)


def test_without_permutations_there_are_no_ranges() -> None:
    result = ranked(*played({"a": 0, "b": 1}), n_bootstrap=0, n_permutations=0)
    assert all(s.rank_range is None and s.best is None for s in result.standings)
    assert result.differences[0].p is None
    assert [(row["rank_from"], row["rank_to"]) for row in result._table_rows()] == [(None, None)] * 2


def test_systems_with_different_partners_are_noted() -> None:
    scores, dialogues = played({"a": 0, "b": 1})
    fewer = [d for d in dialogues if "a~q" not in d.id]
    result = ranked([s for s in scores if "a~q" not in s.id], fewer)
    assert any("'a' never talked to 'q'" in note for note in result.notes)
    assert not any("different partners" in note for note in ranked(scores, dialogues).notes)
