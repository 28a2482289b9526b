"""Word pieces trained from pairs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import transformers

from interloq.errors import InputError
from interloq.learn.adapt.tokenizer import train_word_pieces
from interloq.records import Pair
from tests.made_ruber import topic_pairs

TOKENIZED = """
import sys
sys.path.insert(0, {root!r})
from tests.made_ruber import topic_pairs
from interloq.learn.adapt.tokenizer import *
train_word_pieces(lambda: topic_pairs(400)[::-1], Path({folder!r}), vocabulary=60)
"""


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
