"""What `interloq train reliability` trains, from the command line to predictions: pooled models and networks."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from interloq import Sample, load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.records import Pair
from interloq.reliability import ready_fit
from interloq.reliability.job import INSTEAD
from interloq.reliability.model import Reliability
from interloq.reliability.pooled import Pooled
from interloq.reliability.ready_fit import load_trained, predictor_signature
from tests.reliability.made_model import small_model, topic_encoder
from tests.reliability.made_queries import TOPICS, rated_samples

Captured = pytest.CaptureFixture[str]
SMALL = {"--epochs": "1", "--hidden": "8", "--ensemble": "2", "--context": "24", "--reply": "12"}
NETWORK = ["--model", "network", *chain(*SMALL.items())]
QUIET = ["--quiet", "--device", "cpu"]
PREDICT = ["reliability", "predict", "samples.jsonl", "--model", "model", *QUIET]
AUGMENT = ["reliability", "augment", "samples.jsonl", "--from", "query", "--log", "test.jsonl", *QUIET]


@pytest.fixture
def train(folder: Path) -> list[str]:
    """The command without an output."""
    topic_encoder(folder / "encoder")
    write("rated.jsonl", rated_samples(24), kind="samples")
    given = [replace(sample, references=sample.references[:2], ratings=()) for sample in rated_samples(6, seed=1)]
    write("samples.jsonl", given, kind="samples")
    words = [word for topic in TOPICS for word in topic.split()]
    pairs = [Pair(f"{s.id}/{i}", s.context[-1].text, f"{w} so {i}") for s in given[::6] for i, w in enumerate(words)]
    write("test.jsonl", pairs, kind="pairs")
    options = "--encoder encoder --metric bleu_star --sizes 1,2,3 --device cpu --quiet"
    return ["train", "reliability", "rated.jsonl", *options.split()]


def test_a_pooled_model_is_the_default(train: list[str], capsys: Captured) -> None:
    assert main([*train, "-o", "model"]) == 0
    printed = capsys.readouterr().out
    assert "squared error on 24 held-out queries: pooled " in printed
    assert "agreement with people by 1 / 3 chosen references: pooled " in printed
    assert "longest " in printed
    assert "predictions are from: " in printed
    assert isinstance(load_trained("model", device="cpu"), Pooled)
    facts = json.loads(Path("model/pooled.json").read_text())
    assert {"kind", "job", "source", "signature", "validation", "uses"} <= facts.keys()
    assert sorted(path.name for path in Path("model").iterdir()) == ["pooled.json", "pooled.npz"]
    assert main([*train, "--model", "pooled", "-o", "model", "--json"]) == 0  # the same job is not run again
    assert json.loads(capsys.readouterr().out)["signature"] == facts["signature"]
    assert main([*train, "--folds", "4", "-o", "model"]) == 2
    assert "contains a job with other settings" in capsys.readouterr().err


def test_predictions_of_a_pooled_model(train: list[str], capsys: Captured) -> None:
    assert main([*train, "-o", "model"]) == 0
    capsys.readouterr()
    assert main([*PREDICT, "-o", "predicted.jsonl", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["baselines"]["queries"] == 24
    assert facts["uses"].keys() >= {"predict", "choose"}
    scores = load("predicted.jsonl", kind="scores")
    assert all(-1 <= score.value <= 1 for score in scores)
    assert header("predicted.jsonl")["uses"] == facts["uses"]
    assert header("predicted.jsonl")["signature"]["parts"]["model"] == load_trained("model").signature()
    assert predictor_signature("model") == load_trained("model").signature()


def test_another_language_than_that_of_the_training_data_is_noted(train: list[str], capsys: Captured) -> None:
    assert main([*train, "-o", "model"]) == 0
    facts = json.loads(Path("model/pooled.json").read_text())
    Path("model/pooled.json").write_text(json.dumps(facts | {"language": "en"}))
    write("ja.jsonl", [Sample("a", ["どこへ行きますか。"], "駅まで歩いて行きます。", ["家にいます。"])], kind="samples")
    for verb in (["predict"], ["augment", "--log", "test.jsonl"]):
        command = ["reliability", *verb, "ja.jsonl", "--model", "model", "-o", "out.jsonl", *QUIET]
        capsys.readouterr()
        assert main([*command, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)["warning"]
        assert "these replies are Japanese, but the model learned from English ones" in said


def test_replies_to_the_query_itself_are_never_rejected(train: list[str], capsys: Captured) -> None:
    assert main([*train, "-o", "model"]) == 0
    small_model(Path("net"))
    for model in ("model", "net/reliability"):
        assert main([*AUGMENT, "--model", model, "-o", "out.jsonl", "--limit", "5", "--trials", "trials.jsonl"]) == 0
        assert all(len(sample.references) == 5 for sample in load("out.jsonl"))
        for before, after in zip(load("samples.jsonl"), load("out.jsonl"), strict=True):
            assert after.references[: len(before.references)] == before.references
        assert header("out.jsonl")["augmented"][0]["signature"]["parts"]["keep"] == "all"
        capsys.readouterr()
        assert main([*AUGMENT, "--model", model, "-o", "all.jsonl", "--add-all"]) == 0
        assert {len(sample.references) for sample in load("all.jsonl")} == {2 + 18}
        assert "squared error on " in capsys.readouterr().out


def test_augment_says_what_chooses_for_its_replies(train: list[str], capsys: Captured) -> None:
    assert main([*train, "-o", "model"]) == 0
    assert "if the replies to be scored are known" in capsys.readouterr().out
    facts = json.loads(Path("model/pooled.json").read_text())
    facts["uses"] |= {"choose": "longest", "choose_with_replies": "agreement"}
    Path("model/pooled.json").write_text(json.dumps(facts))
    one_each = {sample.context: sample for sample in load("samples.jsonl")}
    write("one.jsonl", list(one_each.values()), kind="samples")
    for samples, says, size in (("samples", "references are chosen by how well", 7), ("one", "chosen by length", 6)):
        command = [f"{samples}.jsonl" if word == "samples.jsonl" else word for word in AUGMENT]
        assert main([*command, "--model", "model", "-o", "out.jsonl", "--limit", "3", "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert says in printed["warning"]
        assert len(printed["baselines"]["error"]) == size


def test_a_network_that_loses_is_replaced(train: list[str], capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main([*train, *NETWORK, "-o", "model"]) == 0
    printed = capsys.readouterr().out
    assert "squared error on dev " in printed
    assert "held-out queries: pooled " in printed
    facts = json.loads(Path("model/model.json").read_text())
    for mse, expected in ((9.0, Pooled), (0.0, Reliability)):
        facts["dev"]["mse"] = mse
        Path("model/model.json").write_text(json.dumps(facts))
        loaded = load_trained("model", device="cpu")
        assert isinstance(loaded, expected)
        assert predictor_signature("model") == loaded.signature()
        assert main([*PREDICT, "-o", "out.jsonl"]) == 0
        printed = capsys.readouterr().out
        says = "the network predicts labels no better than "
        assert (says in " ".join(printed.split())) == (expected is Pooled)
        assert (says in header("out.jsonl")["warning"]) == (expected is Pooled)
    facts["dev"]["mse"] = 9.0
    Path("model/model.json").write_text(json.dumps(facts))
    monkeypatch.setattr(ready_fit, "INSTEAD", "missing")  # as in folders of earlier versions
    loaded = load_trained("model", device="cpu")
    assert isinstance(loaded, Reliability)
    assert loaded.warning()


def test_few_queries_are_enough_for_a_network_only(train: list[str], capsys: Captured) -> None:
    write("rated.jsonl", rated_samples(6), kind="samples")
    assert main([*train, "-o", "model"]) == 2
    assert "needs 10 labelled queries, got 6" in capsys.readouterr().err
    assert main([*train[:-1], *NETWORK, "-o", "network"]) == 0
    assert "no baselines: a pooled model needs 10 labelled queries, got 6" in capsys.readouterr().err
    assert not (Path("network") / INSTEAD).exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("--margin 0.2", "--margin is used with --model network only"),
        ("--fine-tune", "--fine-tune is used with --model network only"),
        ("--folds 4 --model network", "--folds is not used with --model network"),
        ("--folds 2", "folds must be at least 3"),
        ("--model ridge", "invalid choice"),
        ("--metric bleu", "is not a maximum or mean over single references"),
    ],
)
def test_bad_options(train: list[str], capsys: Captured, given: str, says: str) -> None:
    try:
        code: Any = main([*train, "-o", "model", *given.split()])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    assert says in " ".join(capsys.readouterr().err.split())
    assert not Path("model").exists()


def test_a_damaged_folder_is_refused(train: list[str], capsys: Captured) -> None:
    assert main([*train, "-o", "model"]) == 0
    Path("model/pooled.json").write_text("{")
    assert main(PREDICT) == 2
    assert "model" in capsys.readouterr().err
