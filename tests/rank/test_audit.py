"""Audits, beside literal loops and a made case in which cheating must work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from scipy import stats

from interloq.agree.dialogue_scores import DialogueScore
from interloq.errors import InputError
from interloq.rank.audit import among, cheating, influence

SERIES = ("x1", "x2", "x3")


def all_play_all(levels: dict[str, float], *, penalty: float = 3.0, n: int = 3) -> list[DialogueScore]:
    """Systems of a series bore each other: they lose points when they talk among themselves."""
    return [
        DialogueScore(f"{a}~{b}/{i}", a, b, levels[a] - penalty * (a in SERIES and b in SERIES) + 0.01 * i, f"{b}|{i}")
        for a, b, i in product(levels, levels, range(n))
        if a != b
    ]


LEVELS = {"x1": 2.0, "x2": 2.1, "x3": 1.9, "low": 0.0, "mid": 0.5, "top": 5.0, "also": 4.9}


def _mean(rows: Sequence[DialogueScore], system: str, partners: Sequence[str]) -> float:
    values = [row.value for row in rows if row.system == system and row.partner in partners]
    return sum(values) / len(values)


def test_look_alikes_overturn_a_ranking() -> None:
    rows = all_play_all(LEVELS)
    found = cheating(rows, "x1", ["x2", "x3"])
    assert [trial.favoured for trial in found.trials] == ["also", "low", "mid", "top"]
    for trial in found.trials:
        four = [trial.favoured, "x1", "x2", "x3"]
        assert sorted(trial.unfair_set) == sorted(four)
        others = ["x1", "low", "mid", "top", "also"]  # in the paper's fair set are no look-alikes
        assert trial.fair == pytest.approx(_mean(rows, trial.favoured, others) - _mean(rows, "x1", others))
        assert trial.unfair == pytest.approx(_mean(rows, trial.favoured, four) - _mean(rows, "x1", four))
        assert trial.dialogues == 2 * 3 * 3
    # fair: x1 has 2; unfair: 2 - 2·3/3 = 0: mid (.5) is pushed above it, low (0) ties at best
    assert found.table == ((2, 0), (1, 1))
    assert [trial.favoured for trial in found.trials if trial.overturned] == ["mid"]


def test_without_an_effect_nothing_is_overturned() -> None:
    found = cheating(all_play_all(LEVELS, penalty=0), "x1", ["x2", "x3"])
    assert found.table == ((2, 0), (0, 2))
    assert not any(trial.overturned for trial in found.trials)


def test_lower_may_be_better_for_cheats_too() -> None:
    rows = [DialogueScore(r.dialogue, r.system, r.partner, -r.value, r.occasion) for r in all_play_all(LEVELS)]
    turned = cheating(rows, "x1", ["x2", "x3"], lower_is_better=True)
    assert turned == cheating(all_play_all(LEVELS), "x1", ["x2", "x3"])


def test_look_alikes_may_be_favoured_when_named() -> None:
    found = cheating(all_play_all(LEVELS), "x1", ["x2", "x3"], favoured=["x2"])
    assert found.trials[0].unfair_set == ("x2", "x1", "x3")


def test_sets_may_be_played_instead() -> None:
    rows, asked = all_play_all(LEVELS), []

    def play(cast: tuple[str, ...]) -> list[DialogueScore]:
        asked.append(cast)
        return among(rows, cast)

    assert cheating(rows, "x1", ["x2", "x3"], play=play) == cheating(rows, "x1", ["x2", "x3"])
    assert asked[0] == ("also", "x1", "x2", "x3")
    fair = among(rows, ["x1", "low", "mid", "top", "also"])  # the look-alikes come in with the unfair sets alone
    assert cheating(fair, "x1", ["x2", "x3"], play=play) == cheating(rows, "x1", ["x2", "x3"])


def test_look_alikes_do_not_count_in_the_fair_set() -> None:
    """Were they counted there, the unfair set would look less unfair than it is: x1 would have lost points already."""
    levels = {"x1": 2.0, "x2": 2.0, "x3": 2.0, "mid": 1.5}
    (trial,) = cheating(all_play_all(levels), "x1", ["x2", "x3"]).trials
    assert trial.fair == pytest.approx(-0.5)
    assert trial.unfair == pytest.approx(1.5)
    assert trial.overturned


def test_what_is_not_an_all_play_all_is_refused() -> None:
    with pytest.raises(InputError, match="none of the systems talked to each other"):
        cheating(_bipartite(0), "s0", ["s1", "s2"])


def test_a_system_without_scores_is_told() -> None:
    rows = [*all_play_all(LEVELS), DialogueScore("z~x1/0", "z", "x1", math.nan, "x1|0", reason="crashed")]
    found = cheating(rows, "x1", ["x2", "x3"])
    assert found.unscored == ("z",)
    assert sum(map(sum, found.table)) == 4


def _bipartite(seed: int, systems: int = 4, partners: int = 5, n: int = 4) -> list[DialogueScore]:
    rng = np.random.default_rng(seed)
    return [
        DialogueScore(f"{s}{p}{i}", f"s{s}", f"p{p}", float(0.2 * s + rng.normal()), f"p{p}|{i}")
        for s, p, i in product(range(systems), range(partners), range(n))
    ]


@pytest.mark.parametrize("seed", range(5))
def test_changes_of_partners_are_those_of_a_literal_loop(seed: int) -> None:
    rows = _bipartite(seed)
    inside, pool = ["p0", "p1", "p2"], ["p3", "p4"]
    found = influence(rows, inside, pool)
    systems = sorted({row.system for row in rows})

    def ranks(partners: Sequence[str]) -> dict[str, int]:
        scores = {s: _mean(rows, s, partners) for s in systems}
        return {s: 1 + sum(scores[o] > scores[s] for o in systems) for s in systems}

    expected = {("drop", p, ""): ranks([q for q in inside if q != p]) for p in inside}
    expected |= {("add", "", p): ranks([*inside, p]) for p in pool}
    expected |= {("swap", p, q): ranks([*(o for o in inside if o != p), q]) for p in inside for q in pool}
    assert {(c.kind, c.out, c.into): c.ranks for c in found.changes} == expected
    assert found.ranks == ranks(inside)
    assert [c.moved for c in found.changes] == sorted((c.moved for c in found.changes), reverse=True)
    for change in found.changes:
        assert change.moves == {s: found.ranks[s] - change.ranks[s] for s in systems}
        tau = stats.kendalltau(list(found.ranks.values()), list(change.ranks.values())).statistic
        assert change.kendall == pytest.approx(tau)
    for system in systems:
        drops = [expected["drop", p, ""][system] for p in inside]
        assert found.range_of(system, "drop") == (min(drops), max(drops))


def test_one_partner_that_carries_a_rank_is_found() -> None:
    rows = [
        DialogueScore(f"{s}{p}{i}", s, p, 5.0 if (s, p) == ("weak", "friend") else float(s == "strong"), f"{p}|{i}")
        for s, p, i in product(("weak", "strong"), ("friend", "p", "q", "r"), range(3))
    ]
    found = influence(rows)
    assert found.ranks == {"weak": 1, "strong": 2}
    assert found.changes[0].out == "friend"
    assert found.changes[0].moves == {"weak": -1, "strong": 1}
    assert [change.moved for change in found.changes[1:]] == [0, 0, 0]
    assert found.range_of("weak", "add") is None


def test_what_cannot_be_audited_is_refused_with_a_cure() -> None:
    rows = all_play_all(LEVELS)
    for arguments, message in (
        (("x9", ["x2"]), "did you mean"),
        (("x1", []), "no similar system"),
        (("x1", ["x1"]), "is given as unfavoured"),
    ):
        with pytest.raises(InputError, match=message):
            cheating(rows, *arguments)
    with pytest.raises(InputError, match="no system is left"):
        cheating(among(rows, SERIES), "x1", ["x2", "x3"])
    with pytest.raises(InputError, match="no dialogue with partner 'nobody'"):
        influence(rows, ["nobody"])
    with pytest.raises(InputError, match="in the set and in the pool"):
        influence(rows, ["x1"], ["x1"])
    with pytest.raises(InputError, match="cannot be changed"):
        influence([row for row in rows if row.partner == "x1"])
