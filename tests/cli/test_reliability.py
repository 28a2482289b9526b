from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path

import pytest

from interloq import Sample, load, write
from interloq.cli.main import main
from interloq.data.embedded import embedded_log_path, embedded_path
from interloq.data.records.jsonl import header, read
from interloq.records import Pair
from tests.made_pages import DOCS, page_commands, run_code, run_commands
from tests.reliability.made_predictor import MadePredictor, use

Captured = pytest.CaptureFixture[str]
WORDS = ["tea", "milk", "cup", "leaf", "pot", "sip"]
PREDICT = ["reliability", "predict", "samples.jsonl", "--model", "model", "--quiet"]
AUGMENT = ["reliability", "augment", "samples.jsonl", "--model", "model", "-o", "out.jsonl", "--quiet"]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, folder: Path) -> MadePredictor:
    samples = [Sample(f"s{i}", [f"tea {i} ?"], "yes", [*WORDS[: i % 3 + 1], "we"], "bot") for i in range(30)]
    write("samples.jsonl", [*samples, Sample("none", ["tea ?"], "yes", [], "bot")], kind="samples")
    write("pairs.jsonl", [Pair(f"p{i}", "tea please", word) for i, word in enumerate(WORDS)], kind="pairs")
    return use(monkeypatch)


def test_predict_prints_the_weakest_and_what_they_need(made: MadePredictor, capsys: Captured) -> None:
    assert main([*PREDICT, "--min-reliability", "0.1", "-o", "predicted.jsonl"]) == 0
    printed = capsys.readouterr().out
    assert "weakest references, reliability(metric=bleu_star)" in printed
    row = next(line for line in printed.splitlines() if line.startswith(" s0 "))
    assert " ".join(row.split()) == "s0 10 2 0.050 [-0.050, 0.150] 1 more tea (+0.100) we (-0.050)"
    assert "31 samples, mean predicted reliability 0.150" in printed
    assert "references too weak to trust bleu_star: 10 of 31 samples, with a predicted reliability below 0.1" in printed
    assert "1 more reference each would be enough for half of them" in printed
    assert "no prediction: no references (1 sample)" in printed
    assert "warning: made up" in printed
    assert len(load("predicted.jsonl", kind="scores")) == 31


def test_nothing_to_predict_is_incomplete(made: MadePredictor, capsys: Captured) -> None:
    write("samples.jsonl", [Sample("none", ["tea ?"], "yes")], kind="samples")
    assert main(PREDICT) == 1
    assert "no prediction: no references (1 sample)" in capsys.readouterr().out


def test_augment_prints_counts_and_writes_trials(made: MadePredictor, capsys: Captured) -> None:
    assert main([*AUGMENT, "--log", "pairs.jsonl", "--trials", "trials.jsonl", "--limit", "5"]) == 0
    printed = capsys.readouterr().out
    counts = header("out.jsonl")["augmented"][0]["counts"]
    assert f"out.jsonl: 31 samples, {counts['kept']} references added of {counts['tried']} candidates" in printed
    assert "mean predicted reliability: 0.150 before" in printed
    assert "reply is a gold reply" in printed
    assert header("trials.jsonl")["kind"] == "trials"
    assert all(len(sample.references) == 5 for sample in load("out.jsonl"))


@pytest.mark.parametrize(("language", "tokenizer"), [("ja", "char"), ("zh", "zh")])
def test_queries_in_japanese_and_chinese(folder: Path, capsys: Captured, language: str, tokenizer: str) -> None:
    write("pairs.jsonl", islice(read(embedded_log_path(language), kind="pairs"), 200), kind="pairs")
    samples, quick = str(embedded_path(language)), ["--epochs", "1", "--device", "cpu", "--quiet"]
    small = ["--layers", "1", "--dimensions", "16", "--heads", "2", "--vocabulary", "400", "--longest", "64"]
    assert main(["train", "encoder", "pairs.jsonl", "-o", "encoder", *small, *quick]) == 0
    sizes = ["--sizes", "1,2,3", "--hidden", "8", "--ensemble", "2", "--context", "32", "--reply", "24"]
    metric = ["--metric", f"bleu_star(tokenizer={tokenizer!r})", "--encoder", "encoder"]
    network = ["--model", "network", *metric, *sizes, *quick]
    assert main(["train", "reliability", samples, "-o", "reliability", *network]) == 0
    assert main(["reliability", "predict", samples, "--model", "reliability", "-o", "predicted.jsonl", "--quiet"]) == 0
    labelled = json.loads(Path("reliability/model.json").read_text())["examples"]
    assert (sum(labelled["queries"].values()), labelled["skipped_queries"], labelled["undefined_sets"]) == (8, {}, {})
    given, predicted = load(samples), load("predicted.jsonl", kind="scores")
    assert len({score.value for score in predicted} - {None}) == 8  # one per query
    for sample, score in zip(given, predicted, strict=True):
        assert score.details["helps"]["text"] in {reference.text for reference in sample.references}


def test_the_commands_and_the_code_of_the_page_run(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", str(folder / "cache"))
    given: list[Sample] = load(embedded_path("en"))
    write("rated.jsonl", [sample for sample in given if sample.id < "en/13"], kind="samples")
    write("samples.jsonl", [sample for sample in given if sample.id > "en/21"], kind="samples")
    write("pairs.jsonl", islice(read(embedded_log_path("en"), kind="pairs"), 40), kind="pairs")
    commands = page_commands("reliability.md")
    assert len(commands) == 9
    run_commands(commands, capsys, "--quiet")
    expected = re.findall(r"# prints: (.*)", (DOCS / "reliability.md").read_text("utf-8"))
    assert run_code("reliability.md", capsys) == expected
