"""`interloq explain`: why one reply got its score."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from interloq.cli.mapping import add_map
from interloq.cli.output import BadLines, add_common, number, print_json, print_table, say
from interloq.cli.paths import InputPath

if TYPE_CHECKING:
    from interloq.metrics.explain import Explanation, Order
    from interloq.records import Sample

EXAMPLES = """\
  interloq explain c17 rated.jsonl --system mine
  interloq explain c17/bot rated.jsonl -m "delta_bleu(order=2,tokenizer='char')"
  interloq explain c17/bot samples.jsonl -m "bleu(level='sentence')" --json"""
METRIC = "delta_bleu(order=2)"
TURNS = 6  # turns of the context that are shown
COMPARED = 20_000  # ids an unknown one is compared with
ONLY = "only bleu and delta_bleu (mode 'sentence') can be taken apart: here are the score and its references"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="SAMPLE_ID", help="the sample's id")
    parser.add_argument(
        "samples", type=InputPath, metavar="SAMPLES", help="JSONL, CSV or TSV, also .gz .xz .zst; - for a pipe"
    )
    parser.add_argument("--system", metavar="NAME", help="whose sample, where several systems have one with this id")
    parser.add_argument("-m", "--metric", default=METRIC, metavar="SPEC", help=f"the metric (default {METRIC})")
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.data.jsonl import read
    from interloq.metrics.explain import explain, is_explained
    from interloq.registry import create, spec
    from interloq.spec_text import split_label

    label, written = split_label(args.metric)
    metric, bad = create(written, kind="metric"), BadLines()
    inner = _inner(metric)
    samples = read(args.samples, strict=args.strict, on_reject=bad, columns=args.columns)
    listed = None if is_explained(inner) else list(samples)
    sample = _found(samples if listed is None else listed, args)
    bad.close(args.samples)
    if inner is not metric:  # what is scored is the sample with the weights that the pipeline gives it
        (sample,) = metric.rated([sample])
    score, reason = _score(inner, sample, [sample]) if listed is None else _score(metric, sample, listed)
    explained = explain(inner, sample) if is_explained(inner) and not reason else None
    facts = _facts(sample, label or spec(metric), score, reason, explained)
    if args.json:
        print_json(facts)
    else:
        _print(sample, facts, explained, reason)
        if not is_explained(inner):
            say(ONLY)
    return 0


def _inner(metric: Any) -> Any:
    """The metric that scores in the end: a pipeline such as vbleu rates first and names the metric it uses."""
    return metric.metric() if hasattr(metric, "rated") else metric


def _found(samples: Iterable[Sample], args: argparse.Namespace) -> Sample:
    """The one that is meant; all are read, because the id alone may not tell."""
    from interloq.errors import InputError
    from interloq.records import NO_SYSTEM, Known

    ids: dict[str, None] = {}
    found = {}
    for sample in samples:
        ids[sample.id] = None
        if sample.id == args.id:
            found[sample.key] = sample
    key = Known(found).only(args.id) if args.system is None else (args.id, args.system)
    if key in found:
        return found[key]
    if found:
        systems = ", ".join(repr(system or NO_SYSTEM) for _, system in sorted(found))
        raise InputError(
            f"{args.id!r} is not a sample of {args.system!r}", cure=f"its systems are: {systems}", where=args.samples
        )
    raise InputError(f"no sample {args.id!r} among {len(ids):,}", cure=_near(args.id, list(ids)), where=args.samples)


def _near(id: str, ids: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(id, ids[:COMPARED], n=3, cutoff=0.5)
    named = " or ".join(map(repr, close or ids[:3]))
    return f"did you mean {named}?" if close else f"the first are {named}"


def _score(metric: Any, sample: Sample, samples: list[Sample]) -> tuple[float | None, str]:
    """What `interloq score` says of this sample; a metric that is not taken apart may depend on the whole file."""
    from interloq.metrics.evaluate import evaluate

    result = evaluate(metric, samples)
    reason = result.reasons.get(sample.key, "")
    return None if reason else result.by_sample[sample.key], reason


# ---- as JSON ---------------------------------------------------------------------------------------------------------


def _facts(
    sample: Sample, metric: str, score: float | None, reason: str, explained: Explanation | None
) -> dict[str, Any]:
    facts = {
        "id": sample.id,
        "system": sample.system,
        "metric": metric,
        "score": score,
        "reason": reason,
        "context": [turn.text for turn in sample.context],
        "response": sample.response,
        "references": _references(sample, explained),
    }
    if explained:
        names = ("length", "reference_length", "closest", "brevity_penalty", "largest_weight")
        facts |= {name: getattr(explained, name) for name in names}
        facts |= {"orders": [asdict(order) for order in explained.orders]}
    return facts


def _references(sample: Sample, explained: Explanation | None) -> list[dict[str, Any]]:
    """References with their weights; where weights count, the `trusted` ones can earn a reply something."""
    facts: list[dict[str, Any]] = [
        {"place": i, "source": r.source, "weight": r.weight, "text": r.text} for i, r in enumerate(sample.references)
    ]
    if explained:
        for row, source in zip(facts, explained.references, strict=True):
            if explained.weighted:
                row["trusted"] = source.is_trusted
            row["shared"] = [list(grams) for grams in source.shared]
    return facts


# ---- as text ---------------------------------------------------------------------------------------------------------


def _print(sample: Sample, facts: dict[str, Any], explained: Explanation | None, reason: str) -> None:
    said = f"unscored: {reason}" if reason else f"{number(facts['score'], 4)}"
    say(f"{sample.id}{f' ({sample.system})' if sample.system else ''}: {facts['metric']} = {said}\n")
    earlier = len(sample.context) - TURNS
    if earlier > 0:
        say(f"         ({earlier} earlier turns)")
    for turn in sample.context[-TURNS:]:
        say(f"context  {f'{turn.speaker}: ' if turn.speaker else ''}{turn.text}")
    say(f"reply    {sample.response}\n")
    _print_references(facts["references"])
    if explained:
        for order in explained.orders:
            _print_order(order, explained)
        _print_sum(explained)
        _print_distrusted(explained)


def _print_references(references: list[dict[str, Any]]) -> None:
    """Without shared n-grams where the metric is not taken apart."""
    orders = max((len(row.get("shared", [])) for row in references), default=0)
    weighted = any("trusted" in row for row in references)
    rows = [
        [f"{row['place']}  {row['text']}", row["source"], number(row["weight"])]
        + [str(len(grams)) for grams in row.get("shared", [])]
        + (["yes" if row["trusted"] else "no"] if weighted else [])
        for row in references
    ]
    shared = [f"shared {n}-grams" for n in range(1, orders + 1)]
    print_table("", ["reference", "source", "weight", *shared, *(["trusted"] if weighted else [])], rows)


def _print_order(order: Order, explained: Explanation) -> None:
    extra = [[number(m.weight), number(m.credit)] if explained.weighted else [] for m in order.matches]
    rows = [
        [m.ngram, str(m.in_reply), str(m.counted), str(m.reference), *more]
        for m, more in zip(order.matches, extra, strict=True)
    ]
    if rows:
        columns = [f"{order.n}-gram", "in reply", "counted", "reference"]
        print_table("", columns + (["weight", "credit"] if explained.weighted else []), rows)
    if order.missed:
        say(f"no credit: {'; '.join(order.missed)}")
    plain = order.credit / order.denominator if order.denominator else 0.0
    smooth = f", smoothed {number(order.precision, 4)}" if abs(plain - order.precision) > 1e-12 else ""
    above = f"credit {number(order.credit)}" if explained.weighted else f"{order.credit:g} counted"
    below = f"({order.ngrams} n-grams × largest weight {number(explained.largest_weight)})"
    say(
        f"p{order.n} = {above} / {below if explained.weighted else order.ngrams}"
        f" = {number(plain, 4)}{smooth}{'' if order.used else ', left out: longer than the reply'}\n"
    )


def _print_sum(explained: Explanation) -> None:
    places = ", ".join(map(str, explained.closest))
    which = f"the closest reference ({places}) {explained.reference_length:g}" if places else (
        f"the references' mean {explained.reference_length:g}"
    )  # fmt: skip
    say(f"length: reply {explained.length}, {which} → brevity penalty {number(explained.brevity_penalty, 4)}")
    used = [order.precision for order in explained.orders if order.used]
    product = " × ".join(number(precision, 4) for precision in used)
    root = f"({product})^(1/{len(used)})" if len(used) > 1 else product
    say(f"score = {number(explained.brevity_penalty, 4)} × {root or '0'} = {number(explained.score, 4)}")
    if not any(order.matches for order in explained.orders):
        say("no n-gram of the reply stands in a reference that can earn it something: the score is 0")


def _print_distrusted(explained: Explanation) -> None:
    if not explained.distrusted:
        return
    rows = [
        [f"{r.place}  {r.text}", number(r.weight), "; ".join(gram for grams in r.shared for gram in grams)]
        for r in explained.distrusted
    ]
    say("\nshared with references that have no weight above 0, which earns nothing:")
    print_table("", ["reference", "weight", "n-grams"], rows)
