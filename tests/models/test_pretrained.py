"""Fingerprints of models: of weights, remembered but never those of a file as it was before, and of tokenizers."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from interloq import InputError
from interloq.models import pretrained
from interloq.models.encoder import Encoder
from interloq.models.lm.causal import LanguageModel
from interloq.models.pretrained import SETTLED, Subwords, weights_fingerprint
from interloq.play.bots.hugging_face import HuggingFace
from interloq.signature import file_fingerprint
from tests.made_language_models import change_tokenizer
from tests.made_lm import tiny_bert, tiny_lm
from tests.made_relevance import tiny_encoder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read."""
    names: list[str] = []

    def watched(path: Path) -> str:
        names.append(path.name)
        return file_fingerprint(path)

    monkeypatch.setattr(pretrained, "file_fingerprint", watched)
    return names


def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns() + 2 * SETTLED
    monkeypatch.setattr(time, "time_ns", lambda: now)


def test_files_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.safetensors").write_text(name)
    settled(monkeypatch)
    assert weights_fingerprint(tmp_path) == weights_fingerprint(tmp_path)
    assert read == ["a.safetensors", "b.safetensors"]


@pytest.mark.parametrize("restored", [False, True])
def test_a_file_that_was_written_again_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str], restored: bool
) -> None:
    """Of the same size, and even with its old time put back."""
    path = tmp_path / "model.safetensors"
    path.write_text("one")
    settled(monkeypatch)
    first, times = weights_fingerprint(tmp_path), path.stat()
    time.sleep(0.02)  # longer than what file systems tell apart
    path.write_text("two")
    if restored:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert weights_fingerprint(tmp_path) != first
    assert len(read) == 2


def test_a_file_that_is_being_written_is_not_remembered(tmp_path: Path, read: list[str]) -> None:
    """Two writings may bear the same time."""
    (tmp_path / "model.safetensors").write_text("one")
    assert weights_fingerprint(tmp_path) == weights_fingerprint(tmp_path)
    assert len(read) == 2


@pytest.mark.parametrize(
    ("made", "signature"),
    [
        (tiny_bert, lambda folder: Encoder(folder, device="cpu").signature()),
        (tiny_lm, lambda folder: LanguageModel(folder, device="cpu").signature()),
        (tiny_lm, lambda folder: HuggingFace(folder, max_tokens=8, device="cpu").signature()),
    ],
)
def test_another_tokenizer_is_another_model(
    tmp_path: Path, made: Callable[[Path], Path], signature: Callable[[str], str]
) -> None:
    """The same weights read other numbers: their scores are not comparable."""
    one = made(tmp_path / "one")
    copy, other = (Path(shutil.copytree(one, tmp_path / name)) for name in ("copy", "other"))
    change_tokenizer(other, add_prefix_space=True)
    assert weights_fingerprint(one) == weights_fingerprint(other)
    assert signature(str(one)) == signature(str(copy)), "not where it lies"
    assert signature(str(one)) != signature(str(other))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("encoder")
    tiny_encoder(path)
    return path


def test_texts_are_cut_to_at_least_one_token_and_empty_ones_are_unknown(folder: Path) -> None:
    subwords = Subwords(folder, longest=2)
    texts = subwords.texts(["tea rain music", "", "tea"])
    assert texts.lengths.tolist() == [2, 1, 1]
    assert texts[1].tolist() == [subwords.unknown]
    assert texts[0][0] == texts[2][0]
    assert not {subwords.start, subwords.end, subwords.pad} & set(texts.tokens.tolist())
    assert subwords.texts([]).lengths.tolist() == []
    with pytest.raises(InputError, match="longest must be at least 1, got 0"):
        Subwords(folder, longest=0)


def test_a_saved_tokenizer_is_the_same(folder: Path, tmp_path: Path) -> None:
    subwords = Subwords(folder)
    subwords.save(tmp_path / "copy")
    copy = Subwords(tmp_path / "copy")
    assert copy.signature() == subwords.signature() != Subwords(folder, longest=3).signature()
    subwords.save(folder)
    assert Subwords(folder).signature() == subwords.signature()
