"""The modules of `interloq.scorers.judge`: model, settings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq import InputError, Sample
from interloq.learn.store import load_model, save_model
from interloq.scorers.judge.model import JudgeScorer, pair_hash, texts_of
from interloq.scorers.judge.settings import TRAINABLE, TUNED, JudgeSettings, TuneSettings
from tests.made_damage import check_damaged_facts
from tests.made_judge import rated
from tests.made_relevance import small_scorer


def test_scores_are_heads_on_states(judge: Path) -> None:
    scorer, samples = JudgeScorer.load(judge, device="cpu"), rated(30, seed=9)
    states = scorer.relevance.states(*texts_of(samples))
    wanted = np.clip(states @ scorer.weights[1] + scorer.offsets[1], -1, 1)
    assert scorer.scores(samples, "overall") == pytest.approx(wanted, abs=1e-6)
    assert scorer.signature().startswith("judge-")
    assert scorer.scores([], "overall").shape == (0,)


def test_scores_stay_in_their_range(judge: Path) -> None:
    scorer = JudgeScorer.load(judge, device="cpu")
    steep = JudgeScorer(**{**vars(scorer), "weights": scorer.weights * 1e6})
    assert set(np.abs(steep.scores(rated(20, seed=9), "overall"))) == {1.0}


def test_it_knows_the_replies_it_was_trained_on(judge: Path) -> None:
    scorer, known = JudgeScorer.load(judge), rated(60, seed=1)
    assert scorer.trained_on(known) == 60
    assert scorer.trained_on([*known[:3], *rated(10, seed=9)]) == 3
    first = known[0]
    loud = Sample("other id", [f"{turn.text.upper()} !" for turn in first.context], first.response)
    assert scorer.trained_on([loud]) == 1
    assert scorer.trained_on([Sample("x", first.context[1:], first.response)]) == 0


def test_where_a_context_ends_matters() -> None:
    assert pair_hash(Sample("a", ["tea", "rain"], "bread")) != pair_hash(Sample("a", ["tea"], "rain bread"))
    assert -(2**63) <= pair_hash(Sample("a", ["tea"], "rain")) < 2**63


def test_the_scorer_may_move_but_not_change(judge: Path, scorer: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(scorer, tmp_path / "moved")
    samples = rated(5, seed=9)
    found = JudgeScorer.load(judge, scorer=str(moved), device="cpu").scores(samples, "overall")
    assert found == pytest.approx(JudgeScorer.load(judge, device="cpu").scores(samples, "overall"), abs=1e-6)
    other = small_scorer(tmp_path / "other", n=30)
    with pytest.raises(InputError, match=r"and the judge was trained on relevance-\w+; set `scorer` to the right one"):
        JudgeScorer.load(judge, scorer=str(other)).signature()


def without(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda facts: facts.pop(name)


@pytest.mark.parametrize(
    "damage",
    [
        without("aspects"),
        without("scorer"),
        lambda facts: facts["aspects"].pop(),
        lambda facts: facts.update(aspects=7),
        lambda facts: facts.update(kind="relevance"),
    ],
)
def test_damaged_facts(judge: Path, tmp_path: Path, damage: Callable[[dict[str, Any]], None]) -> None:
    folder = shutil.copytree(judge, tmp_path / "judge")
    facts = json.loads((folder / "model.json").read_text())
    damage(facts)
    (folder / "model.json").write_text(json.dumps(facts))
    with pytest.raises(InputError, match=str(folder)):
        JudgeScorer.load(folder)


def test_every_damaged_fact_is_refused_or_not_needed(judge: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(judge, tmp_path / "judge")

    def use() -> None:
        found = JudgeScorer.load(folder, device="cpu")
        assert found.signature()
        found.scores([Sample("1", ["hello"], "hi")], "overall")
        with pytest.raises(InputError, match="no aspect 'none'"):
            found.row("none")

    assert check_damaged_facts(folder / "model.json", use) > 10


def test_damaged_weights(judge: Path, tmp_path: Path) -> None:
    facts, tensors = load_model(judge, kind="judge")
    for name, changed in (
        ("weights", torch.zeros(3)),
        ("weights", torch.zeros(2, 5)),
        ("offsets", torch.zeros(1)),
        ("pairs", torch.zeros(2, 2)),
    ):
        save_model(tmp_path / "judge", tensors | {name: changed}, facts)
        with pytest.raises(InputError):
            JudgeScorer.load(tmp_path / "judge").signature()
    save_model(tmp_path / "judge", {"weights": tensors["weights"]}, facts)
    with pytest.raises(InputError, match="'offsets' is missing"):
        JudgeScorer.load(tmp_path / "judge")


def test_every_setting_is_an_option() -> None:
    assert [name for _, name in TRAINABLE.options()] == ["scorer", "tune", "least"]
    assert TRAINABLE.instead == ("tune", TUNED)
    own = {name for _, name in TUNED.options()}
    assert {"scorer", "tune", "least", "aspect", "replies", "batch", "seed", "epochs", "low_rank"} < own


@pytest.mark.parametrize(("settings", "name"), [(JudgeSettings, "least"), (TuneSettings, "replies")])
def test_a_count_of_nothing_is_refused(settings: Any, name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be above 0, got 0"):
        settings(**{name: 0})


def test_the_result_has_one_line_per_aspect() -> None:
    frozen = {"aspect": "overall", "replies": 1200, "sets": 1, "strength": 3.0, "spearman": 0.5, "ci": [0.25, 0.75]}
    unknown = frozen | {"aspect": "rare", "spearman": None, "ci": [None, None]}
    assert TRAINABLE.result({"aspects": [frozen, unknown]}, []).splitlines() == [
        "overall: 1,200 replies of 1 set, λ 3; Spearman on held-out replies 0.500 [0.250, 0.750]",
        "rare: 1,200 replies of 1 set, λ 3; Spearman on held-out replies n/a [n/a, n/a]",
    ]
    started = {"judge": "ready", "aspect": "overall", "spearman": 0.4}
    corrected = {"used": True, "spearman": 0.5, "difference": [-0.125, 0.25]}
    better = frozen | {"start": started, "corrected": corrected}
    kept = frozen | {"aspect": "fun", "start": started, "corrected": corrected | {"used": False, "spearman": 0.375}}
    assert TRAINABLE.result({"aspects": [better, kept]}, []).splitlines() == [
        "overall: 1,200 replies of 1 set, λ 3; Spearman on held-out replies 0.500 [0.250, 0.750]; ready (overall) "
        "alone 0.400, 95 % interval of the difference [-0.125, 0.250]",
        "fun: 1,200 replies of 1 set; Spearman on held-out replies 0.500 [0.250, 0.750] by ready (overall), which is "
        "kept: learning from these ratings did not help (0.375, 95 % interval of the difference [-0.125, 0.250])",
    ]
    tuned = {"aspect": "overall", "replies": 90, "sets": 2, "held_out": 10, "spearman": 0.5, "ci": [0.25, 0.75]}
    assert TUNED.result({"best": {"dev_loss": 0.625, "epoch": 2}, "aspects": [tuned]}, []).splitlines() == [
        "best dev loss 0.6250 after epoch 2",
        "overall: 90 replies of 2 sets; Spearman on 10 held-out replies 0.500 [0.250, 0.750]",
    ]
