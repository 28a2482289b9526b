"""Strengths of systems and agreement of metrics from people's preferences."""

from __future__ import annotations

import math

import pytest

from interloq.errors import InputError
from interloq.rank.human_preferences import preference_agreement, rank_preferences
from interloq.records import Preference, Score
from interloq.statistics.bradley_terry import PRIOR


def prefer(*winners: str, aspect: str = "overall") -> list[Preference]:
    return [Preference(str(i), ("a", "b"), winner, f"r{i % 2}", aspect) for i, winner in enumerate(winners)]


def test_strengths_of_two_systems_are_log_odds_of_wins() -> None:
    (found,) = rank_preferences(prefer("a", "a", "b", "a", ""), seed=1)
    a, b = found.systems
    assert (a.system, a.wins, a.ties, a.losses) == ("a", 3, 1, 1)
    assert (b.system, b.wins, b.ties, b.losses) == ("b", 1, 1, 3)
    assert a.strength - b.strength == pytest.approx(math.log((3.5 + PRIOR) / (1.5 + PRIOR)))
    assert a.ci is not None
    assert a.ci[0] < a.strength < a.ci[1]
    assert (found.items, found.raters, found.preferences, found.notes) == (5, 2, 5, ())


def test_rank_ranges_follow_from_tests_of_all_pairs() -> None:
    (sure,) = rank_preferences(prefer(*"aaaaaaaaaaaaaaa"), n_bootstrap=0)
    assert [one.rank_range for one in sure.systems] == [(1, 1), (2, 2)]
    (unsure,) = rank_preferences(prefer(*"aaabb"), n_bootstrap=0)
    assert [one.rank_range for one in unsure.systems] == [(1, 2), (1, 2)]
    (untested,) = rank_preferences(prefer(*"aaabb"), n_bootstrap=0, n_permutations=0)
    assert [one.rank_range for one in untested.systems] == [None, None]


def test_aspects_are_ranked_apart_and_unconnected_systems_noted() -> None:
    other = [Preference("x", ("c", "d"), "d", aspect="fluency"), Preference("x", ("e", "f"), "e", aspect="fluency")]
    fluency, overall = rank_preferences([*prefer("a", "b"), *other], n_bootstrap=0)
    assert (fluency.aspect, overall.aspect) == ("fluency", "overall")
    assert len(fluency.notes) == 1
    assert [one.ci for one in overall.systems] == [None, None]


def test_a_rater_who_compares_the_same_answers_twice_is_noted() -> None:
    again = [Preference("0", ("b", "a"), "b", "r0"), Preference("0", ("a", "b"), "a", "r1")]
    (found,) = rank_preferences([*prefer("a", "b"), *again], n_bootstrap=0)
    assert found.notes == ("1 preference of a rater who had compared the same answers before: all count",)


def test_preferences_for_one_item_are_one_unit() -> None:
    one_item = [Preference("1", ("a", "b"), "a", str(i)) for i in range(50)]
    (found,) = rank_preferences(one_item)
    assert found.systems[0].ci is None


def test_scores_are_matched_by_the_ids_of_the_replies_if_they_differ_from_the_item() -> None:
    scores = [Score("0/a", "chrf", 0.9, system="a"), Score("0/b", "chrf", 0.1, system="b")]
    (found,) = preference_agreement([Preference("0", ("a", "b"), "b", ids=("0/a", "0/b"))], scores)
    assert (found.n, found.share) == (1, 0)


def test_the_direction_of_an_unknown_metric_is_asked_for() -> None:
    scores = [Score("0", "toxicity", value, system=system) for system, value in (("a", 0.9), ("b", 0.1))]
    with pytest.raises(InputError, match=r"toxicity .* unknown whether higher or lower.*--lower-is-better"):
        preference_agreement(prefer("a"), scores)
    for lower, share in ((True, 0), (False, 1)):
        assert preference_agreement(prefer("a"), scores, lower_is_better=lower)[0].share == share


def test_metrics_agree_where_the_winner_has_the_better_score() -> None:
    values = {"0": (0.9, 0.1), "1": (0.2, 0.2), "2": (0.1, 0.9), "4": (0.5, 0.6)}
    scores = [
        Score(item, name, value if name == "chrf" else -value, system=system)
        for item, pair in values.items()
        for system, value in zip("ab", pair, strict=True)
        for name in ("chrf", "meteor")
    ]
    mine, opposite = preference_agreement(prefer("a", "a", "b", "a", ""), scores)
    assert (mine.metric, mine.n, mine.ties, mine.unscored) == ("chrf", 3, 1, 1)
    assert mine.share == pytest.approx(5 / 6)
    assert opposite.share == pytest.approx(1 / 6)
    assert mine.ci is not None
    assert mine.ci[0] < 5 / 6 < mine.ci[1] <= 1
    with pytest.raises(InputError, match="no preference has scores"):
        preference_agreement(prefer("a"), [Score("0", "chrf", 1.0)])
    with pytest.raises(InputError, match="not be negative"):
        rank_preferences([], n_bootstrap=-1)
