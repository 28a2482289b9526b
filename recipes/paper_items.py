"""The items of the papers, as docs/papers.md lists them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"
PAPERS = ("000", "001", "002", "003", "004")  # in the order of the page
FINDING = "finding: "
_ROW = re.compile(r"\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| \*\*([a-z ]+)\*\*(?:: ([^|]+))? \|\n")
_TABLE_OR_FIGURE = re.compile(r"[TF]\d+")


@dataclass(frozen=True, slots=True)
class PaperItem:
    """A row of the page: an item of a paper, and where Interloq has it."""

    paper: str
    number: str
    section: str  # or the table (T3) or figure (F1)
    text: str
    where: str
    verdict: str
    reason: str

    @property
    def name(self) -> str:
        """Return the name that findings and tables give, such as 002/39."""
        return f"{self.paper}/{self.number}"

    @property
    def is_claim(self) -> bool:
        return self.text.startswith(FINDING)


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper, with its heading on the page."""

    number: str
    title: str
    items: Sequence[PaperItem]

    def claims(self) -> list[PaperItem]:
        return [item for item in self.items if item.is_claim]

    def tables_and_figures(self) -> dict[str, PaperItem]:
        """Return the item of each table and figure: the last one of that name, as earlier ones are rows of it."""
        found: dict[str, PaperItem] = {}
        for item in self.items:
            if _TABLE_OR_FIGURE.fullmatch(item.section):
                found[item.section] = item
        return dict(sorted(found.items(), key=lambda one: (one[0][0] != "T", int(one[0][1:]))))


def read_papers(page: Path = PAGE) -> list[Paper]:
    """Read the page, one paper per section."""
    papers: list[Paper] = []
    sections = page.read_text(encoding="utf-8").split("\n## ")[1:]
    for number, section in zip(PAPERS, sections, strict=True):
        title = section.partition("\n")[0]
        items = [PaperItem(number, *row) for row in _ROW.findall(section)]
        papers.append(Paper(number, title, items))
    return papers
