"""Folders of trained networks: damaged ones, and ones that make no sense, are refused in one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from interloq.errors import InputError, InterloqError
from interloq.learn.job import train
from interloq.play.networks.model import PIECES, ReplyModel
from interloq.records import Turn
from tests.play.networks.made_copies import make_job, write_log


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    train(make_job(write_log(folder / "log.jsonl", n=60), kind="conv", epochs=1), folder / "bot", device="cpu")
    return folder / "bot"


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("network", "layers", 10**9),
        ("network", "layers", 3),
        ("network", "dimensions", 64),
        ("network", "dimensions", "48"),
        ("network", "kind", "lstm"),
        ("network", "kind", "gpt"),
        ("network", "kernel", 4),
        ("network", "colour", "red"),
        ("reading", "context", -1),
        ("reading", "context", 99),
        ("reading", "turns", None),
    ],
)
def test_settings_that_make_no_sense(trained: Path, tmp_path: Path, part: str, name: str, value: Any) -> None:
    folder = shutil.copytree(trained, tmp_path / "bot")
    facts = json.loads((folder / "model.json").read_text())
    facts["config"][part][name] = value
    (folder / "model.json").write_text(json.dumps(facts))
    with pytest.raises(InterloqError):
        ReplyModel.load(folder, device="cpu")


@pytest.mark.parametrize("name", [PIECES, "model.safetensors", "model.json"])
@pytest.mark.parametrize("content", [None, b"", b"{", b"null"])
def test_files_that_are_missing_or_damaged(trained: Path, tmp_path: Path, name: str, content: bytes | None) -> None:
    folder = shutil.copytree(trained, tmp_path / "bot")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        ReplyModel.load(folder, device="cpu")
    assert "\n" not in str(error.value)


def test_only_as_many_turns_and_tokens_are_read_as_in_training(trained: Path) -> None:
    model = ReplyModel.load(trained, device="cpu")
    turns = [
        Turn(f"tea {word}", "ab"[i % 2]) for i, word in enumerate(("dog", "cat", "sun", "ice", "red", "old", "fox"))
    ]
    whole, last = model.prompts([turns, turns[-6:]], [1, 2])
    assert whole.tokens == last.tokens
    assert (whole.seed, last.seed) == (1, 2)
    assert len(whole.tokens) <= model.reading.context
    assert model.text(model.pieces.texts(["tea dog"])[0].tolist()) == "tea dog"
