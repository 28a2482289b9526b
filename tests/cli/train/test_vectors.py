"""`interloq train vectors` as a user meets it."""

from __future__ import annotations

import json
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from interloq import Dialogue, Sample, write
from interloq.cli.main import main
from interloq.records import Pair
from interloq.vectors.word_vectors import WordVectors
from tests.conftest import missing

TEXTS = ["the cat sat", "the dog sat", "a cat and a dog", "the cat saw the dog", "a dog sat and saw a cat"]
FAST = ["--dimensions", "6", "--epochs", "3", "--min-count", "1", "--threads", "1"]


@pytest.fixture(autouse=True, scope="module")
def numba() -> None:
    if find_spec("numba") is None:
        missing("numba")


@pytest.fixture
def files(folder: Path) -> Path:
    pairs = [Pair(str(i), a, b) for i, (a, b) in enumerate(pairwise(TEXTS))]
    write("pairs.jsonl.xz", pairs, kind="pairs")
    write("dialogues.jsonl", [Dialogue("1", TEXTS)], kind="dialogues")
    write("samples.jsonl.gz", [Sample("1", TEXTS[:3], TEXTS[3], TEXTS[4:])], kind="samples")
    Path("headless.jsonl").write_text("".join(json.dumps({"utterance": t, "response": t}) + "\n" for t in TEXTS))
    Path("table.csv").write_text("context,response\n" + "".join(f"{text},{text}\n" for text in TEXTS))
    Path("texts.txt").write_text("\n".join(TEXTS))
    return folder


def test_every_kind_of_file_holds_the_same_texts(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    signatures = set()
    names = ("pairs.jsonl.xz", "dialogues.jsonl", "samples.jsonl.gz", "headless.jsonl", "table.csv", "texts.txt")
    for name in names:
        assert main(["train", "vectors", name, "-o", f"out-{name}", *FAST]) == 0
        signatures.add(WordVectors.load(f"out-{name}").signature())
        assert f"out-{name}: vectors(words=8,dimensions=6)-" in capsys.readouterr().out
    assert len(signatures) == 1


def test_progress_and_loss_go_to_standard_error(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    extra = ["--neighbours", "cat", "dog", "--text", "v.txt"]
    assert main(["train", "vectors", "texts.txt", "-o", "out", *FAST, *extra]) == 0
    out, err = capsys.readouterr()
    assert "23 tokens in 5 texts (0 repeated texts skipped); 7 of 7 words kept" in err
    assert "epoch 3 of 3: loss 0." in err
    assert [line.split(": ")[0] for line in out.splitlines()] == ["out", "cat", "dog"]
    exported = WordVectors.load("v.txt")
    np.testing.assert_array_equal(exported.matrix, WordVectors.load("out").matrix)
    assert main(["train", "vectors", "texts.txt", "-o", "out", *FAST, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_vectors_of_another_program_become_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("glove.txt").write_text("cat 1 0\ndog 0.9 0.1\nunk 0 1\n")
    assert main(["train", "vectors", "--from", "glove.txt", "--tokenizer", "whitespace", "-o", "glove"]) == 0
    vectors = WordVectors.load("glove")
    assert vectors.nearest("cat", 1)[0][0] == "dog"
    np.testing.assert_allclose(vectors.sentences(["cat ape"]), [[0.5, 0.5]])
    capsys.readouterr()
    assert main(["train", "vectors", "--from", "glove.txt", "-o", "glove"]) == 2
    assert capsys.readouterr().err == "interloq: glove already exists; choose another folder\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "out"], "either files with texts or --from FILE is needed"),
        (["texts.txt", "--from", "v.txt", "-o", "out"], "either files with texts or --from FILE is needed"),
        (["--from", "v.txt", "--epochs", "3", "-o", "out"], "--epochs cannot be used with --from"),
    ],
)
def test_user_errors_are_one_line(
    files: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "vectors", *arguments, "--quiet"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_pipe_is_plain_text(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("texts.txt").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["train", "vectors", "-", "-o", "piped", *FAST]) == 0
    assert main(["train", "vectors", "texts.txt", "-o", "read", *FAST]) == 0
    assert WordVectors.load("piped").signature() == WordVectors.load("read").signature()


def test_a_job_that_could_not_begin_does_not_block_its_folder(files: Path) -> None:
    assert main(["train", "vectors", "texts.txt", "-o", "out", "--min-count", "99"]) == 2
    assert main(["train", "vectors", "texts.txt", "-o", "out", *FAST]) == 0
