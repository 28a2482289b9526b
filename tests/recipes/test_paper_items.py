"""docs/papers.md lists every item of the papers; what it names exists, and its counts are those of its tables."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

import pytest
from paper_items import PAGE, read_papers

from interloq.cli.main import VERBS, verb_parser
from interloq.registry import create, names

ROOT = Path(__file__).parents[2]
TEXT = PAGE.read_text()
VERDICTS = ("exact", "deviates", "tested", "not tested", "not built")
ITEMS = (85, 38, 43, 57, 62)  # of each paper, in the order of the page
CODE = re.compile(r"`([^`]+)`")
FILE = re.compile(r"(?:interloq|recipes|docs|benchmarks)/")


TABLES = [paper.items for paper in read_papers()]


def find_code() -> list[str]:
    """Return the code of the column `where`, each once."""
    seen: set[str] = set()
    for table in TABLES:
        for item in table:
            seen.update(CODE.findall(item.where))
    return sorted(seen)


def test_every_item_of_each_paper_has_a_row() -> None:
    assert [len(table) for table in TABLES] == list(ITEMS)
    for table in TABLES:
        assert [item.number for item in table] == [str(n) for n in range(1, len(table) + 1)]


def test_counts_are_those_of_the_tables() -> None:
    rows = re.findall(r"^\| ([^|]+) \|((?: \d+ \|){6})$", TEXT.split("\n## ")[0], re.MULTILINE)
    counts = [Counter(item.verdict for item in table) for table in TABLES]
    expected = [[*(count[verdict] for verdict in VERDICTS), sum(count.values())] for count in counts]
    expected.append([sum(column) for column in zip(*expected, strict=True)])
    assert [list(map(int, re.findall(r"\d+", figures))) for _, figures in rows] == expected


def test_verdicts_are_known_and_have_reasons() -> None:
    for table in TABLES:
        for item in table:
            assert item.verdict in VERDICTS, item
            assert item.reason or item.verdict == "exact", item
            assert CODE.search(item.where) or "](" in item.where, item


@pytest.mark.parametrize("code", find_code())
def test_what_is_named_exists(code: str) -> None:
    if FILE.match(code):
        assert (ROOT / code).is_file()
    elif code.startswith("interloq "):
        check_command(code.split()[1:])
    elif "(" in code:
        create(code)
    else:
        assert any(code in names(kind) for kind in ("metric", "retriever", "tokenizer"))


def check_command(words: list[str]) -> None:
    verb, *actions = [word for word in words if not word.startswith("--")]
    assert verb in VERBS
    parser = verb_parser(verb, *actions)
    for action in actions:
        (parsers,) = (item for item in parser._actions if isinstance(item, argparse._SubParsersAction))
        assert action in parsers.choices
        parser = parsers.choices[action]
    known = {flag for item in parser._actions for flag in item.option_strings}
    assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("command", [["play", "run", "--schema"], ["score", "--paper"], ["corpus", "bild"]])
def test_commands_that_do_not_exist_are_noticed(command: list[str]) -> None:
    with pytest.raises(AssertionError):
        check_command(command)
