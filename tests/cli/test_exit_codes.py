"""One rule for every verb: 0 all of the input was used, 1 something was left out, 2 it could not start."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Rating, Sample, write
from interloq.cli.main import main
from interloq.records import Pair
from tests.made_dialogues import made_dialogues, write_dialogues
from tests.scorers.interlocutor.made_logs import log

GOOD = {
    "score": "score samples.jsonl -m bleu -o new.jsonl",
    "explain": "explain 3 samples.jsonl -m bleu",
    "meta": "meta scores.jsonl --samples samples.jsonl --bootstrap 0 --no-compare",
    "report": "report scores.jsonl --samples samples.jsonl -o new.html --bootstrap 0",
    "rank": "rank played/scores.jsonl --dialogues played/dialogues.jsonl --bootstrap 0",
    "compare": "compare samples.jsonl samples.jsonl -m chrf --old-system good --new-system bad",
    "play samples": "play samples played/dialogues.jsonl -o new.jsonl",
    "data check": "data check samples.jsonl",
    "data convert": "data convert samples.jsonl -o new.jsonl",
    "corpus pairs": "corpus pairs played/dialogues.jsonl -o new.jsonl",
    "corpus continuity": "corpus continuity spoken.jsonl -o new --keep-user-ids --min-conversations 2",
    "index build": "index build pairs.jsonl -o index --retriever bm25",
    "extend": "extend samples.jsonl --index built -o new.jsonl",
    "rate": "rate samples.jsonl --rater human(ratings='ratings.jsonl') -o new.jsonl",
    "train tokenizer": "train tokenizer samples.jsonl -o new.model --vocabulary 40",
    "train vectors": "train vectors samples.jsonl -o new --dimensions 4 --min-count 1 --epochs 1",
}
BAD = {"meta": "scores.jsonl", "report": "scores.jsonl", "rank": "played/scores.jsonl", "index build": "pairs.jsonl"}


@pytest.fixture
def files(folder: Path, samples: list[Sample], capsys: pytest.CaptureFixture[str]) -> Path:
    write("samples.jsonl", samples, kind="samples")
    write("pairs.jsonl", [Pair(str(i), f"how was number {i} ?", f"it was {i}") for i in range(8)], kind="pairs")
    write("ratings.jsonl", [Rating(4, "a", item=f"{s.id}/{i}") for s in samples for i in range(2)], kind="ratings")
    write("spoken.jsonl", log(12), kind="dialogues")
    (folder / "played").mkdir()
    write_dialogues(folder / "played", *made_dialogues({"a": 1.0, "b": 0.0}))
    assert main(["score", "samples.jsonl", "-m", "bleu", "-o", "scores.jsonl"]) == 0
    assert main(["index", "build", "pairs.jsonl", "-o", "built", "--retriever", "bm25"]) == 0
    capsys.readouterr()
    return folder


@pytest.mark.parametrize("verb", GOOD)
def test_all_of_the_input_was_used(verb: str, files: Path) -> None:
    assert main(GOOD[verb].split()) == 0


@pytest.mark.parametrize("verb", GOOD)
def test_a_line_was_set_aside(verb: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = files / BAD.get(verb, next(word for word in GOOD[verb].split() if word.endswith(".jsonl")))
    path.write_bytes(path.read_bytes() + b'{"broken": \n')
    assert main(GOOD[verb].split()) == 1
    assert f"1 bad line of {path.relative_to(files)} " in capsys.readouterr().err
    assert main([*GOOD[verb].replace("-o new", "-o again").split(), "--strict"]) == 2


@pytest.mark.parametrize("verb", GOOD)
def test_it_could_not_start(verb: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word.replace(".jsonl", ".missing") if word.startswith(("s", "p")) else word for word in GOOD[verb].split()]
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_nothing_could_be_scored(files: Path) -> None:
    write("bare.jsonl", [Sample("1", ["hi"], "hello")], kind="samples")
    assert main(["score", "bare.jsonl", "-m", "bleu"]) == 1
    assert main(["score", "bare.jsonl", "-m", "length"]) == 0


def test_one_verb_does_not_answer_for_another(files: Path) -> None:
    """The rule counts anew in every call, so a demo or a notebook may call `main` many times."""
    with (files / "samples.jsonl").open("a") as file:
        file.write("{\n")
    assert main(["score", "samples.jsonl", "-m", "bleu"]) == 1
    assert main(["score", "scores.jsonl", "-m", "bleu"]) == 2
    assert main(["meta", "scores.jsonl", "--samples", "samples.jsonl", "--list-aspects"]) == 1
    assert main(["data", "check", "pairs.jsonl", "--kind", "scores"]) == 2
    assert main(["index", "info", "built"]) == 0
