"""The papers of metrics: every entry is used and complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interloq.registry import read_catalogue
from interloq.score.papers import OURS, RELIABILITY, SACREBLEU, entries
from interloq.version import __version__
from tests.test_cards import card_of

METRICS = read_catalogue()["metric"]
CARDS = Path(__file__).parents[2] / "docs" / "metrics"


def test_every_paper_has_an_entry_and_every_entry_is_used() -> None:
    used = {RELIABILITY, SACREBLEU, OURS}
    for known in METRICS.values():
        used |= {*known["papers"], *(paper for _, paper in known["variant_papers"].values())}
    assert used == entries().keys()


def test_our_own_entry_names_authors_year_and_version() -> None:
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
