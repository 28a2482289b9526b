"""The recipe that trains and measures bots of known kinds: `bots_cards`."""

from __future__ import annotations

import math
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import Dialogue, Turn
from interloq.data.records.jsonl import read
from interloq.learn.learning_curve import read_curve
from interloq.play.networks.model import ReplyModel
from tests.play.networks.made_copies import write_log


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "recipes"))
    import bots

    return bots


@pytest.fixture
def work(recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    log = write_log(tmp_path / "log.jsonl", n=300)
    monkeypatch.setattr(recipe, "_read_log", lambda *_: read(log, kind="dialogues"))
    recipe.prepare(tmp_path, tmp_path / "work", ["en"])
    return tmp_path / "work"


def test_all_stages_from_the_packed_file_to_the_cards(recipe: Any, work: Path, tmp_path: Path) -> None:
    with tarfile.open(work / "en.tar.xz") as archive:
        assert {"en/train.jsonl", "en/test.jsonl", "en/examples/pieces.model"} <= set(archive.getnames())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (work / "en.tar.xz").rename(elsewhere / "en.tar.xz")
    for name in ("lstm", "reverse"):
        recipe.train_kind(name, elsewhere, tmp_path / "bots", size="small", device="cpu", epochs=9, minutes=1e-6)
    assert len(read_curve(tmp_path / "bots" / "lstm")) == 1  # nothing fits into so short a time, and one is the least
    model = ReplyModel.load(tmp_path / "bots" / "lstm", device="cpu")
    assert (tmp_path / "bots" / "lstm" / "model.safetensors").stat().st_size < 3_000_000
    import bots_cards

    bots_cards.write_cards(tmp_path / "bots", elsewhere, tmp_path / "cards.md", device="cpu")
    text = (tmp_path / "cards.md").read_text()
    (row,) = (line for line in text.splitlines() if line.startswith("| lstm |"))
    assert f"{model.facts['weights_count'] / 1e6:.2f} M" in row
    assert "reverse" not in text
    assert text.count("again") > 0


def test_held_out_exchanges_are_of_dialogues_that_are_not_trained_on(recipe: Any, work: Path) -> None:
    trained = {dialogue.id for dialogue in read(work / "en/train.jsonl", kind="dialogues")}
    held_out = {sample.id.split("/")[0] for sample in read(work / "en/test.jsonl", kind="samples")}
    assert held_out
    assert not trained & held_out
    for text in ("one", "two", "three"):  # copies of a dialogue stay together
        copies = [Dialogue(f"{i}", (Turn(text, "a"), Turn("four", "b"))) for i in range(50)]
        recipe.split_dialogues(iter(copies), work, 30)
        sizes = [len((work / name).read_text().splitlines()) for name in ("train.jsonl", "test.jsonl")]
        assert sorted(sizes) == [0, 50]


def test_figures_of_a_card(recipe: Any) -> None:
    import bots_cards

    assert bots_cards.perplexity(np.array([-2.0, -4.0]), ["a b", "c"], "en") == pytest.approx(math.exp(6 / 5))
    assert bots_cards.perplexity(np.array([-6.0]), ["お茶 です"], "ja") == pytest.approx(math.exp(6 / 5))
    assert bots_cards.distinct(["a b a", "A b"], 1, "en") == pytest.approx(2 / 5)
    assert bots_cards.distinct(["a b a", "A b"], 2, "en") == pytest.approx(2 / 3)
