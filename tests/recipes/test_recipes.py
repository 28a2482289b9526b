"""What small recipes do, and what all recipes print if data are missing."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import best
import few_labels
import interlocutor_arms
import llm_judge
import numpy as np
import pytest
import rater_logs
from rated_sets import RatedSet

from interloq import InputError, Sample, load
from interloq.scorers.interlocutor.settings import TRAINING, InterlocutorReading, Target
from tests.made_chat_server import serving
from tests.made_judge_server import JudgeServer
from tests.recipes.test_ready import write_restricted, write_sets_and_logs


@pytest.mark.parametrize(
    ("recipe", "options", "message"),
    [
        ("best", "", "set INTERLOQ_DATA"),
        ("best", "--data nowhere", "no grade in"),
        ("bots_causal", "prepare --work work", "set INTERLOQ_DATA"),
        ("bots_causal", "train --work . -o bots --only causal-tuned", "causal.tar.xz"),
        ("dialeval_table", "", "set INTERLOQ_DATA"),
        ("dialeval_table", "--data .", "no usr in"),
        ("fed_table", "--model lm --data .", "no fed in"),
        ("few_labels", "--data nowhere", "nowhere"),
        ("judge", "", "set INTERLOQ_DATA"),
        ("judge", "--data nowhere", "no grade in"),
        ("judge_curve", "", "set INTERLOQ_DATA"),
        ("rater_logs", "--data . --work work", "no log 'self_dialogue'"),
        ("relevance", "", "set INTERLOQ_DATA"),
        ("relevance", "--data nowhere", "no grade in"),
        ("relevance_ja_zh", "examples --data . --work work --language ja", "no log 'kokorochat_ja'; check --data"),
        ("relevance_ja_zh", "examples --work work --language ja", "no data folder given"),
        ("relevance_ja_zh", "train --work work", "give --language, one of ja, zh"),
        ("retrieval", "", "set INTERLOQ_DATA"),
        ("retrieval", "--data .", "no grade in"),
        ("spot_the_bot", "--data .", "no spot_the_bot_convai2.dialogues.jsonl.gz in"),
        ("vbleu_tables", "--work work", "set INTERLOQ_DATA"),
        ("vbleu_tables", "--work work --data .", "no log"),
    ],
)
def test_missing_data_are_one_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    recipe: str,
    options: str,
    message: str,
) -> None:
    monkeypatch.delenv("INTERLOQ_DATA", raising=False)
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    monkeypatch.setenv("INTERLOQ_VECTOR_CACHE", "")
    assert importlib.import_module(recipe).main(options.split()) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert (printed.err.count("\n"), printed.out) == (1, "")


def test_the_constants_of_best_come_from_sets_with_references() -> None:
    samples = [Sample(str(i), ["?"], "word " * (i + 1), ["word word word"]) for i in range(6)]
    bare = [Sample("1", ["?"], "word")]
    sets = {"made": RatedSet(samples, np.arange(6), np.arange(6.0)), "bare": RatedSet(bare, np.arange(1), np.ones(1))}
    made, mean = best.measure(sets, "length", "chrf")
    assert (made.set, mean.set) == ("made", "mean")
    assert (made.judge_mean, made.judge) == (3.5, 1.0)
    assert made.judge_deviation == pytest.approx(np.std([1, 2, 3, 4, 5, 6]))
    assert mean.best == made.best


def test_intervals_are_narrower_with_scores_that_follow_the_ratings() -> None:
    words = np.random.default_rng(0).integers(1, 9, size=60)
    samples = [Sample(str(i), ["?"], "word " * n) for i, n in enumerate(words)]
    rated = RatedSet(samples, np.arange(60), words / 2 + 0.1 * np.arange(60) % 0.7)
    (found,) = few_labels.figures({"made": rated}, ["length"], labels=20, scored=80, draws=60)
    assert (found.set, found.metric) == ("made", "length")
    assert found.r > 0.9
    assert found.ratio < 0.6
    assert min(found.covered, found.covered_alone) > 0.85


def test_the_rate_with_the_lowest_dev_loss_is_used_for_all_seeds(tmp_path: Path) -> None:
    arm = interlocutor_arms.Arm("a", "A", "data", InterlocutorReading(), Target(), TRAINING)
    (tmp_path / "predictions").mkdir()
    for rate, seed, loss in ((1e-4, 0, 0.5), (1e-3, 0, 0.4), (1e-3, 1, 0.9)):
        path = tmp_path / "predictions" / f"a-rate{rate:g}-seed{seed}.npz"
        np.savez(path, dev_loss=np.array(loss), dev=np.zeros(2), test=np.full(3, float(seed)))
    plan = interlocutor_arms.Plan(tmp_path, seeds=(0, 1), rates=(1e-4, 1e-3))
    assert [(one.rate, one.seed, one.by_part["test"].tolist()) for one in plan.stored(arm)] == [
        (1e-3, 0, [0, 0, 0]),
        (1e-3, 1, [1, 1, 1]),
    ]
    other = interlocutor_arms.Arm("b", "B", "data", InterlocutorReading(), Target(), TRAINING)
    assert plan.finished([arm, other]) == [arm]
    with pytest.raises(InputError, match="no predictions of 'B'"):
        plan.finished([other])
    with pytest.raises(InputError, match="run with --train first"):
        interlocutor_arms.Plan(tmp_path, seeds=(0, 2), rates=(1e-4, 1e-3)).stored(arm)
    with pytest.raises(InputError, match="run with --prepare first"):
        plan.samples(arm, "test")


def test_scores_and_pairs_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path))
    assert len(llm_judge.chosen(3)) == 12
    with serving(JudgeServer(first=True)) as server:
        llm_judge.main([f"llm_judge(model='m',endpoint='{server.url}')", "--contexts", "3"])
    lines = capsys.readouterr().out.splitlines()
    printed = dict(line.rsplit(None, 1) for line in lines if len(line.split()) > 1)
    figures = {name.strip(): value for name, value in printed.items()}
    assert figures["mean score"] == "4.150"
    assert (figures["pairs: tie"], figures["flip rate"]) == ("3", "1.000")


def test_each_good_reply_follows_its_context(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sets_and_logs(tmp_path / "data")
    write_restricted(tmp_path / "data")
    item = {"context": ["tea ?", "no ."], "positive_responses": ["why ?", "milk ?"]}
    (tmp_path / "data/dailydialog_plusplus/dev.json").write_text(json.dumps(item) + "\n")
    assert rater_logs.main(["--data", str(tmp_path / "data"), "--work", str(tmp_path / "work")]) == 0
    *logs, own = capsys.readouterr().out.splitlines()
    assert len(set(logs)) == len(logs) > 20
    found = [[turn.text for turn in talk.turns] for talk in load(own, kind="dialogues")]
    assert found[-2:] == [["tea ?", "no .", "why ?"], ["tea ?", "no .", "milk ?"]]
    assert load(tmp_path / "work/samples.jsonl")
