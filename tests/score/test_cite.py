"""Papers of the metrics in score files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Sample, Signature, metric, write
from interloq.registry import read_catalogue
from interloq.score.cite import OURS, RELIABILITY, SACREBLEU, Citations, cite_files, entries
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from interloq.version import __version__
from tests.test_cards import card_of

SAMPLES = [Sample(str(i), ["how was it ?"], "it was good", ["it was fine", f"good {i}"]) for i in range(3)]


def cited(metrics: Sequence[Any], folder: Path) -> Citations:
    write("samples.jsonl", SAMPLES, kind="samples")
    score_file("samples.jsonl", metrics, "scores.jsonl", ScoreOptions(n_bootstrap=0))
    return cite_files(["scores.jsonl"])


def test_metrics_their_parts_and_tokenizers(folder: Path) -> None:
    found = cited(
        ["B=bleu", "chrf(word_order=2)", "chrf", "length", "ruber(referenced=rouge_l,unreferenced=length)"], folder
    )
    assert found.keys == {
        "B=bleu": ("papineni-etal-2002-bleu", "post-2018-call"),
        "chrf(word_order=2)": ("popovic-2015-chrf", "popovic-2017-chrf"),
        "chrf": ("popovic-2015-chrf",),
        "length": ("post-2018-call",),
        "ruber(referenced=rouge_l,unreferenced=length)": ("tao-etal-2018-ruber", "lin-2004-rouge"),
    }
    assert found.unknown == ()
    text = found.text()
    assert text.startswith("% B=bleu: papineni-etal-2002-bleu, post-2018-call\n")
    assert text.count("@inproceedings{popovic-2015-chrf,") == 1
    assert text.rstrip().endswith("}")
    assert list(found.bibtex())[-1] == "interloq"


def test_metrics_of_others_are_named(folder: Path) -> None:
    found = cited([metric(lambda _: 1.0, name="mine"), "distinct(tokenizer='whitespace')"], folder)
    assert (found.unknown, found.keys["distinct(tokenizer='whitespace')"]) == (("mine",), ("li-etal-2016-diversity",))
    assert "% mine: not a metric of Interloq" in found.text()
    assert found.facts()["unknown"] == ["mine"]


def test_reliability_and_signatures_of_earlier_versions(folder: Path) -> None:
    signature = Signature("bleu_star(order=4)", {"reliability": "abc"})
    results = [{"metric": "bleu_star", "signature": signature}, {"metric": "x=nist", "signature": "nist|version:0.1.0"}]
    write("old.jsonl", [], kind="scores", results=results)
    found = cite_files(["old.jsonl"])
    assert found.keys["bleu_star"][-1] == "gao-etal-2021-ream"
    assert found.keys["x=nist"] == ("doddington-2002-automatic",)
    write("none.jsonl", [], kind="scores")
    with pytest.raises(InputError, match="the header has no signature"):
        cite_files(["none.jsonl"])


def test_specs_of_metrics_are_cited_without_a_file(folder: Path) -> None:
    found = cite_files(["bleu", "vbertscore", "ruber(referenced=rouge_l,unreferenced=length)"])
    assert found.keys["bleu"] == ("papineni-etal-2002-bleu", "post-2018-call")
    assert "zhang-etal-2020-bertscore" in found.keys["vbertscore"]  # although it needs an index
    assert found.keys["ruber(referenced=rouge_l,unreferenced=length)"] == ("tao-etal-2018-ruber", "lin-2004-rouge")
    with pytest.raises(InputError, match="neither a score file nor a metric"):
        cite_files(["blue"])


def test_a_file_of_samples_is_not_a_score_file(folder: Path) -> None:
    write("samples.jsonl", SAMPLES, kind="samples")
    with pytest.raises(InputError, match=r"a file of samples, not of scores; .*interloq score samples.jsonl"):
        cite_files(["samples.jsonl"])


METRICS = read_catalogue()["metric"]
CARDS = Path(__file__).parents[2] / "docs" / "metrics"


def test_every_entry_is_used_and_our_own_names_authors_year_and_version() -> None:
    used = {RELIABILITY, SACREBLEU, OURS}
    for known in METRICS.values():
        used |= {*known["papers"], *(paper for _, paper in known["variant_papers"].values())}
    assert used == entries().keys()
    fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", entries()[OURS], re.MULTILINE))
    assert fields["author"] == "{The Interloq authors}"
    assert fields["year"].isdigit()
    assert __version__ in fields["note"]


@pytest.mark.parametrize("key", sorted(entries().keys() - {OURS}))
def test_entries_are_complete(key: str) -> None:
    entry = entries()[key]
    fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry, re.MULTILINE))
    assert {"title", "author", "year"} <= fields.keys()
    assert {"booktitle", "journal", "eprint"} & fields.keys()
    assert fields["year"] in key
    assert entry.count("{") == entry.count("}")
    assert len(fields) == entry.count("\n") - 1


@pytest.mark.parametrize("name", sorted(name for name, known in METRICS.items() if known["papers"]))
def test_cards_name_the_same_papers(name: str) -> None:
    """The first year in the head of a card, behind the metric's name, is the year of one of its papers."""
    head = (CARDS / card_of(name)).read_text().split("\n\n")[1].partition(f"`{name}`")[2]
    year = re.search(r"\b(19|20)\d\d\b", head)
    assert year is None or any(year[0] in key for key in METRICS[name]["papers"])
