"""Tables of the docs that are generated: `python -m tests.test_cards` rewrites them.

Field tables come from the components' own fields, probes from probing metrics. Those of metrics with a model take
longer and differ in the last digit from machine to machine, so only the others are tested.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from interloq.cli.probe import probe_table
from interloq.describe import describe, describe_all
from interloq.metrics.metric_names import direction
from interloq.metrics.perturb import PERTURBATIONS
from interloq.metrics.probe import Probe, probe
from interloq.needs import METRICS
from interloq.registry import names
from interloq.tabular import markdown

DOCS = Path(__file__).parents[1] / "docs"
TABLE = re.compile(r"<!-- fields of (?P<name>\S+) -->\n\n(?P<table>(?:\|.*\n)+)")
PROBE = re.compile(r"<!-- probe of (?P<name>\S+) -->\n\n(?P<table>(?:\|.*\n)+)")
LIGHT = [name for name, needs in METRICS.items() if not needs.fields]
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if TABLE.search(path.read_text())]


def rewritten(text: str) -> str:
    """A page with every field table as its component has it."""
    return TABLE.sub(lambda found: f"<!-- fields of {found['name']} -->\n\n{describe(found['name']).table()}\n", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_field_tables_are_those_of_the_components(page: Path) -> None:
    assert page.read_text() == rewritten(page.read_text()), "run: python -m tests.test_cards"


def test_every_component_with_settings_has_its_table() -> None:
    told = {found["name"] for page in PAGES for found in TABLE.finditer(page.read_text())}
    alike = {"bert": "gru", **dict.fromkeys(names("tokenizer"), "sentencepiece")}  # the same fields, one table
    missing = {c.name for c in describe_all() if c.settings and alike.get(c.name, c.name) not in told}
    assert missing == set()
    for name in names("metric"):
        assert f"<!-- fields of {name} -->" in (DOCS / "metrics" / f"{name}.md").read_text()


@cache
def probed(name: str) -> Probe:
    return probe(name)


def probes() -> str:
    """The verdicts of all these metrics, one column each."""
    metrics = [name for name in LIGHT if direction(name) != "neither"]
    rows = [[p.name, *(probed(name).rows[i].verdict for name in metrics)] for i, p in enumerate(PERTURBATIONS)]
    return markdown(["reply", *(f"`{name}`" for name in metrics)], rows)


def with_probes(text: str) -> str:
    """A page with every probe as it comes out now."""

    def table(found: re.Match[str]) -> str:
        made = probes() if found["name"] == "all" else markdown(*probe_table(probed(found["name"])))
        return f"<!-- probe of {found['name']} -->\n\n{made}\n"

    return PROBE.sub(table, text)


@pytest.mark.parametrize("page", ["probe.md", *(f"metrics/{name}.md" for name in LIGHT)])
def test_probes_are_those_of_the_metrics(page: str) -> None:
    text = (DOCS / page).read_text()
    assert PROBE.search(text)
    assert text == with_probes(text), "run: python -m tests.test_cards"


if __name__ == "__main__":
    for path in sorted(DOCS.rglob("*.md")):
        path.write_text(with_probes(rewritten(path.read_text())))
