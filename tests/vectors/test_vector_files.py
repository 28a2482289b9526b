"""Files of other programs: each form comes in as it should, and what is wrong is said with its line."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from interloq.data.files.opening import replacing
from interloq.errors import InputError
from interloq.vectors import vector_files
from interloq.vectors.word_vectors import WordVectors

WORDS = ["the", ",", "naïve", "猫", "\x85", "a.b"]  # \x85 is a line break to Python's splitlines, and a word of GloVe's
MATRIX = np.random.default_rng(3).standard_normal((len(WORDS), 7)).astype(np.float32)


def text(*, header: bool = False, end: str = "\n", gap: str = "") -> bytes:
    lines = [f"{len(WORDS)} {MATRIX.shape[1]}"] if header else []
    lines += [f"{word} {' '.join(map(str, row))}{gap}" for word, row in zip(WORDS, MATRIX, strict=True)]
    return (end.join(lines) + end).encode()


def binary(
    words: list[str] = WORDS, matrix: NDArray[np.float32] = MATRIX, *, end: bytes = b"\n", count: int = 0
) -> bytes:
    rows = (word.encode() + b" " + row.tobytes() + end for word, row in zip(words, matrix, strict=True))
    return f"{count or len(words)} {matrix.shape[1]}\n".encode() + b"".join(rows)


FORMS = {
    "glove.txt": text(),
    "glove_header.txt": text(header=True),
    "word2vec.txt": text(header=True),
    "windows.txt": text(end="\r\n"),
    "fasttext.vec": text(header=True, gap=" "),
    "no_last_break.txt": text().removesuffix(b"\n"),
    "word2vec.bin": binary(),
    "gensim.bin": binary(end=b""),
    "unnamed_binary": binary(),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("packed", ["", ".gz", ".xz", ".zst"])
def test_every_form_is_read(tmp_path: Path, name: str, packed: str) -> None:
    with replacing(tmp_path / (name + packed)) as file:
        file.write(FORMS[name])
    vectors = WordVectors.load(tmp_path / (name + packed))
    assert list(vectors.words) == WORDS
    np.testing.assert_array_equal(vectors.matrix, MATRIX)
    assert vectors.signature() == WordVectors.of(WORDS, MATRIX).signature()


def test_words_with_spaces_as_in_the_largest_glove_file(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("a 1 2\n. . . 3 4\nat name@domain.com 5 6\n")
    vectors = WordVectors.load(tmp_path / "v.txt")
    assert list(vectors.words) == ["a", ". . .", "at name@domain.com"]
    assert vectors.vector(". . .").tolist() == [3, 4]


WITH_NAN = MATRIX[:2] * np.array([[1], [np.nan]], dtype=np.float32)

BAD = {
    "few.txt": (b"a 1 2\nb 1\n", "few.txt:2: 1 number, expected 2; write a word and its numbers with single spaces"),
    "many.txt": (b"a 1 2\nb 1 2 3\n", "many.txt:2: 3 numbers, expected 2"),
    "header_width.txt": (b"2 3\na 1 2\nb 1 2\n", "header_width.txt:2: 2 numbers, expected 3"),
    "nan.txt": (b"a 1 2\nb 1 nan\n", "nan.txt:2: the vector of 'b' contains nan; remove the line"),
    "infinite.txt": (b"a 1 2\nb -inf 1\n", "infinite.txt:2: the vector of 'b' contains -inf"),
    "long.txt": (b"a 1 1e30\n", "long.txt:1: the vector of 'a' contains 1e+30"),
    "wide.txt": (b"1 99999999999\n", "wide.txt:1: the first line announces 1 word of 99,999,999,999 numbers"),
    "wide.bin": (b"1 99999999999\na \0", "wide.bin:1: the first line announces 1 word of 99,999,999,999 numbers"),
    "row.txt": (b"a" + b" 0" * 20_000 + b"\n", "row.txt:1: 20,000 numbers; at most 16,384 are allowed"),
    "large.txt": (b"a 1 1e39\n", "large.txt:1: the vector of 'a' contains inf"),
    "word.txt": (b"a 1 2\nb 1 x\n", "word.txt:2: not a number: b'x'"),
    "twice.txt": (b"a 1 2\nb 1 2\na 3 4\n", "twice.txt:3: the word 'a' is also in line 1; remove one of the lines"),
    "empty_word.txt": (b"a 1 2\n 1 2\n", "empty_word.txt:2: the word is empty"),
    "blank_line.txt": (b"a 1 2\n\nb 1 2\n", "blank_line.txt:2: 0 numbers, expected 2"),
    "bytes.txt": (b"a 1 2\n\xff\xfe 1 2\n", r"bytes.txt:2: b'\xff\xfe' is not valid UTF-8"),
    "more.txt": (b"3 2\na 1 2\nb 1 2\n", "more.txt:1: the first line announces 3 words, but the file has 2"),
    "less.txt": (b"1 2\na 1 2\nb 1 2\n", "less.txt:1: the first line announces 1 word, but the file has 2"),
    "nothing.txt": (b"", "nothing.txt: the file has no vectors"),
    "only_words.txt": (b"a\nb\n", "only_words.txt:1: no numbers after the word"),
    "zero.txt": (b"0 5\n", "zero.txt:1: the first line announces 0 words of 5 numbers"),
    "cut.bin": (binary()[:-9], "cut.bin:6: the file ends inside a vector"),
    "cut_word.bin": (binary()[:68], "cut_word.bin:3: the file ends inside a vector"),
    "more.bin": (binary() + b"x", "more.bin:1: the first line announces 6 words, but the file has more"),
    "less.bin": (binary(count=7), "less.bin:7: the file ends inside a vector"),
    "nan.bin": (binary(["a", "b"], WITH_NAN), "nan.bin:2: the vector of 'b' contains nan"),
    "twice.bin": (binary(["a", "a"], MATRIX[:2]), "twice.bin:2: the word 'a' is also in line 1"),
    "no_header.bin": (b"\x01\x02\x03\x04\x05", "no_header.bin:1: the file does not start with a line"),
    "cc.en.300.bin": (b"\xba\x16\x4f\x2f" + bytes(50), "is a fastText model, not a file of word vectors; give its"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named_with_their_line(tmp_path: Path, name: str) -> None:
    content, said = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=re.escape(said)):
        WordVectors.load(tmp_path / name)


@pytest.mark.parametrize("packed", ["gz", "xz", "zst"])
@pytest.mark.parametrize("form", ["txt", "bin"])
def test_a_damaged_archive_is_an_error(tmp_path: Path, form: str, packed: str) -> None:
    path = tmp_path / f"v.{form}.{packed}"
    with replacing(path) as file:
        file.write(text(header=True) * 50 if form == "txt" else binary(count=300) * 50)
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:60] + bytes(10) + whole[70:]):
        path.write_bytes(broken)
        with pytest.raises(InputError):
            WordVectors.load(path)


def test_a_small_file_of_huge_vectors_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.vectors.vector_files.FEW", 2**20)
    rows = b"".join(f"word{i}".encode() + b" 0" * 10_000 + b"\n" for i in range(500))
    path = tmp_path / "v.txt.gz"
    path.write_bytes(gzip.compress(rows))
    with pytest.raises(InputError, match="are more than 64 times as large as the file"):
        WordVectors.load(path)


def test_an_absent_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        WordVectors.load(tmp_path / "absent.txt")


WORD = st.text(st.characters(exclude_characters=" \n\r", exclude_categories=["Cs"]), min_size=1, max_size=5)
NUMBER = st.floats(-(2.0**60), 2.0**60, width=32)  # the squares of larger ones are infinite in float32


@given(
    rows=st.dictionaries(WORD, st.tuples(NUMBER, NUMBER, NUMBER), min_size=1, max_size=12),
    form=st.sampled_from(["v.txt", "v.txt.gz", "v.bin", "folder"]),
    several=st.integers(1, 5),
)
@settings(max_examples=50, deadline=None)
def test_what_is_written_is_read_again_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[str, tuple[float, float, float]], form: str, several: int
) -> None:
    path = tmp_path_factory.mktemp("vectors") / form
    vectors = WordVectors.of(list(rows), np.array(list(rows.values()), dtype=np.float32))
    if form == "folder":
        vectors.save(path)
    elif form == "v.bin":
        path.write_bytes(binary(list(rows), vectors.matrix))
    else:
        vectors.export(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_files, "ROWS", several)
        patch.setattr(vector_files, "PIECE", 5)
        again = WordVectors.load(path)
    assert list(again.words) == list(rows)
    assert again.matrix.tobytes() == vectors.matrix.tobytes()


def test_words_that_text_cannot_hold_are_not_exported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the word 'a b' cannot be written to a text file"):
        WordVectors.of(["a b"], MATRIX[:1]).export(tmp_path / "v.txt")
    assert not (tmp_path / "v.txt").exists()
