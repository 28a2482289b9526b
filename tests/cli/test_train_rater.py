"""`interloq train rater` as a user runs it: cut off and gone on with, in two processes, with mistakes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from interloq import Sample, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.learn.gru import Pieces
from interloq.learn.learning_curve import read_curve
from interloq.rate.gru_model import RaterModel
from tests.made_rater import topic_log, write_log

Captured = pytest.CaptureFixture[str]
SHAPE = ["--embedding", "16", "--hidden", "16", "--layers", "2", "--width", "32"]
SMALL = [*SHAPE, "--batch", "32", "--learning-rate", ".004", "--dev-share", ".2", "--device", "cpu"]
TRAIN = ["train", "rater", "pairs.jsonl", *SMALL]
VOCABULARY = ["--vocabulary", "50"]
KEPT = ["calibration.json", "learning_curve.json", "model.json", "model.safetensors", "pieces.model"]
FILES = [*KEPT, "training_times.json"]
# the command line in a process that is killed, as by `kill -9`, when a method is called once too often
KILLED = """
import os, signal, sys
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.rate import pairs as rater_pairs
from {module} import {owner}
rater_pairs.BATCH = 50
method, calls = {owner}.{method}, []
def dying(self, *arguments):
    calls.append(arguments)
    if len(calls) > {after}:
        os.kill(os.getpid(), signal.SIGKILL)
    return method(self, *arguments)
{owner}.{method} = dying
sys.exit(main(sys.argv[1:]))
"""
READING = {"module": "interloq.rate.pairs", "owner": "Stream", "method": "_texts", "after": 2}


@pytest.fixture
def log(folder: Path) -> Path:
    return write_log(folder / "pairs.jsonl", 40)


def process(*command: str) -> subprocess.CompletedProcess[str]:
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=one_thread, timeout=240, check=False
    )


def whole(*arguments: str) -> str:
    done = process("-m", "interloq.cli", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stderr


def killed(where: dict[str, Any], *arguments: str) -> None:
    done = process("-c", KILLED.format(**where), *arguments)
    assert done.returncode == -signal.SIGKILL, done.stderr


def losses(folder: str) -> list[tuple[float, float]]:
    return [(epoch["train_loss"], epoch["dev_loss"]) for epoch in read_curve(folder)]


def weights(folder: str) -> Any:
    return json.loads(Path(folder, "model.json").read_text())["weights"]


def printed(capsys: Captured, *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


# ---- training --------------------------------------------------------------------------------------------------------


def test_train_then_rate(log: Path, capsys: Captured) -> None:
    assert main([*TRAIN, *VOCABULARY, "--epochs", "2", "-o", "rater"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("rater: Shape(embedding=16,hidden=16,layers=2,width=32)")
    assert "best of 2 epochs: " in out
    assert "calibration of the dev part: temperature " in out
    assert err.count("epoch ") == 2
    assert sorted(path.name for path in Path("rater").iterdir()) == FILES
    assert Pieces("rater/pieces.model").size == 50
    write("samples.jsonl", [Sample("1", ["tea ?"], "yes tea", ["i like tea"])], kind="samples")
    assert main(["rate", "samples.jsonl", "--rater", "gru(model='rater',gold='rated')", "-o", "rated.jsonl"]) == 0
    assert header("rated.jsonl")["rated"][0]["signature"]["parts"]["model"] == RaterModel.load("rater").fingerprint


def test_pairs_of_test_items_are_left_out(log: Path, capsys: Captured) -> None:
    pairs = topic_log(40)
    own = pairs[21]
    write("test.jsonl", [Sample("test", [own.utterance], "no", [own.response])], kind="samples")
    shared = [p for p in pairs if p.utterance == own.utterance or p.response == own.response]
    assert main([*TRAIN, *VOCABULARY, "--epochs", "1", "--without", "test.jsonl", "-o", "rater", "--json"]) == 0
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
    assert main(["train", "rater", "talks.jsonl", *SMALL, "--epochs", "1", "-o", "rater", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["examples"]["read"] == 90
    assert err.count("bad line: talks.jsonl:91") == 1  # the file is read twice


# ---- cut off ---------------------------------------------------------------------------------------------------------


# ---- two processes ---------------------------------------------------------------------------------------------------


def test_two_processes_train_one_rater(log: Path) -> None:
    options = [*TRAIN, *VOCABULARY, "--epochs", "2", "-o"]
    assert main([*options, "one"]) == 0
    launch = ["-m", "torch.distributed.run", "--standalone", "--nnodes=1", "--nproc-per-node=2", "-m", "interloq.cli"]
    done = process(*launch, *options, "two")
    assert done.returncode == 0, done.stderr
    for one, two in zip(losses("one"), losses("two"), strict=True):
        assert two == pytest.approx(one, abs=1e-3)
    assert read_curve("two")[0]["device"] == "2 × cpu"
    assert sorted(path.name for path in Path("two").iterdir()) == FILES
    assert done.stdout.count("best of 2 epochs") == 1
    assert done.stderr.count("epoch 1 of 2") == 1


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-"], "a pipe cannot be read twice; name files"),
        (["pairs.jsonl", "--without", "none.jsonl"], "no file 'none.jsonl'"),
        (["pairs.jsonl", "--tokenizer", "none.model"], "no SentencePiece model at 'none.model'"),
        (["pairs.jsonl", "--hidden", "0"], "hidden must be at least 1, got 0"),
        (["pairs.jsonl", "--longest", "0"], "longest must be at least 1, got 0"),
        (["pairs.jsonl", "--learning-rate", "-1"], "learning_rate must be above 0"),
        (["pairs.jsonl", "--dev-share", "0.9"], "dev_share must be above 0 and at most .5"),
        (["pairs.jsonl", "--seed", "-1"], "seed must not be negative"),
        (["single.jsonl"], "0 of 30 utterances have two different replies; the rater needs at"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], says: str, log: Path, capsys: Captured) -> None:
    rows = [{"utterance": f"tea {i} ?", "response": f"yes {i}"} for i in range(30)]
    Path("single.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["train", "rater", *arguments, "-o", "rater"]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not Path("rater/model.json").exists()
