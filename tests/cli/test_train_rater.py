"""`interloq train rater` as a user runs it, also with an encoder, and what the other verbs make of the result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from interloq import Dialogue, Sample, Turn, load, write
from interloq.cli.main import main
from interloq.cli.train import choose_job
from interloq.data.records.jsonl import header
from interloq.learn.learning_curve import read_curve
from interloq.rate.bert_model import BertRaterModel
from interloq.rate.network_rater import Bert
from interloq.rate.settings import BERT_BATCHING, BERT_LONGEST, BERT_TRAINABLE, BERT_TRAINING, TRAINABLE
from tests.cli.made_runs import run_json
from tests.made_bert import tiny_bert
from tests.made_rater import topic_log, write_log

Captured = pytest.CaptureFixture[str]
COMMON = ["--batch", "32", "--learning-rate", ".004", "--dev-share", ".2", "--device", "cpu"]
SHAPE = ["--embedding", "16", "--hidden", "16", "--layers", "2", "--width", "32"]
TRAIN = ["train", "rater", "pairs.jsonl", *SHAPE, *COMMON, "--vocabulary", "50"]
ENCODER = ["--encoder", "encoder", *COMMON, "--longest", "16"]


@pytest.fixture
def log(folder: Path) -> Path:
    return write_log(folder / "pairs.jsonl", 40)


@pytest.fixture
def encoder(folder: Path) -> Path:
    return tiny_bert(folder / "encoder")


def test_pairs_of_test_items_are_left_out(log: Path, capsys: Captured) -> None:
    pairs = topic_log(40)
    own = pairs[21]
    write("test.jsonl", [Sample("test", [own.utterance], "no", [own.response])], kind="samples")
    shared = [p for p in pairs if p.utterance == own.utterance or p.response == own.response]
    assert main([*TRAIN, "--epochs", "1", "--without", "test.jsonl", "-o", "rater", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["examples"]["read"] == 160 - len(shared)
    assert f"{len(shared)} pairs excluded that overlap test samples" in err


def test_dialogues_and_bad_lines(folder: Path, capsys: Captured) -> None:
    talks = [
        {"turns": [{"speaker": "a", "text": f"tea {i // 3} ?"}, {"speaker": "b", "text": f"yes {i}"}]}
        for i in range(90)
    ]
    lines = [*map(json.dumps, talks), '{"turns": 3}']
    Path("talks.jsonl").write_text("".join(f"{line}\n" for line in lines))
    assert main(["train", "rater", "talks.jsonl", *SHAPE, *COMMON, "--epochs", "1", "-o", "rater", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["examples"]["read"] == 90
    assert err.count("bad line: talks.jsonl:91") == 1  # the file is read twice


def test_two_processes_train_one_rater(log: Path) -> None:
    options = [*TRAIN, "--epochs", "2", "-o"]
    assert main([*options, "one"]) == 0
    launch = ["-m", "torch.distributed.run", "--standalone", "--nnodes=1", "--nproc-per-node=2", "-m", "interloq.cli"]
    command = [sys.executable, *launch, *options, "two"]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=one_thread, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    for one, two in zip(read_curve("one"), read_curve("two"), strict=True):
        assert two["train_loss"] == pytest.approx(one["train_loss"], abs=1e-3)
        assert two["dev_loss"] == pytest.approx(one["dev_loss"], abs=1e-3)
    assert read_curve("two")[0]["device"] == "2 × cpu"
    assert sorted(path.name for path in Path("two").iterdir()) == sorted(path.name for path in Path("one").iterdir())
    assert done.stdout.count("best of 2 epochs") == 1
    assert done.stderr.count("epoch 1 of 2") == 1


# ---- with an encoder -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("encoder")
def test_train_rate_and_report_with_an_encoder(log: Path, capsys: Captured) -> None:
    assert main(["train", "rater", "pairs.jsonl", *ENCODER, "--epochs", "2", "-o", "rater"]) == 0
    out, err = capsys.readouterr()
    assert "optimizer='adamw'" in out
    assert "best of 2 epochs: " in out
    assert err.count("epoch ") == 2
    write("samples.jsonl", [Sample("1", ["tea ?"], "yes tea", ["i like tea"])], kind="samples")
    assert main(["rate", "samples.jsonl", "--rater", "bert(model='rater',gold='rated')", "-o", "rated.jsonl"]) == 0
    model = BertRaterModel.load("rater")
    assert header("rated.jsonl")["rated"][0]["signature"]["parts"]["model"] == model.fingerprint
    assert main(["score", "samples.jsonl", "-m", "bleu", "-o", "scores.jsonl", "--bootstrap", "0"]) == 0
    page = ["report", "scores.jsonl", "--samples", "samples.jsonl", "--model", "rater", "-o", "report.html"]
    assert main(page) == 0, capsys.readouterr().err
    assert "optimizer=&#39;adamw&#39;" in Path("report.html").read_text()
    assert main(["train", "rater", "pairs.jsonl", "-o", "rater"]) == 2
    assert "the folder contains a 'bert_rater', not a 'rater'" in capsys.readouterr().err


@pytest.mark.usefixtures("encoder")
def test_kept_examples_need_no_logs(log: Path, capsys: Captured) -> None:
    options = [*ENCODER, "--epochs", "1", "--examples", "kept"]
    first = run_json(capsys, "train", "rater", "pairs.jsonl", *options, "-o", "first")
    gru = ["train", "rater", "pairs.jsonl", "--vocabulary", "50", "--dev-share", ".2", "--examples", "kept"]
    assert main([*gru, "-o", "third"]) == 2
    assert "contains examples with other settings, another vocabulary or other logs" in capsys.readouterr().err
    log.unlink()
    second = run_json(capsys, "train", "rater", *options, "-o", "second", "--warmup", "0", "--schedule", "constant")
    assert first["kind"] == second["kind"] == "bert_rater"
    assert first["source"] == second["source"]
    assert first["weights"] != second["weights"]
    for given in ([], ["--encoder", "encoder", "--examples", "other"], ["--examples", "kept"]):
        assert main(["train", "rater", *given, "-o", "third"]) == 2
        assert "nothing to train on; give files of pairs or dialogues" in capsys.readouterr().err


@pytest.mark.usefixtures("encoder")
def test_a_rater_of_two_turns_reads_the_turn_before_the_last(log: Path, capsys: Captured) -> None:
    talks = []
    for i, pair in enumerate(load(log, kind="pairs")):
        talks.append(Dialogue(pair.id, [Turn(f"so {i % 9}"), Turn(pair.utterance), Turn(pair.response)]))
    write("talks.jsonl", talks, kind="dialogues")
    train = ["train", "rater", "talks.jsonl", *ENCODER, "--longest", "8", "--epochs", "1"]
    assert run_json(capsys, *train, "--turns", "2", "-o", "rater")["turns"] == 2
    samples = [Sample(str(i), [first, "tea ?"], "-", ["yes tea"]) for i, first in enumerate(("much rain", "music"))]
    first, second = Bert("rater", gold="rated").rate(samples)
    expected = 2 * BertRaterModel.load("rater").chances([("music\x1etea ?", "yes tea", "yes tea")])[0] - 1
    assert second.references[0].weight == pytest.approx(expected, abs=1e-6)
    assert first.references[0].weight != pytest.approx(expected, abs=1e-6)
    assert main([*train, "--turns", "6", "-o", "long"]) == 2
    assert "6 turns and two replies need up to 73 tokens, the encoder reads 64" in capsys.readouterr().err


def test_help_names_the_defaults_with_an_encoder(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["train", "rater", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for name, value in (
        ("epochs", BERT_TRAINING.epochs),
        ("learning-rate", BERT_TRAINING.learning_rate),
        ("weight-decay", BERT_TRAINING.weight_decay),
        ("batch", BERT_BATCHING.batch),
        ("longest", BERT_LONGEST),
    ):
        described = text.split(f" --{name} ")[-1].split(") ")[0]
        assert f"with --encoder {value:g}" in described


def test_published_settings_are_those_of_the_paper() -> None:
    """Section 5.4 of Tsuta et al. (2023): Adam at .001, 1,000 examples per step, 15 epochs, 5.6M and 10K examples."""
    for encoder, job in ((None, TRAINABLE), ("folder", BERT_TRAINABLE)):
        arguments = {name: None for trainable in (TRAINABLE, BERT_TRAINABLE) for _, name in trainable.options()}
        given = Namespace(**arguments | {"encoder": encoder, "seed": 3}, as_published=True)
        chosen, settings = choose_job(given, TRAINABLE)
        assert chosen is job
        values: dict[str, Any] = {}
        for part in settings:
            values |= asdict(part)
        assert (values["optimizer"], values["learning_rate"], values["schedule"]) == ("adam", 0.001, "constant")
        assert (values["epochs"], values["patience"], values["weight_decay"], values["clip"]) == (15, 0, 0, 0)
        assert values["batch"] * values["accumulate"] == 1000
        assert (values["train_examples"], values["dev_examples"]) == (5_600_000, 10_000)
        rows = 2 * (4 + 3 * values["longest"]) if encoder else values["longest"]
        assert values["batch"] * rows <= values["tokens"]  # so no step has fewer examples
        assert values["seed"] == 3


def test_numbers_of_examples_and_published_settings(log: Path, capsys: Captured) -> None:
    options = [*TRAIN, "--epochs", "2", "--as-published", "--train-examples", "60", "-o", "rater", "--json"]
    assert main(options) == 0
    out, err = capsys.readouterr()
    facts = json.loads(out)
    assert facts["examples"]["train"]["examples"] == 60
    assert "patience=0" in facts["signature"]
    assert err.count("examples for the dev part; 10,000 were asked for") == 1


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-"], "a pipe cannot be read twice; name files"),
        (["pairs.jsonl", "--without", "none.jsonl"], "no file 'none.jsonl'"),
        (["pairs.jsonl", "--tokenizer", "none.model"], "no SentencePiece model at 'none.model'"),
        (["pairs.jsonl", "--longest", "0"], "longest must be at least 1, got 0"),
        (["pairs.jsonl", "--learning-rate", "-1"], "learning_rate must be above 0"),
        (["pairs.jsonl", "--encoder", "bare"], "cannot load a tokenizer"),
        (
            ["pairs.jsonl", "--encoder", "encoder", "--hidden", "3"],
            "--hidden is not used with --encoder; omit --hidden",
        ),
        (["pairs.jsonl", "--low-rank", "4"], "--low-rank is used with --encoder only; omit --low-rank, or add"),
        (["pairs.jsonl", "--encoder", "encoder", "--warmup", "2"], "warmup must be from 0 to 1, got 2"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, log: Path, encoder: Path, capsys: Captured) -> None:
    Path("bare").mkdir()
    Path("bare", "model.safetensors").write_bytes(b"\x80\x04.")
    assert main(["train", "rater", *arguments, "-o", "rater", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not Path("rater/model.json").exists()
