"""Try an LLM judge on the embedded English samples: the range of its scores, and pairs of replies in both orders.

    python recipes/llm_judge.py "llm_judge(model='smollm2')"

The pairs are replies that fit their context (`attentive`) with ones that would fit any (`generic`). The ratings of the
embedded samples are illustrative, so no agreement with people is reported here.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from time import perf_counter

from interloq import Result, Sample, create, evaluate, load
from interloq.data.embedded import embedded_path
from interloq.metrics.llm_judge.judge_pairs import Preferences, judge_pairs
from interloq.terminal.console import number, print_line, print_table

FIRST, SECOND = "attentive", "generic"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judge", metavar="SPEC", help="llm_judge(…)")
    parser.add_argument(
        "--contexts", type=int, default=5, metavar="N", help="contexts with four replies each (default 5)"
    )
    args = parser.parse_args(arguments)
    judge, samples = create(args.judge, kind="metric"), chosen(args.contexts)
    start = perf_counter()
    result = evaluate(judge, samples, n_bootstrap=0)
    first, second = ([sample for sample in samples if sample.system == system] for system in (FIRST, SECOND))
    rows = [*figures(result), *counts(judge_pairs(first, second, judge))]
    print_table(result.metric, ["figure", "value"], rows)
    print_line(f"{len(samples)} replies, {result.unscored} unscored; first: {FIRST}, second: {SECOND}")
    print_line(f"{perf_counter() - start:.0f} s")


def figures(result: Result) -> Iterator[list[str]]:
    """Range of the scores, and how far to trust them."""
    values = [value for value in result.by_sample.values() if not math.isnan(value)]
    yield ["lowest score", number(min(values, default=None))]
    yield ["mean score", number(result.value)]
    yield ["highest score", number(max(values, default=None))]
    yield from ([name, number(result.details.get(name))] for name in ("choice_probability", "length_slope"))


def counts(preferences: Preferences) -> Iterator[list[str]]:
    """Outcomes of the pairs, and the flip rate."""
    yield from ([f"pairs: {name}", str(n)] for name, n in preferences.counts.items())
    yield ["flip rate", number(preferences.flip_rate)]


def chosen(contexts: int) -> list[Sample]:
    """All replies to the first contexts."""
    samples = load(embedded_path("en"))
    kept = list(dict.fromkeys(sample.context for sample in samples))[:contexts]
    return [sample for sample in samples if sample.context in kept]


if __name__ == "__main__":
    main()
