# SPDX-License-Identifier: Apache-2.0
"""Tokenizers, each with a signature that says exactly what it does.

13a, intl, char, zh and ja-mecab are sacrebleu's; whitespace, space and sentencepiece are defined here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol

from interloq.errors import InputError, MissingDependencyError
from interloq.registry import Component, full_spec
from interloq.signature import file_fingerprint

REPLACED_13A = (
    ("<skipped>", ""),
    ("-\n", ""),
    ("\n", " "),
    ("&quot;", '"'),
    ("&amp;", "&"),
    ("&lt;", "<"),
    ("&gt;", ">"),
)
RULES_13A = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),  # a period or comma unless after a digit
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),  # or before a digit
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


class Tokenizer(Protocol):
    """Splits texts into tokens. `by_word` says that no token or rule reaches across white space."""

    by_word: ClassVar[bool]

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text."""

    def signature(self) -> str:
        """Return name, fields and versions, which determine the tokens."""


TokenizerChoice = Annotated[Tokenizer, "how texts are split into tokens"]  # the type of a field


@dataclass(frozen=True)
class Whitespace(Component, kind="tokenizer", name="whitespace"):
    """Splits at white space: for text that is already tokenised."""

    lowercase: Annotated[bool, "lower-case texts first"] = False
    by_word: ClassVar[bool] = True

    def tokens(self, text: str) -> list[str]:
        return (text.lower() if self.lowercase else text).split()

    def signature(self) -> str:
        return full_spec(self)


@dataclass(frozen=True)
class Spaces(Component, kind="tokenizer", name="space"):
    """Splits at every single space, so two spaces enclose an empty token, as in the COCO caption code's ROUGE-L."""

    lowercase: Annotated[bool, "lower-case texts first"] = False
    by_word: ClassVar[bool] = False

    def tokens(self, text: str) -> list[str]:
        text = text.strip()
        return (text.lower() if self.lowercase else text).split(" ") if text else []

    def signature(self) -> str:
        return full_spec(self)


@dataclass(frozen=True)
class Sacrebleu(Component, kind="tokenizer"):
    """A tokenizer of sacrebleu, named by a subclass."""

    lowercase: Annotated[bool, "lower-case texts first"] = False
    by_word: ClassVar[bool] = False
    module: ClassVar[str]
    cls: ClassVar[str]

    def tokens(self, text: str) -> list[str]:
        tokenize = _sacrebleu(self.module, self.cls)
        # as sacrebleu's BLEU does: 13a would read a hyphen before a final line break as a broken word
        return str(tokenize((text.lower() if self.lowercase else text).rstrip())).split()

    def signature(self) -> str:
        return f"{full_spec(self)}-sacrebleu-{version('sacrebleu')}"


@dataclass(frozen=True)
class Mteval13a(Sacrebleu, name="13a"):
    """mteval-v13a: the rules of most published BLEU scores for western languages."""

    # rules look at most one character away and lines are padded with spaces, so words can be split one by one
    by_word: ClassVar[bool] = True

    def tokens(self, text: str) -> list[str]:
        return _split_13a((text.lower() if self.lowercase else text).rstrip())


@dataclass(frozen=True)
class International(Sacrebleu, name="intl"):
    """mteval-v14: splits at every Unicode punctuation mark and symbol."""

    module, cls = "tokenizer_intl", "TokenizerV14International"


@dataclass(frozen=True)
class Characters(Sacrebleu, name="char"):
    """One token per character, without white space."""

    module, cls = "tokenizer_char", "TokenizerChar"


@dataclass(frozen=True)
class Chinese(Sacrebleu, name="zh"):
    """Each Chinese character is a token; the rest is split as by 13a."""

    module, cls = "tokenizer_zh", "TokenizerZh"


@dataclass(frozen=True)
class JapaneseMecab(Sacrebleu, name="ja-mecab"):
    """MeCab with the IPA dictionary, both from PyPI."""

    module, cls = "tokenizer_ja_mecab", "TokenizerJaMecab"

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            import ipadic  # noqa: F401
            import MeCab  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError("tokenizer 'ja-mecab'", "mecab-python3 and ipadic", "ja") from error

    def signature(self) -> str:
        return f"{super().signature()}-{_sacrebleu(self.module, self.cls).signature()}"


@dataclass(frozen=True)
class SentencePiece(Component, kind="tokenizer", name="sentencepiece"):
    """Pieces of a SentencePiece model: your own, or one trained with `interloq train tokenizer`."""

    places = ("model",)
    model: Annotated[str, "a SentencePiece model file"]
    lowercase: Annotated[bool, "lower-case texts first"] = False
    by_word: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        sentencepiece_processor(self.model)

    def tokens(self, text: str) -> list[str]:
        pieces = sentencepiece_processor(self.model).encode(text.lower() if self.lowercase else text, out_type=str)
        return list(pieces)

    def signature(self) -> str:
        import sentencepiece

        print_ = file_fingerprint(Path(self.model))
        return f"sentencepiece(lowercase={self.lowercase})-{print_}-sentencepiece-{sentencepiece.__version__}"


def train_sentencepiece(
    texts: Iterable[str],
    model: str | Path,
    *,
    vocabulary: int = 16_000,
    coverage: float = 0.9995,
    algorithm: str = "unigram",
    fewer: bool = False,
) -> Path:
    """Train a model on a stream of texts; the file `model` appears only when it is complete.

    `fewer` accepts fewer pieces than `vocabulary` from a small corpus, instead of refusing it.
    """
    sentencepiece = _import_sentencepiece()
    from interloq.data.files.opening import replacing

    if not 0 < coverage <= 1:
        raise InputError(f"coverage must be above 0 and at most 1, got {coverage}")
    with replacing(model) as file:
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(texts),
                model_writer=file,
                vocab_size=vocabulary,
                character_coverage=coverage,
                model_type=algorithm,
                num_threads=1,  # with more threads the pieces differ from run to run
                minloglevel=2,
                hard_vocab_limit=not fewer,
            )
        except RuntimeError as error:
            raise InputError(f"sentencepiece cannot train: {error}", hint="choose another vocabulary size") from error
    return Path(model)


def _split_13a(text: str) -> list[str]:
    """Return what sacrebleu's tokenizer does, without the import of its metrics, which takes longer than most runs."""
    if text.isalnum():  # one word, without a mark: most words
        return [text]
    for written, meant in REPLACED_13A:
        text = text.replace(written, meant)
    text = f" {text} "
    for pattern, split in RULES_13A:
        text = pattern.sub(split, text)
    return text.split()


@cache
def _sacrebleu(module: str, cls: str) -> Any:
    from importlib import import_module

    return getattr(import_module(f"sacrebleu.tokenizers.{module}"), cls)()


def _import_sentencepiece() -> Any:
    try:
        import sentencepiece
    except ImportError as error:
        raise MissingDependencyError("tokenizer 'sentencepiece'", "sentencepiece", "sentencepiece") from error
    return sentencepiece


def sentencepiece_processor(model: str) -> Any:
    """Return the model in a file, cached; read again when the file has changed."""
    path = Path(model)
    if not path.is_file():
        raise InputError(
            f"no SentencePiece model at {model!r}", hint="make one: interloq train tokenizer TEXTS -o FILE"
        )
    return _processor(str(path.resolve()), path.stat().st_mtime_ns)


@cache
def _processor(model: str, written: int) -> Any:  # noqa: ARG001 - part of the cache key
    sentencepiece = _import_sentencepiece()
    try:
        return sentencepiece.SentencePieceProcessor(model_file=model)
    except (RuntimeError, OSError) as error:
        raise InputError(f"{model!r} is not a SentencePiece model", hint="name a .model file") from error
