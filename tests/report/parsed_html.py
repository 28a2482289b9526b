"""A report as the tests see it: written by the command line, read back by html.parser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from interloq import Sample, write
from interloq.cli.main import main
from interloq.report.build import Evidence, build
from interloq.report.render import render

VOID = {"meta", "wbr", "link", "br", "img", "input", "hr", "base", "col", "source"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element | str] = field(default_factory=list)

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    @property
    def text(self) -> str:
        return " ".join(self.raw.split())

    @property
    def raw(self) -> str:
        return "".join(child if isinstance(child, str) else child.raw for child in self.children)

    def all(self, tag: str = "", *, cls: str = "", id: str = "") -> list[Element]:
        found = []
        for child in self.children:
            if isinstance(child, Element):
                fits = tag in ("", child.tag) and (not cls or cls in child.classes)
                if fits and (not id or child.attributes.get("id") == id):
                    found.append(child)
                found += child.all(tag, cls=cls, id=id)
        return found

    def one(self, tag: str = "", *, cls: str = "", id: str = "") -> Element:
        (found,) = self.all(tag, cls=cls, id=id)
        return found

    def rows(self) -> list[list[str]]:
        return [
            [cell.text for cell in row.children if isinstance(cell, Element)]
            for body in self.all("tbody", cls="rows")
            for row in body.all("tr")
        ]


class _Builder(HTMLParser):
    """Refuses what a browser would have to mend: an element closed out of order or left open."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.here = Element("", {})

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"repeated attribute in <{tag}>"
        element = Element(tag, {name: value or "" for name, value in attrs}, self.here)
        self.here.children.append(element)
        if tag not in VOID:
            self.here = element

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.here.tag, f"</{tag}> inside <{self.here.tag}>"
        assert self.here.parent is not None
        self.here = self.here.parent

    def handle_data(self, data: str) -> None:
        self.here.children.append(data)


def parse(html: str) -> Element:
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert builder.here is builder.root, f"<{builder.here.tag}> is left open"
    return builder.root


def rendered(evidence: Evidence) -> Element:
    """The page of results that were not read from files."""
    return parse(render(build(evidence)))


def report(
    folder: Path,
    samples: Sequence[Sample],
    *options: str,
    metrics: Sequence[str] = ("bleu(order=2)", "length"),
    edit: Callable[[Path], None] | None = None,
) -> str:
    """The HTML that `interloq score` and `interloq report` make of samples; `edit` may change the scores between."""
    paths = [folder / name for name in ("samples.jsonl", "scores.jsonl", "report.html")]
    write(paths[0], samples, kind="samples")
    specs = [argument for metric in metrics for argument in ("-m", metric)]
    assert main(["score", str(paths[0]), *specs, "--bootstrap", "50", "-o", str(paths[1])]) < 2  # 1: nothing to score
    if edit:
        edit(paths[1])
    arguments = [str(paths[1]), "--samples", str(paths[0]), "-o", str(paths[2]), "--bootstrap", "50", *options]
    assert main(["report", *arguments]) == 0
    return paths[2].read_text(encoding="utf-8")
