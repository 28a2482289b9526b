"""`interloq train rater --encoder` as a user runs it, and what the other verbs make of the result."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Dialogue, Sample, Turn, load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.rate.bert_model import BertRaterModel
from interloq.rate.network_rater import Bert
from interloq.rate.settings import BERT_BATCHING, BERT_LONGEST, BERT_TRAINING
from tests.cli.test_train_rater import Captured, printed
from tests.made_bert import tiny_bert
from tests.made_rater import write_log

OPTIONS = ["--learning-rate", ".003", "--batch", "32", "--longest", "16", "--dev-share", ".2", "--device", "cpu"]
TRAIN = ["train", "rater", "pairs.jsonl", "--encoder", "encoder", *OPTIONS]


@pytest.fixture
def log(folder: Path) -> Path:
    tiny_bert(folder / "encoder")
    return write_log(folder / "pairs.jsonl", 40)


def test_train_rate_and_report(log: Path, capsys: Captured) -> None:
    assert main([*TRAIN, "--epochs", "2", "-o", "rater"]) == 0
    out, err = capsys.readouterr()
    assert "optimizer='adamw'" in out
    assert "best of 2 epochs: " in out
    assert err.count("epoch ") == 2
    write("samples.jsonl", [Sample("1", ["tea ?"], "yes tea", ["i like tea"])], kind="samples")
    assert main(["rate", "samples.jsonl", "--rater", "bert(model='rater',gold='rated')", "-o", "rated.jsonl"]) == 0
    assert header("rated.jsonl")["rated"][0]["signature"]["parts"]["model"] == BertRaterModel.load("rater").fingerprint
    capsys.readouterr()
    expected = 2 * BertRaterModel.load("rater").chances([("tea ?", "i like tea", "i like tea")])[0] - 1
    (rated,) = load("rated.jsonl")
    assert rated.references[0].weight == pytest.approx(expected, abs=1e-6)


def test_the_report_draws_its_curve_and_calibration(log: Path, capsys: Captured) -> None:
    assert main([*TRAIN, "--epochs", "1", "-o", "rater", "--quiet"]) == 0
    write("samples.jsonl", [Sample("1", ["tea ?"], "yes tea", ["i like tea"])], kind="samples")
    assert main(["score", "samples.jsonl", "-m", "bleu", "-o", "scores.jsonl", "--bootstrap", "0"]) == 0
    page = ["report", "scores.jsonl", "--samples", "samples.jsonl", "--model", "rater", "-o", "report.html"]
    assert main(page) == 0, capsys.readouterr().err
    text = Path("report.html").read_text()
    assert "optimizer=&#39;adamw&#39;" in text
    assert "alibration" in text


def test_one_call_extends_rates_and_scores(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    assert main([*TRAIN, "--epochs", "1", "-o", "rater", "--quiet"]) == 0
    write("samples.jsonl", [Sample("1", ["so much tea"], "yes tea", ["i like tea"])], kind="samples")
    assert main(["index", "build", "pairs.jsonl", "-o", "index", "--retriever", "bm25", "--quiet"]) == 0
    assert main(["extend", "samples.jsonl", "--index", "index", "-o", "extended.jsonl", "--quiet"]) == 0
    assert main(["rate", "extended.jsonl", "--rater", "bert(model='rater')", "-o", "rated.jsonl", "--quiet"]) == 0
    quiet = ["--bootstrap", "0", "--quiet"]
    assert main(["score", "rated.jsonl", "-m", "delta_bleu(order=2)", "-o", "steps.jsonl", *quiet]) == 0
    metric = "vbleu(index='index',rater=bert(model='rater'))"
    assert main(["score", "samples.jsonl", "-m", metric, "-o", "call.jsonl", *quiet]) == 0
    steps, call = (load(name, kind="scores")[0].value for name in ("steps.jsonl", "call.jsonl"))
    assert call == pytest.approx(steps, abs=1e-6)
    assert call is not None


def test_examples_may_be_kept_for_raters_of_one_vocabulary(log: Path, capsys: Captured) -> None:
    options = [*TRAIN, "--epochs", "1", "--examples", "kept"]
    first = printed(capsys, *options, "-o", "first")
    made = Path("kept/train.npy").stat().st_mtime_ns
    second = printed(capsys, *options, "-o", "second", "--warmup", "0", "--schedule", "constant")
    assert first["kind"] == second["kind"] == "bert_rater"
    assert first["source"] == second["source"]
    assert first["weights"] != second["weights"]
    assert Path("kept/train.npy").stat().st_mtime_ns == made
    gru = ["train", "rater", "pairs.jsonl", "--vocabulary", "50", "--dev-share", ".2", "--examples", "kept"]
    assert main([*gru, "-o", "third"]) == 2
    assert "contains examples with other settings, another vocabulary or other logs" in capsys.readouterr().err


def test_kept_examples_need_no_logs(log: Path, capsys: Captured) -> None:
    options = ["--encoder", "encoder", *OPTIONS, "--epochs", "1", "--examples", "kept"]
    first = printed(capsys, "train", "rater", "pairs.jsonl", *options, "-o", "first")
    log.unlink()
    second = printed(capsys, "train", "rater", *options, "-o", "second")
    assert (second["weights"], second["signature"]) == (first["weights"], first["signature"])
    for given in (
        [],
        ["--encoder", "encoder"],
        ["--encoder", "encoder", "--examples", "other"],
        ["--examples", "kept"],
    ):
        assert main(["train", "rater", *given, "-o", "third"]) == 2
        assert "nothing to train on; give files of pairs or dialogues" in capsys.readouterr().err


def test_a_rater_of_two_turns_reads_the_turn_before_the_last(log: Path, capsys: Captured) -> None:
    pairs = load(log, kind="pairs")
    talks = [Dialogue(pair.id, [Turn(f"so {i % 9}"), Turn(pair.utterance), Turn(pair.response)])
             for i, pair in enumerate(pairs)]  # fmt: skip
    write("talks.jsonl", talks, kind="dialogues")
    options = ["--encoder", "encoder", *OPTIONS, "--longest", "8", "--epochs", "1"]
    assert printed(capsys, "train", "rater", "talks.jsonl", *options, "--turns", "2", "-o", "rater")["turns"] == 2
    samples = [Sample(str(i), [first, "tea ?"], "-", ["yes tea"]) for i, first in enumerate(("much rain", "music"))]
    first, second = Bert("rater", gold="rated").rate(samples)
    expected = 2 * BertRaterModel.load("rater").chances([("music\x1etea ?", "yes tea", "yes tea")])[0] - 1
    assert second.references[0].weight == pytest.approx(expected, abs=1e-6)
    assert first.references[0].weight != pytest.approx(expected, abs=1e-6)
    assert main(["train", "rater", "talks.jsonl", *options, "--turns", "6", "-o", "long"]) == 2
    assert "6 turns and two replies need up to 73 tokens, the encoder reads 64" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--encoder", "none"], "no model folder or installed model package 'none'"),
        (["--encoder", "pickled"], "pickled has no *.safetensors"),
        (["--encoder", "bare"], "cannot load a tokenizer"),
        (
            ["--encoder", "encoder", "--hidden", "3"],
            "--hidden is not used with --encoder; omit --hidden or --encoder",
        ),
        (["--low-rank", "4"], "--low-rank is used with --encoder only; omit --low-rank, or add --encoder"),
        (["--encoder", "encoder", "--tokenizer", "x"], "--tokenizer is not used with --encoder"),
        (["--encoder", "encoder", "--longest", "0"], "longest must be at least 1, got 0"),
        (["--encoder", "encoder", "--warmup", "2"], "warmup must be from 0 to 1, got 2"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], says: str, log: Path, capsys: Captured) -> None:
    for name, file in (("pickled", "pytorch_model.bin"), ("bare", "model.safetensors")):
        Path(name).mkdir()
        (Path(name) / file).write_bytes(b"\x80\x04.")
    assert main(["train", "rater", "pairs.jsonl", *arguments, "-o", "rater", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not Path("rater/model.json").exists()


def test_a_rater_of_the_other_kind_in_the_folder_is_refused(log: Path, capsys: Captured) -> None:
    assert main([*TRAIN, "--epochs", "1", "-o", "rater", "--quiet"]) == 0
    assert main(["train", "rater", "pairs.jsonl", "-o", "rater"]) == 2
    assert "the folder contains a 'bert_rater', not a 'rater'" in capsys.readouterr().err


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
