"""A small encoder trained from nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers

from interloq.data.embedded import embedded_log_path
from interloq.data.records.jsonl import read
from interloq.errors import InputError
from interloq.learn.adapt.scratch import from_log, train_word_pieces
from interloq.learn.adapt.settings import SCRATCH, Adaptation, SmallEncoder
from interloq.learn.job import train
from interloq.models.encoder import Encoder
from interloq.models.pretrained import Subwords
from interloq.records import Pair
from tests.made_ruber import topic_pairs

TOKENIZED = """
import sys
sys.path.insert(0, {root!r})
from tests.made_ruber import topic_pairs
from interloq.learn.adapt.scratch import *
train_word_pieces(lambda: topic_pairs(400)[::-1], Path({folder!r}), vocabulary=60)
"""


class Log:
    """A log as `from_log` wants it."""

    files: Sequence[str] = ("log",)
    without: Sequence[str] = ()
    fingerprint = "log"

    def __init__(self, pairs: Callable[[], Iterable[Pair]]) -> None:
        self.pairs = pairs

    def logs(self) -> list[Iterable[Pair]]:
        return [self.pairs()]


def trained_encoder(pairs: Callable[[], Iterable[Pair]], folder: Path, *settings: Any) -> dict[str, Any]:
    return train(from_log(Log(pairs), *settings), folder, device="cpu")


TINY = SmallEncoder(layers=1, dimensions=64, heads=2, vocabulary=1500)


@pytest.mark.parametrize(
    ("language", "own"),
    [
        ("ja", ["今日は雨が降っていますね。", "猫が好きです", "コーヒーを飲みました"]),
        ("zh", ["今天下雨了", "我喜欢猫", "电影很好看"]),
    ],
)
def test_a_small_encoder_from_nothing(tmp_path: Path, language: str, own: list[str]) -> None:
    def some() -> Iterator[Pair]:
        return islice(read(embedded_log_path(language), kind="pairs"), 2500)

    training = replace(SCRATCH, epochs=3, learning_rate=3e-3)
    facts = trained_encoder(some, tmp_path / "out", TINY, Adaptation(), training)
    assert facts["after"]["dev_loss"] < 0.85 * facts["before"]["dev_loss"]
    assert facts["unknown_tokens"] < 0.01
    assert facts["base"]["name"] == "nothing"
    _, info = transformers.AutoModel.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not info["missing_keys"]
    vectors = Encoder(str(tmp_path / "out"), device="cpu").sentences(own)
    cosines = vectors @ vectors.T
    assert np.diag(cosines) == pytest.approx(1, abs=1e-5)
    assert cosines[~np.eye(3, dtype=bool)].max() < 0.999
    subwords = Subwords(tmp_path / "out")
    numbered = subwords.texts(own)
    assert all((numbered[i] != subwords.unknown).mean() > 0.5 for i in range(3))


def test_the_tokenizer_is_the_same_in_every_run(tmp_path: Path) -> None:
    train_word_pieces(lambda: topic_pairs(400), tmp_path / "a", vocabulary=60)
    program = TOKENIZED.format(root=str(Path(__file__).parents[3]), folder=str(tmp_path / "b"))
    subprocess.run([sys.executable, "-c", program], check=True)
    first, second = ((tmp_path / name / "tokenizer.json").read_bytes() for name in "ab")
    assert first == second


def test_the_tokenizer_loses_no_more_than_what_it_does_not_know(tmp_path: Path) -> None:
    log = [Pair("1", "がんばってください", "コーヒーを飲む"), Pair("2", "I like ＴＥＡ", "頑張って 12")] * 3
    train_word_pieces(lambda: log, tmp_path, vocabulary=200)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer.tokenize("飲🙂む tea鬱茶") == ["飲", "[UNK]", "む", "tea", "[UNK]", "[UNK]"]
    assert "".join(tokenizer.tokenize("がんばって")).replace("##", "") == "がんばって", "marks of sound stay"
    assert tokenizer.tokenize("21") == ["2", "1"]
    ids = tokenizer("tea", "tea")["input_ids"]
    assert [tokenizer.convert_ids_to_tokens(ids)[i] for i in (0, 2, -1)] == ["[CLS]", "[SEP]", "[SEP]"]
    with pytest.raises(InputError, match="the pairs have no text"):
        train_word_pieces(list, tmp_path, vocabulary=200)


# ---- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (lambda: Adaptation(mask=0.0), "mask must be between 0 and 1"),
        (lambda: Adaptation(batch=0), "batch must be above 0"),
        (lambda: Adaptation(seed=-1), "seed must not be negative"),
        (lambda: SmallEncoder(layers=0), "layers must be above 0"),
        (lambda: SmallEncoder(dimensions=10, heads=4), "10 dimensions cannot be divided among 4 heads"),
    ],
)
def test_settings_that_make_no_sense(settings: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        settings()
