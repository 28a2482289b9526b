"""`interloq train ruber` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interloq.cli.main import main
from tests.made_ruber import topic_pieces, write_pairs

SMALL = ["--embedding", "16", "--hidden", "16", "--batch", "32", "--learning-rate", ".002", "--device", "cpu"]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["train", "ruber", *arguments, *SMALL, "--json"]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_train_then_score(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs(folder / "pairs.jsonl")
    assert main(["train", "ruber", "pairs.jsonl", "-o", "ruber", "--epochs", "1", *SMALL]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("ruber: Unreferenced(embedding=16,hidden=16,")
    assert "true replies beat a random one" in out
    assert "180 pairs for training, 20 for dev" in err
    assert "these texts yield a tokenizer of only " in err
    assert sorted(path.name for path in (folder / "ruber").iterdir()) == [
        "learning_curve.json",
        "model.json",
        "model.safetensors",
        "pieces.model",
        "training_times.json",
    ]
    samples = [{"id": str(i), "context": ["tea ?"], "response": "tea " * i} for i in range(1, 4)]
    (folder / "samples.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    unreferenced = "ruber_unreferenced(model='ruber')"
    blend = f"ruber(referenced=length,unreferenced={unreferenced})"
    assert main(["score", "samples.jsonl", "-m", unreferenced, "-m", blend, "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    weights = json.loads((folder / "ruber" / "model.json").read_text())["weights"]
    assert json.dumps(results).count(weights) == 2


def test_dialogues_become_pairs_of_turns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topic_pieces(folder / "words.model")
    turns = [{"speaker": speaker, "text": f"tea {speaker}"} for speaker in "aabab"]
    rows = [{"id": str(i), "turns": [{**turn, "text": f"{turn['text']} {i}"} for turn in turns]} for i in range(20)]
    (folder / "talks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    facts = shown(capsys, "talks.jsonl", "-o", "ruber", "--epochs", "1", "--tokenizer", "words.model")
    assert facts["pairs"]["train"] + facts["pairs"]["dev"] == 20 * 3  # a turn of the same speaker is not a reply
