"""Continuity on made logs: what is drawn, profiles, tables with baselines that are and are not available."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import dcp
import dcp_data
import numpy as np
import pytest
from dcp_baselines import Networks, without_farewell
from human_system import rated_tables
from interlocutor_arms import Plan

from interloq import Rating, Sample
from interloq.data.records.jsonl import write
from interloq.records import INTERLOCUTOR, Turn
from interloq.scorers.interlocutor.continuity_labels import SampleSelection
from tests.scorers.interlocutor.made_logs import log
from tests.scorers.interlocutor.made_models import judged


def test_last_replies_are_kept_and_inner_ones_drawn() -> None:
    samples = [
        Sample(f"d{i}#{k}", ["hi"], "yes", ratings=[Rating(float(k < 9), "ann", "continued", INTERLOCUTOR)])
        for i in range(5)
        for k in range(10)
    ]
    drawn = dcp_data.drawn_to(samples, 0.6)
    assert dcp_data.labels(drawn) == {"replied": round(5 * 0.6 / 0.4), "not_replied": 5}
    assert drawn == dcp_data.drawn_to(samples[::-1], 0.6)[::-1]


def test_profiles_are_what_users_write_about_themselves() -> None:
    turns = [Turn("I like tea", "ann"), Turn("my cat", "bob"), Turn("It rains", "ann"), Turn("I like tea", "ann")]
    samples = [Sample("1", turns, "ok", ratings=[Rating(1, "ann", "continued", INTERLOCUTOR)])]
    assert dcp_data.profiles(samples) == {"ann": "I like tea"}


def test_a_log_is_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = dcp_data.Log(
        "made", SampleSelection(min_conversations=5, by="own-time", dev=0.2, test=0.2), lambda *_: log(40), draw=True
    )
    monkeypatch.setattr(dcp_data, "CONTINUITY", {"made": made})
    dcp_data.prepare_continuity("made", tmp_path, tmp_path / "out")
    facts = json.loads((tmp_path / "out" / "made" / "samples.json").read_text())
    assert facts["drawn"]["train"]["replied"] < facts["parts"]["train"]["replied"]
    assert {path.name for path in (tmp_path / "out" / "made").iterdir()} == {
        "train.jsonl.zst", "dev.jsonl.zst", "test.jsonl.zst", "pairs.jsonl.zst", "profiles.json", "samples.json",
    }  # fmt: skip


def store(out: Path, arms: list[Any], rng: np.random.Generator) -> Any:
    """Random predictions of two seeds."""
    plan = Plan(out, seeds=(0, 1), rates=(1e-3,))
    (out / "predictions").mkdir(exist_ok=True)
    for arm in arms:
        for seed in plan.seeds:
            parts: dict[str, Any] = {part: rng.random(len(plan.samples(arm, part))) for part in arm.parts}
            np.savez(out / "predictions" / f"{arm.name}-rate0.001-seed{seed}.npz", dev_loss=np.array(1.0), **parts)
    return plan


def test_tables_of_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rng, folder = np.random.default_rng(0), tmp_path / "data" / "byu"
    for seed, (part, n) in enumerate((("train", 40), ("dev", 20), ("test", 30))):
        write(folder / f"{part}.jsonl", judged(n, seed=seed), kind="samples")
    (folder / "samples.json").write_text('{"cut_ends": "9 of 9 dialogues end after exactly 4 turns"}')
    arms = dcp.arms(["byu"])
    plan = store(tmp_path, arms, rng)
    sizes = {part: len(plan.samples(arms[0], part)) for part in ("dev", "test")}
    monkeypatch.setattr(dcp, "scores", lambda *_: {"Deep-AM": {part: rng.normal(size=n) for part, n in sizes.items()}})
    found = dcp.log_tables("byu", plan, arms, Networks("encoder"), 20)
    shown = capsys.readouterr().out
    for words in ("not valid labels", "BERT-NSP is not available", "DCP + both above turn_index", "private_majority"):
        assert words in shown
    assert found["rows"]["FED"] == {"not available": "no language model of this language is given (--lm)"}
    assert found["rows"]["Deep-AM"]["threshold"] == "reply-ratio"
    assert (found["rows"]["DCP"]["threshold"], found["rows"]["DCP"]["seeds"]) == ("half", 2)


def test_farewells() -> None:
    samples = [Sample("1", ["hi"], "Goodbye!"), Sample("2", ["Gotta go"], "ok"), Sample("3", ["bye", "hi"], "yes")]
    assert without_farewell(samples).tolist() == [0, 0, 1]


def test_people_and_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng, folder = np.random.default_rng(0), tmp_path / "data" / "rated"
    for seed, (part, n) in enumerate((("train", 40), ("dev", 20), ("test", 30), ("system", 10))):
        write(folder / f"{part}.jsonl", judged(n, seed=seed, aspect="satisfaction"), kind="samples")
    arms = dcp.arms(["rated"])
    plan = store(tmp_path, arms[:-1], rng)
    sizes = {part: len(plan.samples(arms[0], part)) for part in ("test", "system")}
    found = {"Deep-AM": {part: rng.normal(size=n) for part, n in sizes.items()}}
    monkeypatch.setattr("human_system.scores", lambda *_: found)
    args = argparse.Namespace(out=str(tmp_path), ja_encoder="encoder", resamples=20)
    result = rated_tables(args, plan, arms)
    assert result["rows"]["score + both"] == {"not available": "it was not trained"}
    assert "score: r for people above r for systems" in capsys.readouterr().out
    assert len(result["claims"]) == 5
    assert "no language model" in result["rows"]["FED"]["not available"]
