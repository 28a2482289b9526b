"""Augmented samples are equal to the last byte, whoever computes the shards; see also tests/shards."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli.main import main
from interloq.records import Pair
from interloq.reliability import reliability_file
from interloq.reliability.augment_task import AugmentTask, read_augmented
from interloq.reliability.reliability_options import AugmentOptions, CandidateOptions
from tests.reliability.made_model import small_model
from tests.reliability.made_predictor import use

TEXTS = ["tea", "milk", "cup", "we so", "leaf pot", "", "tea milk cup"]
SAMPLES = [
    Sample(f"s{i}", [f"do you like tea {i} ?"], "yes", TEXTS[: i % 3], system, fields={"topic": "sea"})
    for system in ("a", "b")
    for i in range(7)
]


@pytest.fixture
def here(folder: Path) -> Path:
    write("pairs.jsonl", [Pair(f"p{i}", "do you like tea ?", text) for i, text in enumerate(TEXTS)], kind="pairs")
    write("samples.jsonl", SAMPLES, kind="samples")
    return folder


def test_workers_and_shares_write_the_same_bytes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reliability_file, "PIECE", 4)
    model = small_model(here)
    command = ["reliability", "augment", "samples.jsonl", "--model", str(model), "--log", "pairs.jsonl", "--quiet"]

    def run(name: str, *options: str) -> tuple[bytes, bytes]:
        assert main([*command, "-o", name, "--trials", f"{name}.trials", *options]) == 0
        return Path(name).read_bytes(), Path(f"{name}.trials").read_bytes()

    plain = run("plain.jsonl")
    assert plain[1].count(b'"kept":true') > 0
    assert run("parts.jsonl", "--parts", "kept") == plain
    assert len(list(Path("kept").glob("*.shard"))) == 4
    assert run("workers.jsonl", "--workers", "2") == plain
    share = [*command, "-o", "joined.jsonl", "--trials", "joined.trials", "--parts", "shares", "--shard"]
    for which in ("1/2", "2/2"):
        assert main([*share, which]) == 0
        assert not Path("joined.jsonl").exists()
    assert main(["data", "join", "shares"]) == 0
    assert (Path("joined.jsonl").read_bytes(), Path("joined.trials").read_bytes()) == plain
    assert not list(here.glob("*.jsonl.parts"))


def test_what_a_shard_says_is_read_as_it_was_tried(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = use(monkeypatch)
    task = AugmentTask(CandidateOptions(log=["pairs.jsonl"]), AugmentOptions(model="model", limit=3))
    samples = [SAMPLES[2], Sample("none", ["tea"], "yes"), SAMPLES[9]]
    dropped, affected = Counter[str](), Counter[str]()
    augmented = list(read_augmented(task.open()(samples), dropped, affected))
    assert [sample.id for sample, _ in augmented] == ["s2", "none", "s2"]
    (first, tried), (_, without), (_, again) = augmented
    assert again == tried, "equal requests have one answer"
    assert first.fields == {"topic": "sea"}
    assert first.references[:2] == SAMPLES[2].references
    assert first.references[2:] == tried.kept
    assert all(reference.source.startswith("retrieved:p") for reference in tried.kept)
    assert without.before != without.before, "no references: nothing can be predicted"
    assert dropped["gold"] == 4
    assert affected["gold"] == 2
    assert sum(made.calls) > 0


def test_the_signature_names_model_candidates_and_replies(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    source, options = CandidateOptions(log=["pairs.jsonl"]), AugmentOptions(model="model")
    plain = AugmentTask(source, options)
    assert plain.sign().parts["model"] == "reliability-made"
    assert AugmentTask(source, AugmentOptions(model="model", seed=1)).identify() != plain.identify()
    assert AugmentTask(source, options, replies={("tea",): ["a", "b"]}).identify() != plain.identify()
    everything = AugmentTask(source, AugmentOptions(model="model", add_all=True))
    assert everything.keeps_all
    assert everything.sign().parts["keep"] == "all"
