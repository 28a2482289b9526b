"""Tables of the results of `bipartite.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interloq.terminal.console import interval, number, print_table


def show(found: Mapping[str, Any]) -> None:
    print("known in advance (better > worse):")
    print("  " + ", ".join(" > ".join(pair) for pair in found["known"]))
    print(f"partner set {found['partner_set']}: {', '.join(found['partners'])}; judge: {found['judge']}")
    if found["trained"]:
        levels = [[n, f"{f['pairs']['train']:,}", *_levels(f)] for n, f in found["trained"].items()]
        print_table("trained here", ["model", "pairs", "perplexity before", "after"], levels)
    schemes = found["schemes"]
    counts = []
    for name, s in schemes.items():
        counts.append([name, f"{s['dialogues']:,}", f"{s['utterances']:,}", f"{s['with_failures']:,}"])
    print_table("dialogues", ["scheme", "dialogues", "utterances", "with failures"], counts)
    rows = [[name, bot, what, f"{n:,}"] for name, s in schemes.items() for bot, what, n in s["failures"]]
    print_table("failures by bot", ["scheme", "bot", "what", "times"], rows or [["none", "", "", ""]])
    _show_agreement(schemes, len(found["known"]))
    for name, s in schemes.items():
        _show_ranks(name, s["figures"])


def _levels(facts: Mapping[str, Any]) -> list[str]:
    return [f"{facts[when]['perplexity']:,.1f}" for when in ("before", "after")]


def _show_agreement(schemes: Mapping[str, Any], pairs: int) -> None:
    columns = ["metric", "scheme", f"{pairs} known pairs", "four by budget", "Spearman of the four", "paper"]
    rows = []
    by_metric = zip(*(s["figures"] for s in schemes.values()), strict=True)
    for each in by_metric:
        for figure in each:
            shares = [f"{number(s['value'])} {interval(s['ci'])}{_of(s, n)}" for s, n in _shares(figure, pairs)]
            spearman = f"{number(figure['spearman'])} {interval(figure['spearman_ci'])}"
            paper = "" if figure["published"] is None else number(figure["published"], 2)
            rows.append([figure["metric"], figure["scheme"], *shares, spearman, paper])
    note = "share of known pairs ordered correctly; paper: Spearman with people over eleven other systems"
    print_table("agreement with the known order", columns, rows, note=note)


def _shares(figure: Mapping[str, Any], pairs: int) -> list[tuple[Mapping[str, Any], int]]:
    return [(figure["agreement"], pairs), (figure["group"], 6)]


def _of(share: Mapping[str, Any], pairs: int) -> str:
    return "" if share["pairs"] == pairs else f" ({share['pairs']} pairs)"


def _show_ranks(scheme: str, found: Sequence[Mapping[str, Any]]) -> None:
    names = sorted({standing["system"] for figure in found for standing in figure["standings"]})
    rows = []
    for figure in found:
        standing = {s["system"]: s for s in figure["standings"]}
        rows.append([figure["metric"], *(_place(standing.get(name)) for name in names)])
    print_table(f"{scheme}: rank (range of ranks) score", ["metric", *names], rows)


def _place(standing: Mapping[str, Any] | None) -> str:
    if standing is None or standing["rank"] is None:
        return "no score"
    ranks = standing["rank_range"]
    return f"{standing['rank']} ({ranks[0]}–{ranks[1]}) {standing['score']:.3f}"
