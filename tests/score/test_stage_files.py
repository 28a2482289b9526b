"""Stages from file to file: what functions write is what the command line writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Sample, create, write
from interloq.agree.meta_file import meta_file
from interloq.agree.meta_options import MetaOptions
from interloq.cli.main import main
from interloq.data.records.convert_file import convert_file
from interloq.data.records.jsonl import header
from interloq.play.samples import samples_file
from interloq.rate.rate_file import rate_file
from interloq.rate.rate_options import RateOptions
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.retrieve.corpus_pairs import pairs_file
from interloq.retrieve.extend import extend_file
from interloq.retrieve.index import index_files
from interloq.retrieve.retrieve_options import ExtendOptions, IndexOptions
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions

RATER = "human(ratings='ratings.jsonl')"


def test_functions_and_verbs_write_the_same_files(files: Path) -> None:
    index_files(["pairs.jsonl"], "index", IndexOptions(retriever="bm25"))
    extend_file("samples.jsonl", "extended.jsonl", ExtendOptions(index="index", k=2))
    rate_file("extended.jsonl", "rated.jsonl", RateOptions(rater=RATER))
    scored = score_file("rated.jsonl", ["bleu", create("chrf")], "scores.jsonl", ScoreOptions(n_bootstrap=10))
    options = MetaOptions(samples="samples.jsonl", n_bootstrap=10, n_permutations=10)
    table = meta_file(["scores.jsonl"], options)["overall"]
    report_file(["scores.jsonl"], "report.html", ReportOptions(samples="rated.jsonl", n_bootstrap=10))
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


def test_no_function_replaces_its_input(folder: Path, samples: list[Sample]) -> None:
    write("in.jsonl", samples, kind="samples")
    Path("soft.jsonl").symlink_to("in.jsonl")
    before = Path("in.jsonl").read_bytes()
    for call in (
        lambda: score_file("in.jsonl", ["bleu"], "soft.jsonl"),
        lambda: extend_file("in.jsonl", "in.jsonl", ExtendOptions(index="index")),
        lambda: rate_file("in.jsonl", "in.jsonl", RateOptions(rater="human(ratings='r.jsonl')")),
        lambda: convert_file("in.jsonl", "in.jsonl"),
        lambda: samples_file("in.jsonl", "in.jsonl"),
        lambda: pairs_file("in.jsonl", "in.jsonl"),
        lambda: report_file(["in.jsonl"], "soft.jsonl", ReportOptions(samples="in.jsonl")),
    ):
        with pytest.raises(InputError, match="is also an input"):
            call()
    assert Path("in.jsonl").read_bytes() == before
