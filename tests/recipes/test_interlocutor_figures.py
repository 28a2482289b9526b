"""Means over seeds, parts between and within users, and findings."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import dcp
import dcp_data
import hazumi
import interlocutor_figures
import kokoro
import numpy as np
import pytest
from dcp_baselines import Networks, without_farewell
from human_system import rated_tables
from interlocutor_arms import Plan
from results import Cell, load_measured

from interloq import Rating, Sample
from interloq.data.records.jsonl import load, write
from interloq.records import INTERLOCUTOR, Turn
from interloq.scorers.interlocutor.continuity_labels import SampleSelection, judge_of
from tests.data.sets.made_sets import write_hazumi
from tests.made_relevance import tiny_encoder
from tests.scorers.interlocutor.made_logs import log
from tests.scorers.interlocutor.made_models import judged


def test_a_model_of_user_means_correlates_between_users_only() -> None:
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(12), 8)
    means = rng.normal(size=12)[user]
    people = means + rng.normal(size=len(user))
    parts = interlocutor_figures.user_parts([means], people, user, 100)
    assert parts["between users"].value > 0.8
    assert np.isnan(parts["within users"].value)
    assert str(parts["within users"]) == "n/a"
    assert parts["overall"].value == pytest.approx(np.corrcoef(means, people)[0, 1])
    both = interlocutor_figures.pearson([means, people], people, user, 100)
    assert both.value == pytest.approx((parts["overall"].value + 1) / 2)
    assert both.ci[0] < both.value < both.ci[1]


def test_differences_share_their_resamples() -> None:
    cluster, right = interlocutor_figures.numbered("aabbccdd"), np.array([1, 1, 0, 1, 1, 0, 1, 1.0])
    figure = interlocutor_figures.share(right, cluster, 50)
    assert figure.value == 0.75
    assert (figure - figure).ci == (0, 0)


def test_a_difference_is_a_finding_with_the_rows_it_compares() -> None:
    basis = interlocutor_figures.Basis("made", 8, "users", "small")
    draws = np.linspace(0.1, 0.2, 1000)
    figures = {
        "a": interlocutor_figures.Figure(0.65, 0.5 + draws),
        "b": interlocutor_figures.Figure(0.5, 0 * draws + 0.5),
    }
    finding = basis.above("003/49", figures, "a", "b", 0.3, decides=True)
    assert (finding.way, finding.units, finding.unit, finding.note) == ("a above b", 8, "users", "small")
    assert finding.value == pytest.approx(0.15)
    assert (finding.verdict, finding.decides) == ("holds", True)
    reversed_finding = basis.finding("003/48", "a is useless", -figures["a"])
    assert reversed_finding.ci == (-figures["a"].ci[1], -figures["a"].ci[0])
    assert interlocutor_figures.plain_finding(reversed_finding)["verdict"] == "does not hold"


def test_rows_that_were_not_trained_decide_nothing() -> None:
    basis = interlocutor_figures.Basis("made", 8, "users")
    finding = basis.above("003/49", {}, "a", "b", 0.3)
    assert (finding.value, finding.ci, finding.note) == (None, None, "not trained")
    assert finding.verdict == "cannot be told here"
    assert interlocutor_figures.cell(None, 0.3) == Cell(published=0.3)


# ---- Hazumi ----------------------------------------------------------------------------------------------------------


def test_samples_are_prepared(tmp_path: Path) -> None:
    write_hazumi(tmp_path / "data" / "hazumi1902")
    hazumi.prepare(argparse.Namespace(data=str(tmp_path / "data"), out=str(tmp_path / "out"), quick=False))
    (sample,) = Plan(tmp_path / "out").samples(hazumi.arms()[0], "train")
    assert {rating.aspect for rating in sample.ratings} == {"impression"}
    assert not (tmp_path / "out" / "data" / "hazumi.jsonl").exists()


def test_statistics_of_the_dialogues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_hazumi(tmp_path / "data" / "hazumi1902")
    measured = tmp_path / "measured.json"
    options = ["--data", str(tmp_path / "data"), "--out", str(tmp_path), "--statistics", "--measured", str(measured)]
    assert hazumi.main(options) == 0
    (table,) = load_measured(measured).tables
    assert table.item == "003/41"
    assert table.rows["dialogues (participants)"][0] == Cell(published=30, ours=1)
    assert table.rows["exchanges"][1] == Cell(published=2824)
    assert "utterance length (Wizard)" in capsys.readouterr().out


def test_rows_and_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed, (part, n) in enumerate((("train", 40), ("dev", 10), ("test", 20))):
        samples = judged(n, seed=seed, judges=("ann", "bob", "cat"), aspect="impression")
        write(tmp_path / "data" / "hazumi" / f"{part}.jsonl", samples, kind="samples")
    tiny_encoder(tmp_path / "encoder")
    options = ["--out", str(tmp_path), "--encoder", str(tmp_path / "encoder"), "--device", "cpu", "--quick"]
    assert hazumi.main([*options, "--tables"]) == 2
    assert "no predictions of 'outsider'; run with --train first" in capsys.readouterr().err
    assert hazumi.main([*options, "--train"]) == 0
    measured = tmp_path / "measured.json"
    assert hazumi.main([*options, "--tables", "--resamples", "20", "--measured", str(measured)]) == 0
    shown = capsys.readouterr().out
    for words in ("interlocutor, aware above user mean", "within users", "0.496"):
        assert words in shown
    found = json.loads((tmp_path / "results.json").read_text())
    assert {*hazumi.PUBLISHED, "user mean", "outsiders' own mean"} == found["rows"].keys()
    assert found["trainings"]["interlocutor-token"][0]["rate"] == 3e-5
    stored = load_measured(measured)
    assert [finding.item for finding in stored.findings if finding.decides] == ["003/49", "003/48"]
    assert stored.tables[0].rows["interlocutor, aware"][0].published == 0.496
    for model in (tmp_path / "models").iterdir():
        (model / "model.safetensors").unlink()
    assert hazumi.main([*options, "--train"]) == 0, "finished trainings are not repeated"


# ---- KokoroChat ------------------------------------------------------------------------------------------------------


def write_sessions(folder: Path, clients: int = 12, each: int = 10) -> None:
    rows = []
    for i in range(clients * each):
        review = {
            "evaluation_id": i,
            "evaluation_created_at": f"2020-01-01T{i // 60:02}:{i % 60:02}:00",
            "score": i % 7,
        }
        review |= {"client_id": i % clients, "counselor_id": i % 3}
        turns = [{"speaker": "AB"[k % 2], "text": f"turn {k} of {i}"} for k in range(4 + i % 3)]
        rows.append({"id": str(i), "turns": turns, "review_by_client_en": review})
    folder.mkdir(parents=True)
    (folder / "kokorochat_ja.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_both_splits_and_their_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sessions(tmp_path / "data" / "logs")
    out, rng = tmp_path / "out", np.random.default_rng(0)
    args = argparse.Namespace(
        data=str(tmp_path / "data"), out=str(out), quick=False, resamples=20, measured=None, started=0.0
    )
    kokoro.prepare(args)
    plan = Plan(out, seeds=(0, 1), rates=(1e-3,))
    users = {}
    for arm in kokoro.arms():
        users[arm.samples] = [{judge_of(s) for s in plan.samples(arm, part)} for part in ("train", "test")]
        for seed in plan.seeds:
            (out / "predictions").mkdir(exist_ok=True)
            parts: dict[str, Any] = {part: rng.normal(size=len(plan.samples(arm, part))) for part in arm.parts}
            np.savez(out / "predictions" / f"{arm.name}-rate0.001-seed{seed}.npz", dev_loss=np.array(1.0), **parts)
    assert users["known_clients"][1] <= users["known_clients"][0]
    assert users["new_clients"][1].isdisjoint(users["new_clients"][0])
    kokoro.tables(args, plan, kokoro.arms())
    shown = capsys.readouterr().out
    for words in ("known clients, user mean", "new clients, number of turns", "new clients, aware above"):
        assert words in shown
    for seed in plan.seeds:
        (out / "predictions" / f"new_clients-aware-rate0.001-seed{seed}.npz").unlink()
    kokoro.tables(args, plan, kokoro.arms())
    assert "new clients, aware: not trained" in capsys.readouterr().out
    findings = json.loads((out / "results.json").read_text())["findings"]
    assert len(findings) == 4
    assert (findings[-1]["verdict"], findings[-1]["note"]) == ("cannot be told here", "not trained")
    assert not any(finding["decides"] for finding in findings)


# ---- continuity ------------------------------------------------------------------------------------------------------


def test_profiles_are_what_users_write_about_themselves() -> None:
    turns = [Turn("I like tea", "ann"), Turn("my cat", "bob"), Turn("It rains", "ann"), Turn("I like tea", "ann")]
    samples = [Sample("1", turns, "ok", ratings=[Rating(1, "ann", "continued", INTERLOCUTOR)])]
    assert dcp_data.profiles(samples) == {"ann": "I like tea"}


def test_a_log_is_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    selection = SampleSelection(min_conversations=5, by="own-time", dev=0.2, test=0.2, balance=0.58)
    made = dcp_data.Log("made", selection, lambda *_: log(40))
    monkeypatch.setattr(dcp_data, "CONTINUITY", {"made": made})
    dcp_data.prepare_continuity("made", tmp_path, tmp_path / "out")
    facts = json.loads((tmp_path / "out" / "made" / "samples.json").read_text())
    for part in facts["parts"].values():
        assert part["replied"] == round(part["not_replied"] * 0.58 / 0.42)
    dcp_data.prepare_continuity("made", tmp_path, tmp_path / "whole", all_training=True)
    whole = json.loads((tmp_path / "whole" / "made" / "samples.json").read_text())["parts"]
    assert whole["train"]["replied"] > facts["parts"]["train"]["replied"]
    assert whole["test"] == facts["parts"]["test"]
    assert len(load(tmp_path / "out" / "made" / "pairs.jsonl.zst", kind="pairs")) == whole["train"]["samples"]
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
    for words in ("not valid labels", "BERT-NSP is not available", "private_majority"):
        assert words in shown
    rows = found.plain["rows"]
    assert rows["FED"] == {"not available": "no language model of this language is given (--lm)"}
    assert rows["Deep-AM"]["threshold"] == "reply-ratio"
    assert (rows["DCP"]["threshold"], rows["DCP"]["seeds"]) == ("half", 2)
    assert [(one.item, one.way) for one in found.findings if one.decides] == [
        ("003/50", "DCP above Deep-AM"),
        ("003/51", "DCP + user token above private_majority"),
    ]
    table = dcp.table_4({"byu": found.cells})
    assert table.columns == ["BYU chit-chat, accuracy", "BYU chit-chat, macro-F1"]
    assert [one.published for one in table.rows["DCP"]] == [0.668, 0.653]
    assert table.rows["FED"] == [Cell(published=0.460), Cell(published=0.446)]
    assert table.rows["turn_index"][0].ours is not None


def test_statistics_of_prepared_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = {"turns_per_dialogue": 4.0, "characters_per_turn": 20.0, "characters_per_dialogue": 80.0}
    part = facts | {"replied": 58, "not_replied": 42}
    path = tmp_path / "data" / "byu" / "samples.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"parts": dict.fromkeys(("train", "dev", "test"), part)}))
    measured = tmp_path / "measured.json"
    assert dcp.main(["--out", str(tmp_path), "--only", "byu", "--statistics", "--measured", str(measured)]) == 0
    (table,) = load_measured(measured).tables
    assert table.rows["replied"][2] == Cell(published=1_088_970, ours=58)
    assert "Table 3" in capsys.readouterr().out


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
    rows = result.plain["rows"]
    assert rows["score + both"] == {"not available": "it was not trained"}
    assert "no language model" in rows["FED"]["not available"]
    assert "FED is not available" in capsys.readouterr().out
    assert [finding.item for finding in result.findings] == ["003/54"] * 3 + ["003/55"] * 2
    assert result.table.rows["score + both"][0] == Cell(published=0.727)
    assert result.table.rows["Deep-AM"][1].ours is not None
