"""Where the processor time of the main verbs goes: a flame graph of each, in docs/images/flame-VERB.svg.

A bar is a function, as wide as the time spent in it and in what it calls, which is above it. The width of a graph is
the processor time of the verb, imports included. Functions with less than half a percent are left out; pointing at a
bar shows its name and its share. The verbs get the samples of `growth.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from _figures import Figure, add_json_option, report
from growth import VERBS, write_dialogues, write_pairs, write_samples

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"
WIDTH, ROW, LEAST = 1200, 17, 0.005
LETTER = 6.6  # width of a letter
COLOURS = {"interloq": "#f4a259", "numpy": "#8cb3d9", "scipy": "#8cb3d9", "orjson": "#bc8cbf"}
OTHER_COLOUR = "#d9d4cc"
INDEX = ("index", "build", "-o", "index", "pairs.jsonl", "--retriever", "bm25")


@dataclass
class Bar:
    """A function, called from the one below."""

    name: str
    seconds: float = 0.0
    calls: dict[str, Bar] = field(default_factory=dict)


def read_bars(path: Path) -> Bar:
    """Return the tree of functions of sampled stacks."""
    root = Bar("all")
    for stack, seconds in json.loads(path.read_text()):
        bar = root
        bar.seconds += seconds
        for name in stack:
            bar = bar.calls.setdefault(name, Bar(name))
            bar.seconds += seconds
    return root


def draw(root: Bar, title: str) -> str:
    """Return a flame graph as SVG."""
    shapes: list[str] = []
    height = (_add_shapes(shapes, root, root.seconds, 0.0, 0) + 2) * ROW
    placed = [f'<g transform="translate(0 {height - ROW})">', *shapes, "</g>"]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="monospace" font-size="11"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="4" y="12">{escape(title)}</text>'
    )
    return "\n".join([head, *placed, "</svg>"]) + "\n"


def _add_shapes(shapes: list[str], bar: Bar, total: float, left: float, depth: int) -> int:
    """Add a bar and those above it; return the number of rows above the lowest one."""
    width, y = WIDTH * bar.seconds / total, -depth * ROW
    label = bar.name.removeprefix("interloq.")
    letters = int((width - 4) / LETTER)
    text = label if len(label) <= letters else f"{label[: letters - 1]}…" if letters > 3 else ""
    colour = COLOURS.get(bar.name.partition(".")[0], OTHER_COLOUR)
    share = f"{bar.seconds:.2f} s, {bar.seconds / total:.1%}"
    shape = f'<rect x="{left:.1f}" y="{y}" width="{max(width - 0.5, 0.5):.1f}" height="{ROW - 1}" fill="{colour}"/>'
    if text:
        shape += f'<text x="{left + 2:.1f}" y="{y + 12}">{escape(text)}</text>'
    shapes.append(f"<g><title>{escape(bar.name)}: {share}</title>{shape}</g>")
    highest = depth
    for above in sorted(bar.calls.values(), key=lambda above: above.name):
        if above.seconds >= LEAST * total:
            highest = max(highest, _add_shapes(shapes, above, total, left, depth + 1))
        left += WIDTH * above.seconds / total
    return highest


def sample_verb(arguments: Sequence[str], folder: Path) -> Bar:
    """Run a verb; return the functions in which it spent its time."""
    command = [sys.executable, str(HERE / "_sampled.py"), "stacks.json", *arguments, "--quiet"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed: {done.stderr.strip().splitlines()[-1]}")
    return read_bars(folder / "stacks.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--images", type=Path, default=IMAGES, metavar="FOLDER", help="where graphs are written")
    add_json_option(parser)
    args = parser.parse_args()
    figures = []
    args.images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_samples(folder / "samples.jsonl", args.samples)
        write_dialogues(folder, args.samples)
        write_pairs(folder / "pairs.jsonl")
        for verb, arguments in {"index": INDEX, **VERBS}.items():
            root = sample_verb(arguments, folder)
            title = f"interloq {verb}: {args.samples:,} samples, {root.seconds:.1f} s of one processor"
            (args.images / f"flame-{verb}.svg").write_text(draw(root, title), encoding="utf-8")
            figures.append(Figure(f"{verb}, processor time", root.seconds, "s"))
    report(f"{args.samples:,} samples with two references", figures, args.json)


if __name__ == "__main__":
    main()
