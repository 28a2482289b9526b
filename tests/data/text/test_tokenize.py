from __future__ import annotations

from pathlib import Path

import pytest
import sacrebleu

from interloq import InputError, Reference, Sample, create, evaluate
from interloq.data.text.tokenize import SentencePiece, train_sentencepiece

TEXTS = ["the cat sat on the mat", "a dog ran to the park", "how are you today", "fine thanks and you"] * 50


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_sentencepiece(TEXTS, tmp_path_factory.mktemp("spm") / "tiny.model", vocabulary=36)


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("whitespace", "Hello, world !", ["Hello,", "world", "!"]),
        ("13a", "It's 1,000.5, isn't it?", ["It's", "1,000.5", ",", "isn't", "it", "?"]),
        ("intl", "¿Qué tal, amigo?", ["¿", "Qué", "tal", ",", "amigo", "?"]),
        ("char", "a b", ["a", "b"]),
        ("zh", "你好 world!", ["你", "好", "world", "!"]),
        ("ja-mecab", "今日は雨です", ["今日", "は", "雨", "です"]),
        ("13a(lowercase=True)", "Oh No.", ["oh", "no", "."]),
        ("whitespace", " \n ", []),
    ],
)
def test_tokens(name: str, text: str, tokens: list[str]) -> None:
    assert create(name).tokens(text) == tokens


@pytest.mark.parametrize("name", ["13a", "intl", "char", "zh", "ja-mecab"])
def test_bleu_with_each_tokenizer_is_sacrebleus(name: str) -> None:
    replies = ["今日は雨です。 The cat, 1.5!", "明日は晴れ a b c d"]
    references = [["今日は雪です。 The cat 1.5!"], ["明日は晴れ、 a b c d"]]
    samples = [Sample(str(i), "c", h, r) for i, (h, r) in enumerate(zip(replies, references, strict=True))]
    peer = sacrebleu.BLEU(tokenize=name).corpus_score(replies, [list(r) for r in zip(*references, strict=True)])
    assert evaluate(f"bleu(tokenizer='{name}')", samples).value == pytest.approx(peer.score / 100, abs=1e-9)


def test_signatures_name_version_dictionary_and_model(model: Path) -> None:
    assert create("13a").signature() == f"13a(lowercase=False)-sacrebleu-{sacrebleu.__version__}"
    assert "IPA" in create("ja-mecab").signature()
    signature = SentencePiece(str(model)).signature()
    other = train_sentencepiece(TEXTS, model.with_name("other.model"), vocabulary=30)
    assert signature != SentencePiece(str(other)).signature()
    assert str(model) not in signature, "the same model signs alike wherever it lies"


def test_sentencepiece_trains_reproducibly_and_splits(model: Path) -> None:
    again = train_sentencepiece(TEXTS, model.with_name("again.model"), vocabulary=36)
    assert again.read_bytes() == model.read_bytes()
    pieces = SentencePiece(str(model)).tokens("the cat ran")
    assert "".join(pieces).replace("▁", " ").strip() == "the cat ran"
    metric = create(f"delta_bleu(tokenizer=sentencepiece(model={str(model)!r}))")
    sample = Sample("1", "c", "the cat ran", [Reference("the cat ran")])
    assert evaluate(metric, [sample]).value == pytest.approx(1.0)


def test_sentencepiece_errors_have_cures(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no SentencePiece model"):
        SentencePiece(str(tmp_path / "absent.model"))
    (tmp_path / "bad.model").write_bytes(b"not a model")
    with pytest.raises(InputError, match="is not a SentencePiece model"):
        SentencePiece(str(tmp_path / "bad.model"))
    with pytest.raises(InputError, match="choose another vocabulary size"):
        train_sentencepiece(TEXTS, tmp_path / "x.model", vocabulary=10_000)
    assert not (tmp_path / "x.model").exists()
