"""Tables of options in the docs come from the verbs themselves: `python -m tests.test_option_tables` rewrites them."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from interloq.cli.main import verb_parser

DOCS = Path(__file__).parents[1] / "docs"
TABLE = re.compile(r"<!-- options of (?P<verb>[a-z -]+) -->\n\n(?P<table>(?:\|.*\n)+)")
FLAG = re.compile(r"`[^`]*`|--[a-z][a-z-]*")  # code, and flags that are not code yet
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if TABLE.search(path.read_text())]


def option_table(verb: str) -> str:
    """Return the table of a verb's arguments and options, or of one action of it: `data import`."""
    name, _, action = verb.partition(" ")
    parser = verb_parser(name, action)
    if action:
        (actions,) = (item for item in parser._actions if isinstance(item, argparse._SubParsersAction))
        parser = actions.choices[action]
    rows = ["| option | meaning |", "|---|---|"]
    for item in parser._actions:
        if item.dest != "help" and item.help != argparse.SUPPRESS:
            meaning = FLAG.sub(_as_code, (item.help or "").replace("%%", "%")).replace("|", "\\|")
            rows.append(f"| `{_usage(item)}` | {meaning} |")
    return "\n".join(rows)


def _as_code(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith("`") else f"`{match[0]}`"


def _usage(item: argparse.Action) -> str:
    """Return how an argument is written: `-m, --metric SPEC`, `--json`, `SCORES …`."""
    value = item.metavar or item.dest.upper()
    if item.choices:
        value = "|".join(map(str, item.choices))
    if not item.option_strings:
        usage = f"{value} …" if item.nargs in ("+", "*") else f"{value}"
    elif item.nargs == 0:
        usage = ", ".join(item.option_strings)
    else:
        usage = f"{', '.join(item.option_strings)} {value}"
    return usage.replace("|", "\\|")


def with_tables(text: str) -> str:
    """Return a page with every table of options as its verb has them."""
    return TABLE.sub(lambda match: f"<!-- options of {match['verb']} -->\n\n{option_table(match['verb'])}\n", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_option_tables_are_those_of_the_verbs(page: Path) -> None:
    assert page.read_text() == with_tables(page.read_text()), "run: python -m tests.test_option_tables"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(with_tables(path.read_text()))
