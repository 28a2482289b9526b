"""Correlations of FED's dimensions with people, for replies and dialogues, next to the published figures.

Mehri and Eskenazi (2020), "Unsupervised Evaluation of Interactive Dialog with DialoGPT": 375 replies and 125 dialogues.
The published figures of single dimensions are for the public DialoGPT-large (not for the model in the paper, which was
never released); those of `overall` are from Yeh, Eskenazi and Mehri (2021) for FED, and from De Bruyn et al. (2022) for
FULL with BlenderBot-400M. Other models give other figures, so ours need not agree.

    python recipes/fed_table.py --model FOLDER --data FOLDER      # or INTERLOQ_DATA=FOLDER

Rows of a dimension: `conditional`; `whole` (used for the published figures); `conditional` with only the negative or
only the positive follow-ups (Sato et al., 2022, Table 1), and with `prior='context'` (what the reply adds to the
context); and for replies the trivial baseline, their length. An empty prior does not change the order of replies, so it
has no row. Figures are Spearman's coefficient with the mean judgment; intervals by resampling. Paired differences
between the follow-ups of either side, on this set and two others, are in `fed_variants.py`. The data folder contains
`fed`, unpacked or as .tar.gz. The exit code is 0, or 2 if data or the model are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from interloq import InterloqError, Sample, evaluate_all
from interloq.agree.agreement import meta_evaluate
from interloq.data.follow_ups import Dimension, read_follow_ups
from interloq.data.sets.registry import locate, read_dataset
from interloq.records import Dialogue
from interloq.registry import create, spec, title
from interloq.terminal.console import print_json

# level and dimension → Spearman of HF DialoGPT-large; `overall`: from the 2021 assessment of FED
PUBLISHED: Mapping[tuple[str, str], float] = {
    ("turn", "interesting"): 0.325,
    ("turn", "engaging"): 0.176,
    ("turn", "specific"): 0.230,
    ("turn", "relevant"): 0.134,
    ("turn", "correct"): 0.159,
    ("turn", "semantically appropriate"): 0.078,
    ("turn", "understandable"): 0.059,
    ("turn", "fluent"): 0.016,
    ("turn", "overall"): 0.095,
    ("dialogue", "overall"): 0.320,
}
FULL: Mapping[str, float] = {"turn": 0.506, "dialogue": 0.695}
VARIANTS: Mapping[str, str] = {
    "conditional": "",
    "whole": ",mode='whole'",
    "negative only": ",sets='negative_only'",
    "positive only": ",sets='positive_only'",
    "after context": ",prior='context'",
}
ASPECTS = {"understand": "understanding"}  # aspects that have another name in the ratings


@dataclass(frozen=True, slots=True)
class Figure:
    """Correlation of one variant of one dimension with people."""

    level: str
    dimension: str
    variant: str
    published: float | None
    ours: float
    ci: tuple[float, float] | None
    n: int


def whole(dialogue: Dialogue) -> Sample:
    """A dialogue as a sample whose reply is the last turn."""
    *before, last = dialogue.turns
    return Sample(dialogue.id, before, last.text, (), next(iter(dialogue.systems.values()), ""), dialogue.ratings)


def read(data: str | Path | None, limit: int) -> dict[str, list[Sample]]:
    path = locate("fed", data)
    turns = list(read_dataset("fed", path, subset="turn"))
    dialogues = [whole(dialogue) for dialogue in read_dataset("fed", path, subset="dialogue")]
    return {"turn": _some(turns, limit), "dialogue": _some(dialogues, limit)}


def _some(samples: list[Sample], limit: int) -> list[Sample]:
    """About `limit` items spread over the whole set, which is sorted by system."""
    return samples[:: max(1, -(-len(samples) // limit))] if limit else samples


def variants(dimension: Dimension, options: str) -> dict[str, str]:
    """Specs of the rows of a dimension; one that has follow-ups of one kind has no rows for either kind alone."""
    has_both = dimension.positive and dimension.negative
    rows = {name: more for name, more in VARIANTS.items() if has_both or not more.startswith(",sets")}
    return {name: f"fed({options},dimension={dimension.name!r}{more})" for name, more in rows.items()}


def figures(level: str, samples: Sequence[Sample], options: str, resamples: int) -> Iterator[Figure]:
    asked = {
        dimension.name: variants(dimension, options)
        for dimension in read_follow_ups("en").dimensions.values()
        if dimension.name == "overall" or (dimension.level == level and not dimension.source)
    }
    asked["overall"]["full"] = f"full({options})"
    if level == "turn":
        for rows in asked.values():
            rows["length"] = "length"
    specs = list(dict.fromkeys(spec(create(text)) for rows in asked.values() for text in rows.values()))
    found = [by_system[""] for by_system in evaluate_all(specs, samples, n_bootstrap=0)]
    scores = [score for result in found for score in result.scores()]
    for dimension, rows in asked.items():
        own = {title(create(text)): name for name, text in rows.items()}
        table = meta_evaluate(
            [score for score in scores if score.metric in own],
            samples,
            aspect=ASPECTS.get(dimension, dimension),
            n_bootstrap=resamples,
            compare=False,
        )
        for row in sorted(table.rows, key=lambda row: list(own).index(row.metric)):
            name, estimate = own[row.metric], row.with_mean["spearman"]
            published = _published(level, dimension, name)
            yield Figure(level, dimension, name, published, estimate.value, estimate.ci, estimate.n)


def _published(level: str, dimension: str, variant: str) -> float | None:
    """The published figure; those of FED come from the authors' program, `whole`."""
    if variant == "full":
        return FULL[level]
    return PUBLISHED.get((level, dimension)) if variant == "whole" else None


def _print(rows: Sequence[Figure]) -> None:
    for level in dict.fromkeys(row.level for row in rows):
        own = [row for row in rows if row.level == level]
        print(f"\n{level} level ({max(row.n for row in own)} rated)")
        print(f"{'dimension':<26}{'variant':<16}{'published':>9}  {'ours':>6}  95 % interval")
        for row in own:
            known = "–" if row.published is None else f"{row.published:.3f}"
            ci = f"[{row.ci[0]:.3f}, {row.ci[1]:.3f}]" if row.ci else ""
            print(f"{row.dimension:<26}{row.variant:<16}{known:>9}  {row.ours:>6.3f}  {ci}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Correlations of FED with people, next to the published figures.")
    parser.add_argument(
        "--model", required=True, metavar="NAME", help="a language model: a folder or hub:org/name@hash"
    )
    parser.add_argument("--layout", choices=("eos", "lines", "chat"), default="eos", help="how turns are written (eos)")
    parser.add_argument("--data", metavar="FOLDER", help="contains fed (default: $INTERLOQ_DATA)")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="about N items per level (default: all)")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="resamples for intervals (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args(argv)
    options = f"model={args.model!r},layout={args.layout!r}"
    try:
        samples = read(args.data, args.limit)
        model = create(f"fed({options})").built_with().split(",")[0]
        rows = [row for level, own in samples.items() for row in figures(level, own, options, args.resamples)]
    except InterloqError as error:
        print(f"fed_table: {error}", file=sys.stderr)
        return 2
    if args.json:
        print_json({"model": args.model, "weights": model, "rows": [asdict(row) for row in rows]})
    else:
        print(f"model: {args.model} ({model}), layout {args.layout}; published: DialoGPT-large, FULL: BlenderBot-400M")
        _print(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
