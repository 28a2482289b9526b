# SPDX-License-Identifier: Apache-2.0
"""Word vectors: opened in milliseconds, looked up by word, averaged to sentence vectors.

A sentence vector is the mean of its words' vectors, each first scaled to length 1 (as in υBLEU's code). Saved vectors
are a folder: `vectors.npy` (float32, memory-mapped), the words with a table to find them, and `vectors.json` with
metadata and the tokenizer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.data.files.arrays import map_array
from interloq.data.files.opening import read_json, reading_saved, replacing
from interloq.data.text.token_texts import Texts
from interloq.data.text.tokenize import Tokenizer
from interloq.errors import InputError
from interloq.registry import create, spec
from interloq.vectors.vector_files import blocks
from interloq.vectors.word_table import WordNumbering, WordTable
from interloq.version import __version__

Floats = NDArray[np.float32]
Unknown = Literal["unk", "skip", "mean"]
UNKNOWN_WORDS = ("<unk>", "unk")
BATCH = 16_384  # texts at a time
SCHEMA = 1
MATRIX, FACTS = "vectors.npy", "vectors.json"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many texts and tokens have vectors."""

    texts: int
    unknown_texts: int  # texts without a known word: their sentence vector is NaN
    tokens: int
    unknown_tokens: int


class WordVectors:
    """Vectors by word. Create with `load` or `of`."""

    def __init__(self, words: WordTable, matrix: Floats, facts: Mapping[str, Any]) -> None:
        self.words, self.matrix, self._facts = words, matrix, dict(facts)
        self._lengths: Floats | None = None
        self._middle: Floats | None = None
        self._numberings: dict[str, WordNumbering] = {}

    @classmethod
    def of(
        cls, words: Sequence[str], matrix: Floats, *, tokenizer: Tokenizer | str | None = None, origin: str = ""
    ) -> WordVectors:
        """Return vectors from an array: row i belongs to word i; `tokenizer` splits texts into words."""
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        if matrix.ndim != 2 or len(words) != len(matrix):
            raise InputError(f"{len(words)} words for an array of shape {matrix.shape}", hint="give one row per word")
        if len(set(words)) != len(words) or "" in words:
            raise InputError("words must be distinct and not empty")
        table, recorded = WordTable.of(words), describe_tokenizer(as_tokenizer(tokenizer))
        digest = hashlib.blake2b(digest_size=8)
        for array in (table.ends, table.letters, matrix):
            digest.update(np.ascontiguousarray(array).data)
        facts = {"origin": origin, "fingerprint": digest.hexdigest(), "tokenizer": recorded}
        return cls(table, matrix, facts)

    @classmethod
    def load(cls, path: str | Path, *, tokenizer: Tokenizer | str | None = None) -> WordVectors:
        """Open a saved folder, or read a file of another program (`vector_files.py`)."""
        if Path(path).is_dir():
            return cls._open_vectors(Path(path))
        words: list[str] = []
        matrix = np.zeros((0, 0), dtype=np.float32)
        for some, rows in blocks(path):
            words += some
            matrix.resize((len(words), rows.shape[1]), refcheck=False)  # grows in place, without a second copy
            matrix[-len(rows) :] = rows
        return cls.of(words, matrix, tokenizer=tokenizer, origin=Path(path).name)

    @classmethod
    def _open_vectors(cls, folder: Path) -> WordVectors:
        if not (folder / FACTS).is_file():
            what, hint = f"{folder} has no word vectors", "name a folder made by `interloq train vectors`"
            if (folder / "work").is_dir():
                what, hint = f"{what} yet; training was interrupted", "run the same training again"
            raise InputError(what, hint=hint)
        facts = read_json(folder / FACTS)
        if facts.get("schema") != SCHEMA:
            what = f"schema {facts.get('schema')}; this version reads schema {SCHEMA}"
            raise InputError(what, where=str(folder / FACTS))
        with reading_saved(folder):
            matrix = map_array(folder / MATRIX, np.float32, dimensions=2, hint="copy the vectors again")
            words = WordTable.load(folder)
            if matrix.shape != (len(words), facts["dimensions"]):
                raise ValueError(f"shape {matrix.shape} for {len(words)} words of {facts['dimensions']} dimensions")
            # refuse a record that `describe_tokenizer` could not have written
            recorded = facts.get("tokenizer")
            if recorded is not None and not all(isinstance(recorded[name], str) for name in ("spec", "signature")):
                raise ValueError("the tokenizer has no spec and signature")
            facts["fingerprint"] = str(facts["fingerprint"])
        return cls(words, matrix, facts)

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the folder; the file that marks it as complete comes last. `notes` are added to the metadata."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / MATRIX) as file:
            np.save(file, self.matrix, allow_pickle=False)
        self.words.save(folder)
        with replacing(folder / FACTS) as file:
            facts = {"kind": "vectors", "schema": SCHEMA, **self.facts, **(notes or {})}
            file.write(orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))

    def export(self, path: str | Path) -> None:
        """Write GloVe's text format, for other programs; compressed if the name ends in .gz, .xz or .zst."""
        with replacing(path) as file:
            for word, row in zip(self.words, self.matrix, strict=True):
                if any(letter in word for letter in " \n\r"):
                    raise InputError(f"the word {word!r} cannot be written to a text file", hint="use the folder")
                numbers = " ".join(map(str, row))  # the shortest digits that are read as the same number
                file.write(f"{word} {numbers}\n".encode("utf-8", "surrogatepass"))

    @property
    def facts(self) -> dict[str, Any]:
        """Return the metadata of the vectors, as in their folder."""
        size = {"words": len(self.words), "dimensions": self.dimensions, "unknown": self.unknown_word}
        return {**self._facts, **size, "signature": self.signature()}

    @property
    def dimensions(self) -> int:
        """Return the dimensions of a vector."""
        return int(self.matrix.shape[1])

    @property
    def unknown_word(self) -> str | None:
        """Return the word with the vector of unknown words."""
        return next((word for word in UNKNOWN_WORDS if word in self.words), None)

    def __contains__(self, word: object) -> bool:
        return word in self.words

    def __len__(self) -> int:
        return len(self.words)

    def vector(self, word: str) -> Floats:
        """Return the vector of one word; an unknown word is refused."""
        place = self.words.find(word)
        if place < 0:
            raise InputError(f"no vector for {word!r}", hint="check its spelling and its case")
        return np.array(self.matrix[place])

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the k words with the most similar vectors and their cosines, without the word itself and `<unk>`."""
        vector, place = self.vector(word), self.words.find(word)
        if self._lengths is None:
            self._lengths = np.linalg.norm(self.matrix, axis=1)
        products = self.matrix @ vector
        lengths = self._lengths * self._lengths[place]
        cosines = np.divide(products, lengths, out=np.full_like(products, -np.inf), where=lengths > 0)
        cosines[[n for n in (place, self.words.find("<unk>")) if n >= 0]] = -np.inf
        k = min(k, int(np.isfinite(cosines).sum()))
        best = np.argpartition(-cosines, k - 1)[:k] if k else np.zeros(0, dtype=np.intp)
        best = best[np.lexsort((best, -cosines[best]))]
        return [(self.words[int(i)], float(cosines[i])) for i in best]

    def rows(self, places: NDArray[np.int32] | NDArray[np.int64]) -> Floats:
        """Return the vectors of words by their positions.

        They are checked here, because a folder is never read completely.
        """
        rows = np.asarray(self.matrix[places])
        with np.errstate(all="ignore"):
            squares = np.einsum("ij,ij->i", rows, rows)
        if not np.isfinite(squares).all():
            word = self.words[int(places[np.flatnonzero(~np.isfinite(squares))[0]])]
            raise InputError(f"the vector of {word!r} is not finite", hint="copy or train the vectors again")
        return rows

    def sentences(
        self,
        texts: Iterable[str],
        tokenizer: Tokenizer | str | None = None,
        *,
        unknown: Unknown = "unk",
        normalise: bool = False,
    ) -> Floats:
        """Return one row per text: the mean of its words' unit vectors, scaled to length 1 with `normalise`.

        An unknown word has the vector of `<unk>` or `unk` if there is one, else it is skipped (`unknown="unk"`); it is
        always skipped (`"skip"`); or it has the mean of all vectors (`"mean"`). A text without a known word is NaN.
        """
        if unknown not in get_args(Unknown):
            raise InputError(f"unknown must be one of {', '.join(get_args(Unknown))}, got {unknown!r}")
        numbering = self._numbering(tokenizer)
        texts = list(texts)
        rows = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            numbered = numbering.texts(texts[start : start + BATCH])
            rows[start : start + BATCH] = self._means(numbered, unknown)
        if normalise:
            return _scale_rows(rows)
        return rows

    def coverage(self, texts: Iterable[str], tokenizer: Tokenizer | str | None = None) -> Coverage:
        """Return the number of texts without a known word, and of tokens without a vector."""
        numbered = self._numbering(tokenizer).texts(texts)
        unknown = numbered.tokens < 0
        known = numbered.without(unknown).lengths
        return Coverage(len(known), int((known == 0).sum()), len(unknown), int(unknown.sum()))

    def _means(self, numbered: Texts, unknown: Unknown) -> Floats:
        from scipy.sparse import csr_array

        nothing_known = numbered.without(numbered.tokens < 0).lengths == 0
        numbered, extra = self._replace_unknown(numbered, unknown)
        used, places = distinct(numbered.tokens, len(self.words) + 1)
        own = used < len(self.words)
        table = _scale_rows(np.concatenate([self.rows(used[own]), extra[: int((~own).sum())]]), zero=0)
        ones = np.ones(len(places), dtype=np.float32)
        sums = csr_array((ones, places, numbered.ends), shape=(len(nothing_known), len(used))) @ table
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / numbered.lengths[:, None].astype(np.float32)
        means[nothing_known] = np.nan
        return np.asarray(means, dtype=np.float32)

    def _replace_unknown(self, numbered: Texts, unknown: Unknown) -> tuple[Texts, Floats]:
        """Return token numbers with unknown words replaced; len(words) is the extra vector."""
        missing, extra = numbered.tokens < 0, np.zeros((0, self.dimensions), dtype=np.float32)
        if unknown == "mean":
            extra = self.mean()
            place = len(self.words)
        elif unknown == "unk" and (word := self.unknown_word):
            place = self.words.find(word)
        else:
            return numbered.without(missing), extra
        return Texts(np.where(missing, np.int32(place), numbered.tokens), numbered.ends), extra

    def mean(self) -> Floats:
        """Return the mean of all vectors, as an array of one row."""
        if self._middle is None:
            self._middle = np.asarray(self.matrix.mean(axis=0, dtype=np.float64), dtype=np.float32)[None]
        return self._middle

    def _numbering(self, tokenizer: Tokenizer | str | None) -> WordNumbering:
        chosen = self.tokenizer(tokenizer)
        key = chosen.signature()
        if key not in self._numberings:
            self._numberings[key] = WordNumbering(chosen, self.words.find)
        return self._numberings[key]

    def tokenizer(self, given: Tokenizer | str | None = None) -> Tokenizer:
        """Return the tokenizer for texts: the recorded one, or the given one if it is the same."""
        return choose_tokenizer(self._facts.get("tokenizer"), as_tokenizer(given))

    def signature(self) -> str:
        """Return the size, fingerprint and tokenizer of the vectors, and Interloq's version."""
        recorded = self._facts.get("tokenizer")
        parts = [f"vectors(words={len(self)},dimensions={self.dimensions})-{self._facts['fingerprint']}"]
        if recorded:
            parts.append(f"tokenizer:{recorded['signature']}")
        return "|".join([*parts, f"version:{__version__}"])


def open_vectors(path: str | Path) -> WordVectors:
    """Return the vectors at a path, cached; they are opened again when the file has changed."""
    place = Path(path).resolve()
    written = next((file.stat().st_mtime_ns for file in (place / FACTS, place) if file.exists()), 0)
    return _load_cached(place, written)


@lru_cache(maxsize=4)
def _load_cached(path: Path, written: int) -> WordVectors:  # noqa: ARG001 - part of the cache key
    return WordVectors.load(path)


def distinct(numbers: NDArray[np.int32], size: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the sorted distinct numbers, and the position of each number among them; np.unique would sort them all."""
    seen = np.zeros(size, dtype=bool)
    seen[numbers] = True
    return np.flatnonzero(seen), (np.cumsum(seen, dtype=np.int32) - 1)[numbers]


def _scale_rows(rows: Floats, *, zero: float = np.nan) -> Floats:
    """Return rows of length 1; a row of zeros becomes `zero`."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.full_like(rows, zero), where=lengths > 0))


def as_tokenizer(given: Tokenizer | str | None) -> Tokenizer | None:
    """Return the tokenizer, created if given as a spec."""
    if not isinstance(given, str):
        return given
    created: Tokenizer = create(given, kind="tokenizer")
    return created


def describe_tokenizer(tokenizer: Tokenizer | None) -> dict[str, str] | None:
    """Return the record of a tokenizer."""
    if tokenizer is None:
        return None
    return {"spec": spec(tokenizer), "signature": tokenizer.signature()}


def choose_tokenizer(recorded: Mapping[str, str] | None, given: Tokenizer | None) -> Tokenizer:
    """Return the given tokenizer, or the recorded one if none is given; refuse one that differs from the record."""
    if recorded and given and not _same(given, recorded):
        raise InputError(
            f"the vectors were made with tokenizer {recorded['signature']}, got {given.signature()}",
            hint=f"use {recorded['spec']}, or train vectors with the other tokenizer",
        )
    if given:
        return given
    if not recorded:
        raise InputError(
            "these vectors have no recorded tokenizer",
            hint="give tokenizer=…, or record it: interloq train vectors --from FILE --tokenizer SPEC -o FOLDER",
        )
    tokenizer: Tokenizer = create(recorded["spec"], kind="tokenizer")
    if not _same(tokenizer, recorded):
        what = f"the tokenizer {recorded['spec']} has changed: {tokenizer.signature()}"
        raise InputError(what, hint=f"restore {recorded['signature']}")
    return tokenizer


def _same(tokenizer: Tokenizer, recorded: Mapping[str, str]) -> bool:
    """Return whether the signatures agree, apart from the releases of libraries."""
    release = re.compile(r"-(sacrebleu|sentencepiece)-[\d.]+")
    return release.sub("", tokenizer.signature()) == release.sub("", recorded["signature"])
