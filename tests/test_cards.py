"""Field tables of the docs come from the components' own fields: `python -m tests.test_cards` rewrites them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interloq.describe import describe, describe_all
from interloq.registry import names

DOCS = Path(__file__).parents[1] / "docs"
TABLE = re.compile(r"<!-- fields of (?P<name>\S+) -->\n\n(?P<table>(?:\|.*\n)+)")
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if TABLE.search(path.read_text())]


def card_of(metric: str) -> str:
    """Return the card of a metric: the page with its table of fields. Several metrics may share one."""
    for page in PAGES:
        if page.parent.name == "metrics" and f"<!-- fields of {metric} -->" in page.read_text():
            return page.name
    raise AssertionError(f"no card has the fields of {metric}")


def rewrite_tables(text: str) -> str:
    """A page with every field table as its component has it."""
    return TABLE.sub(lambda found: f"<!-- fields of {found['name']} -->\n\n{describe(found['name']).table()}\n", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_field_tables_are_those_of_the_components(page: Path) -> None:
    assert page.read_text() == rewrite_tables(page.read_text()), "run: python -m tests.test_cards"


def test_every_component_with_settings_has_its_table() -> None:
    told = {found["name"] for page in PAGES for found in TABLE.finditer(page.read_text())}
    alike = {"bert": "gru", **dict.fromkeys(names("tokenizer"), "sentencepiece")}  # the same fields, one table
    missing = {c.name for c in describe_all() if c.settings and alike.get(c.name, c.name) not in told}
    assert missing == set()
    for name in names("metric"):
        assert card_of(name)


if __name__ == "__main__":
    for path in sorted(DOCS.rglob("*.md")):
        path.write_text(rewrite_tables(path.read_text()))
