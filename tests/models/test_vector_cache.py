"""Vectors on disk: found again by model, layer and text, and off unless asked for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq.metrics.contextual.token_matching import match
from interloq.models.encoder import Encoder
from interloq.models.vector_cache import VARIABLE
from tests.made_encoder import small_bert
from tests.made_language_models import change_tokenizer
from tests.made_network import watch_network

TEXTS = ["yes", "no way", "日本語", "yes", "  "]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_bert(tmp_path_factory.mktemp("bert")))


def counted(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    encode = encoder.encode

    def watched(texts: Any) -> Any:
        seen.extend(texts)
        return encode(texts)

    monkeypatch.setattr(encoder, "encode", watched)
    return seen


def test_known_texts_are_not_encoded_again(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, texts = tmp_path / "deep" / "vectors.db", TEXTS
    plain = Encoder(model, device="cpu").sentences(texts)
    first = Encoder(model, device="cpu", cache=path)
    seen = counted(first, monkeypatch)
    assert (first.sentences(texts) == plain).all()
    assert seen == ["yes", "no way", "日本語"]
    again = Encoder(model, device="cpu", cache=path)
    seen = counted(again, monkeypatch)
    assert (again.sentences([*texts, "new"])[:5] == plain).all()
    assert seen == ["new"]


@pytest.mark.parametrize("change", [{"layer": 1}, {"longest": 8}, {"precision": "bfloat16"}])
def test_other_vectors_are_others(model: str, tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "vectors.db"
    text = ["one two three four five six seven eight nine"]
    kept = Encoder(model, device="cpu", cache=path).sentences(text)
    other = Encoder(model, device="cpu", cache=path, **change)
    assert np.abs(other.sentences(text) - kept).max() > 0
    assert (other.sentences(text) == Encoder(model, device="cpu", **change).sentences(text)).all()
    assert np.abs(other.sentences(text, pooling="max") - other.sentences(text)).max() > 0


def test_another_tokenizer_gives_other_vectors(model: str, tmp_path: Path) -> None:
    """With the same weights: a text is found by its tokens."""
    cased, path = Path(shutil.copytree(model, tmp_path / "cased")), tmp_path / "vectors.db"
    change_tokenizer(cased, do_lower_case=False)
    kept = Encoder(model, device="cpu", cache=path).sentences(["Yes", "no"])
    other = Encoder(str(cased), device="cpu", cache=path).sentences(["Yes", "no"])
    assert other == pytest.approx(Encoder(str(cased), device="cpu").sentences(["Yes", "no"]), abs=1e-5)
    assert (other[1] == kept[1]).all()
    assert np.abs(other[0] - kept[0]).max() > 0.01


@pytest.mark.parametrize("options", [{}, {"layer": 1}, {"precision": "bfloat16"}])
def test_known_token_vectors_are_not_computed_again(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    texts, pairs = [*TEXTS, "no way", "yes yes"], np.array([[0, 1], [2, 1], [3, 4], [5, 6]])
    plain = match(Encoder(model, device="cpu", **options), texts, pairs)
    assert match(Encoder(model, device="cpu", cache=tmp_path / "v.db", **options), texts, pairs) == pytest.approx(
        plain, abs=1e-5
    )
    again = Encoder(model, device="cpu", cache=tmp_path / "v.db", **options)
    network = watch_network(again._model, monkeypatch)
    assert match(again, texts, pairs) == pytest.approx(plain, abs=1e-5)
    assert not network.rows
    match(again, [*texts, "new"], np.array([[0, 7]]))
    assert network.rows == [1]


def test_it_is_off_unless_asked_for(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    Encoder(model, device="cpu").sentences(["yes"])
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv(VARIABLE, str(tmp_path / "named.db"))
    Encoder(model, device="cpu").sentences(["yes"])
    assert [path.name for path in tmp_path.iterdir()] == ["named.db"]
