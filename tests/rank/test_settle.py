"""Settling on simulated systems whose true means are known, and on bots that really talk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from interloq.agree.dialogue_scores import DialogueScore
from interloq.data.records.jsonl import load
from interloq.errors import InputError
from interloq.play.openings import Opening
from interloq.play.play_options import PlanOptions
from interloq.play.run import Plan, plan
from interloq.play.schedule import bipartite
from interloq.rank.settle import (
    Look,
    Rule,
    Settled,
    facts,
    plan_looks,
    play_until_settled,
    rounds_of,
    settle,
    t_interval,
    watch,
)
from interloq.records import Dialogue, Score, Turn
from interloq.registry import create
from interloq.servers.replies import Reply
from tests.made_bots import Wordy


def simulated(
    levels: Mapping[str, float], budget: int, seed: int, *, partners: int = 2, heavy: bool = False
) -> Iterator[list[DialogueScore]]:
    """Rounds in which an opening is easy or hard for all; `heavy` draws noise with far outliers."""
    rng = np.random.default_rng(seed)
    for number in range(budget):
        shared = rng.normal()
        noise = rng.standard_t(3, (len(levels), partners)) if heavy else rng.normal(size=(len(levels), partners))
        yield [
            DialogueScore(f"{name}{p}{number}", name, f"p{p}", level + shared + float(noise[i, p]), f"{p}|{number}")
            for i, (name, level) in enumerate(levels.items())
            for p in range(partners)
        ]


def _settled(levels: Mapping[str, float], *, budget: int = 200, seed: int = 0, **options: float) -> Settled:
    rule = Rule(**options)  # type: ignore[arg-type]
    return watch(simulated(levels, budget, seed), rule, budget=budget, systems=len(levels))


def test_clearly_different_systems_are_settled_soon_and_in_the_right_order() -> None:
    for seed in range(20):
        found = _settled({"worst": 0, "best": 4, "middle": 2}, seed=seed)
        assert found.settled
        assert found.order == ("best", "middle", "worst")
        assert found.rounds <= 30
        assert found.dialogues == found.rounds * 6
        assert found.not_apart == ()


def test_equal_systems_run_to_the_budget_and_are_not_called_apart() -> None:
    found = _settled({"a": 1, "b": 1, "c": 6}, budget=60)
    assert not found.settled
    assert found.rounds == 60
    assert found.looks[-1].rounds == 60
    assert [{gap.better, gap.worse} for gap in found.not_apart] == [{"a", "b"}]
    assert found.order[0] == "c"


@pytest.mark.parametrize("heavy", [False, True])
def test_equal_systems_are_called_apart_no_more_often_than_alpha(heavy: bool) -> None:
    """100 runs with many looks at α = 10 %: the error stays below, where looking without correction errs far above."""
    wrong = naive = 0
    for seed in range(100):
        rounds = list(simulated({"a": 0, "b": 0, "c": 0}, 60, seed, heavy=heavy))
        looks: list[Look] = []
        watch(rounds, Rule(0.1), budget=60, systems=3, on_look=looks.append)
        wrong += any(gap.apart for look in looks for gap in look.gaps)
        naive += _naive(rounds, [look.rounds for look in looks])
    assert wrong <= 100 * 0.1
    assert naive > 100 * 0.2


def _naive(rounds: Sequence[Sequence[DialogueScore]], looks: Sequence[int]) -> bool:
    values = {s: [np.mean([r.value for r in rows if r.system == s]) for rows in rounds] for s in "abc"}
    pairs = (("a", "b"), ("a", "c"), ("b", "c"))
    return any(stats.ttest_rel(values[x][:n], values[y][:n]).pvalue < 0.1 for n in looks for x, y in pairs)


def test_a_wrong_order_is_rarely_called_settled() -> None:
    wrong = 0
    for seed in range(150):
        found = _settled({"a": 0.0, "b": 0.15}, budget=80, seed=seed, alpha=0.1)
        wrong += found.settled and found.order != ("b", "a")
    assert wrong <= 150 * 0.1


def test_intervals_are_those_of_scipy() -> None:
    values = np.random.default_rng(0).normal(1, 2, 30)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.99)
    assert t_interval(values, 0.01) == pytest.approx((expected.low, expected.high))
    assert t_interval(values[:1], 0.01) == (-math.inf, math.inf)


def test_looks_grow_share_alpha_and_end_with_the_budget() -> None:
    looks, level = plan_looks(100, 4, Rule(0.05))
    assert looks[-1] == 100
    assert looks == sorted(set(looks))
    assert level == pytest.approx(0.05 / len(looks) / 6)
    assert 2.0 ** (1 - looks[0]) <= level
    assert plan_looks(3, 2)[0] == [3]


def test_constant_differences_need_as_many_rounds_as_a_test_of_signs() -> None:
    rows = [[DialogueScore(f"{s}{i}", s, "p", float(s == "a"), f"{i}") for s in "ab"] for i in range(40)]
    found = watch(rows, budget=40, systems=2)
    assert found.settled
    assert 2.0 ** (1 - found.rounds) <= found.level
    assert not watch(rows[:4], budget=4, systems=2).settled


def test_a_margin_calls_equal_systems_alike() -> None:
    found = _settled({"a": 1, "b": 1, "c": 6}, budget=400, margin=0.8)
    assert found.settled
    assert found.rounds < 400
    assert [gap.alike for gap in found.looks[-1].gaps] == [False, True]


def test_lower_may_be_better() -> None:
    found = watch(simulated({"a": 0, "b": 3}, 100, 0), Rule(lower_is_better=True), budget=100, systems=2)
    assert found.settled
    assert found.order == ("a", "b")
    assert found.looks[-1].gaps[0].difference < 0


def test_a_system_without_scores_and_missing_rounds_are_counted() -> None:
    rounds = [list(rows) for rows in simulated({"a": 0, "b": 5}, 30, 0)]
    for rows in rounds[:5]:
        rows[:] = [DialogueScore(r.dialogue, r.system, r.partner, math.nan, r.occasion) for r in rows]
    for number, rows in enumerate(rounds):
        rows.append(DialogueScore(f"z{number}", "z", "p0", math.nan, "x", reason="crashed"))
    found = watch(rounds, budget=30, systems=3)
    assert found.order == ("b", "a")
    assert found.looks[-1].gaps[0].rounds == found.rounds - 5
    assert found.unscored == 5 * 4 + found.rounds


def test_play_and_score_may_be_any_functions() -> None:
    rng = np.random.default_rng(0)
    calls = []

    def play_round(number: int) -> list[Dialogue]:
        calls.append(number)
        return [Dialogue(f"{n}~p/{number}", [Turn("x", n)], {n: n, "p": "p"}) for n in ("low", "high")]

    def score(dialogues: Sequence[Dialogue]) -> list[Score]:
        return [
            Score(f"{d.id}#0", "made", float(3 * d.id.startswith("high") + rng.normal()), system=d.turns[0].speaker)
            for d in dialogues
        ]

    found = settle(play_round, score, budget=500, systems=2)
    assert found.settled
    assert found.order == ("high", "low")
    assert calls == list(range(found.rounds))


def test_rounds_are_balanced() -> None:
    openings = [Opening(f"opening-{i}", (f"hello {i}",)) for i in range(3)]
    matches = bipartite(["a", "b"], ["p", "q"], openings, repeats=2)
    rounds = rounds_of(reversed(matches))
    assert len(rounds) == 6
    for round in rounds:
        assert sorted((m.target, m.partner) for m in round) == [("a", "p"), ("a", "q"), ("b", "p"), ("b", "q")]
        assert len({m.opening for m in round}) == 1
    assert len(rounds_of(matches[:-1])) == 5


@pytest.mark.parametrize(
    "options",
    [{"alpha": 0.0}, {"alpha": 1.0}, {"first": 1}, {"growth": 1.0}, {"margin": -1.0}, {"margin": math.nan}],
)
def test_a_rule_that_makes_no_sense_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Rule(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("budget", "systems"), [(1, 2), (10, 1)])
def test_too_few_rounds_or_systems_are_refused(budget: int, systems: int) -> None:
    with pytest.raises(InputError):
        watch([], budget=budget, systems=systems)


@pytest.fixture
def wordy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.play.run.spec", lambda bot: f"wordy(words={bot.words})")
    monkeypatch.setattr("interloq.play.partners.spec", lambda bot: f"wordy(words={bot.words})")


class Silent(Wordy):
    """Gives no answer at all."""

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        assert len(dialogues) == len(seeds)
        return [Reply("", "no answer") for _ in dialogues]


def planned_talks(first: Wordy, second: Wordy, openings: int) -> Plan:
    """Talks of two bots with one partner."""
    made = [Opening(f"opening-{i}", (f"hello {i}", "hi")) for i in range(openings)]
    targets, partners = {"first": first, "second": second}, {"p": Wordy(1)}
    return plan(targets, made, PlanOptions(scheme="bipartite"), exchanges=2, partners=partners)


@pytest.mark.usefixtures("wordy")
def test_bots_play_only_as_long_as_needed(folder: Path) -> None:
    planned, metric = planned_talks(Wordy(2), Wordy(9), 200), create("length", kind="metric")
    found = play_until_settled(planned, folder / "d.jsonl", metric, Rule(lower_is_better=False))
    assert found.settled.settled
    assert found.settled.order == ("second", "first")
    kept = load(folder / "d.jsonl", kind="dialogues")
    assert len(kept) == found.settled.dialogues < 100
    assert len(found.scores) == 2 * len(kept)
    assert facts(found.settled)["order"] == ("second", "first")
    again = play_until_settled(planned, folder / "d.jsonl", metric, Rule(lower_is_better=False))
    assert again == found


@pytest.mark.usefixtures("wordy")
def test_what_was_said_is_heard_and_not_read_from_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = planned_talks(Wordy(4), Wordy(4), 60)
    monkeypatch.setattr("interloq.play.run.read", lambda *_, **__: pytest.fail("the file was read"))
    looks: list[Look] = []
    metric = create("length", kind="metric")
    rule = Rule(lower_is_better=False)
    found = play_until_settled(planned, folder / "d.jsonl", metric, rule, on_look=looks.append)
    assert len(looks) > 2
    assert found.settled.dialogues == len(load(folder / "d.jsonl", kind="dialogues")) == 120
    assert not (folder / "d.jsonl.journal").exists()


@pytest.mark.usefixtures("wordy")
def test_the_dialogues_are_kept_where_no_target_says_anything(folder: Path) -> None:
    planned = planned_talks(Silent(0), Silent(1), 60)
    with pytest.raises(InputError, match="no target said anything in the dialogues after round 0"):
        play_until_settled(planned, folder / "d.jsonl", create("length", kind="metric"), Rule(lower_is_better=False))
    assert {dialogue.failure for dialogue in load(folder / "d.jsonl", kind="dialogues")} != {""}


@pytest.mark.usefixtures("wordy")
def test_metrics_of_the_whole_set_are_refused(folder: Path) -> None:
    planned = plan(
        {"a": Wordy(1), "b": Wordy(2)}, [Opening("o", ("hi",))], PlanOptions(scheme="self-play"), exchanges=1
    )
    with pytest.raises(InputError, match="is fitted to the whole set"):
        play_until_settled(planned, folder / "d.jsonl", create("nist", kind="metric"))
