"""Stages from file to file: what functions write is what the command line writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Rating, Sample, create, load, read, write
from interloq.cli.main import main
from interloq.data.convert_file import convert_file
from interloq.data.corpus.pairs_file import pairs_file
from interloq.data.jsonl import Rejected, header
from interloq.meta.meta_file import meta_file
from interloq.metrics.explain_file import explain_file
from interloq.pipelines.extend_file import extend_file
from interloq.pipelines.rate_file import rate_file
from interloq.pipelines.score_file import score_file
from interloq.play.samples_file import samples_file
from interloq.records import Pair
from interloq.report.report_file import report_file
from interloq.retrieve.index_files import add_files, index_files

RATER = "human(ratings='ratings.jsonl')"


@pytest.fixture
def files(folder: Path) -> Path:
    pairs = [Pair(f"p{i}", f"how was the {word}", f"the {word} was fine") for i, word in enumerate("abcdefgh")]
    write("pairs.jsonl", pairs, kind="pairs")
    samples = [
        Sample(f"s{i}", [f"how was the {word}"], f"{word} was good", [f"{word} was bad"], ratings=[i + 1])
        for i, word in enumerate("abcd")
    ]
    write("samples.jsonl", samples, kind="samples", source="made")
    write("ratings.jsonl", [Rating(4, "x", item=f"s{i}/0") for i in range(4)], kind="ratings")
    return folder


def test_functions_and_verbs_write_the_same_files(files: Path) -> None:
    index_files(["pairs.jsonl"], "index", retriever="bm25")
    extend_file("samples.jsonl", "extended.jsonl", index="index", k=2)
    rate_file("extended.jsonl", "rated.jsonl", rater=RATER)
    scored = score_file("rated.jsonl", ["bleu", create("chrf")], "scores.jsonl", n_bootstrap=10)
    table = meta_file(["scores.jsonl"], "samples.jsonl", n_bootstrap=10, n_permutations=10)
    report_file(["scores.jsonl"], "report.html", samples="rated.jsonl", n_bootstrap=10)
    (files / "verbs").mkdir()
    for command in (
        ["extend", "samples.jsonl", "--index", "index", "-k", "2", "-o", "verbs/extended.jsonl"],
        ["rate", "extended.jsonl", "--rater", RATER, "-o", "verbs/rated.jsonl"],
        ["score", "rated.jsonl", "-m", "bleu,chrf", "--bootstrap", "10", "-o", "verbs/scores.jsonl"],
        ["report", "scores.jsonl", "--samples", "rated.jsonl", "--bootstrap", "10", "-o", "verbs/report.html"],
    ):
        assert main([*command, "--quiet"]) == 0
    for name in ("extended.jsonl", "rated.jsonl", "scores.jsonl", "report.html"):
        assert (files / name).read_bytes() == (files / "verbs" / name).read_bytes(), name
    assert [row.metric for row in table.rows] == sorted(by[""].metric for by in scored.results)
    assert header("rated.jsonl")["source"] == "made"


def test_an_index_holds_a_file_once(files: Path) -> None:
    index, (first,) = index_files(["pairs.jsonl"], "index", retriever="bm25", without=["samples.jsonl"])
    assert (first.before, first.added, first.left_out) == (0, 4, {"utterance": 4})
    (again,) = add_files(index, ["pairs.jsonl"], without=["samples.jsonl"])
    assert (again.before, again.added) == (4, 0)
    with pytest.raises(InputError, match="with other samples left out"):
        add_files(index, ["pairs.jsonl"])


def test_rated_samples_are_read_back_once(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the counts; the output is copied from the part."""
    reads: list[Path] = []

    def noting(path: Path, **options: Any) -> Iterator[Sample]:
        reads.append(path)
        return read(path, **options)

    monkeypatch.setattr("interloq.rate.spool.read", noting)
    rate_file("samples.jsonl", "rated.jsonl", rater=RATER)
    assert reads == [Path("rated.jsonl.part")]
    assert [sample.references[0].weight for sample in load("rated.jsonl")] == [0.5] * 4


def test_bad_lines_go_to_the_caller_or_stop(files: Path) -> None:
    with Path("samples.jsonl").open("a") as file:
        file.write("{\n")
    rejected: list[Rejected] = []
    scored = score_file("samples.jsonl", ["length"], on_reject=rejected.append)
    assert scored.results[0][""].n == 4
    assert [(bad.path, bad.where) for bad in rejected] == [("samples.jsonl", "samples.jsonl:6")]
    with pytest.raises(InputError, match="not valid JSON"):
        score_file("samples.jsonl", ["length"], strict=True)


def test_bad_lines_of_each_file_are_counted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, metric in (("a.jsonl", "length"), ("b.jsonl", "bleu")):
        score_file("samples.jsonl", [metric], name)
        with Path(name).open("a") as file:
            file.write("{\n")
    assert main(["meta", "a.jsonl", "b.jsonl", "--samples", "samples.jsonl", "--bootstrap", "0", "--no-compare"]) == 1
    said = capsys.readouterr().err
    assert "1 bad line of a.jsonl set aside in a.rejected.jsonl" in said
    assert "1 bad line of b.jsonl set aside in b.rejected.jsonl" in said


def test_one_sample_is_explained(files: Path) -> None:
    explained = explain_file("s1", "samples.jsonl", metric="bleu(level='sentence')")
    assert explained.explanation is not None
    assert explained.score == pytest.approx(explained.explanation.score)
    assert explained.facts()["response"] == "b was good"
    assert not explain_file("s1", "samples.jsonl", metric="length").taken_apart


def test_no_function_replaces_its_input(folder: Path, samples: list[Sample]) -> None:
    write("in.jsonl", samples, kind="samples")
    Path("soft.jsonl").symlink_to("in.jsonl")
    before = Path("in.jsonl").read_bytes()
    for call in (
        lambda: score_file("in.jsonl", ["bleu"], "soft.jsonl"),
        lambda: extend_file("in.jsonl", "in.jsonl", index="index"),
        lambda: rate_file("in.jsonl", "in.jsonl", rater="human(ratings='r.jsonl')"),
        lambda: convert_file("in.jsonl", "in.jsonl"),
        lambda: samples_file("in.jsonl", "in.jsonl"),
        lambda: pairs_file("in.jsonl", "in.jsonl"),
        lambda: report_file(["in.jsonl"], "soft.jsonl", samples="in.jsonl"),
    ):
        with pytest.raises(InputError, match="is also an input"):
            call()
    assert Path("in.jsonl").read_bytes() == before
