# SPDX-License-Identifier: Apache-2.0
"""Properties of a metric known from its name or spec, without loading it: its model may not be on this machine."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable

from interloq.errors import InputError, SpecError
from interloq.metrics.function import UNREGISTERED
from interloq.metrics.metric import Direction
from interloq.registry import facts, name_in_spec
from interloq.spec_text import read_spec, split_label

UNKNOWN_DIRECTION = "it is not a metric of Interloq, so it is unknown whether higher or lower scores are better"
RATING = "rating"  # name of people's ratings as scores: `rating(aspect='overall')`


def direction(metric: str, lower_is_better: bool | None = None) -> Direction:
    """Return which score is better: as a registered metric defines it, else as given.

    If nothing is given, ratings, the user's functions and scores without a name follow their own definition ("higher"
    unless they say otherwise). A name that is unknown here, such as `toxicity` in somebody's score file, has "neither"
    direction: `unrankable` asks for it.
    """
    defined = _find_direction(metric)
    if defined in ("higher", "lower") and name_in_spec(metric, kind="metric"):
        return defined
    if lower_is_better is not None:
        return "lower" if lower_is_better else "higher"
    if defined:
        return defined
    return "higher" if is_rating(metric) or not metric else "neither"


def downwards(metric: str, lower_is_better: bool | None = None, *, verb: str = "rank") -> bool:
    """Return whether lower scores are better; refuse a metric without a direction, or of whole sets."""
    if why := unrankable(metric, lower_is_better):
        what, hint = why
        raise InputError(f"cannot {verb} by {metric}: {what}", hint=hint)
    return direction(metric, lower_is_better) == "lower"


def unrankable(metric: str, lower_is_better: bool | None = None) -> tuple[str, str] | None:
    """Return why systems cannot be ranked by this metric's mean, and what to do instead; None if they can."""
    if about_sets(metric):
        return (
            "it scores sets of replies, not single ones",
            "compare the systems' values that `interloq score` prints",
        )
    if direction(metric, lower_is_better) == "neither":
        if not is_known(metric):
            return UNKNOWN_DIRECTION, "add --higher-is-better or --lower-is-better"
        return (
            "neither a high nor a low score is better",
            "use another metric, or add --higher-is-better or --lower-is-better",
        )
    return None


def is_known(metric: str) -> bool:
    """Return whether a spec or a label names people's ratings or a metric whose class is known here."""
    return is_rating(metric) or _find_direction(metric) is not None


def is_rating(metric: str) -> bool:
    """Return whether scores with this name are people's ratings."""
    return metric.startswith(f"{RATING}(")


def unknown_directions(metrics: Iterable[str], lower_is_better: bool | None = None) -> list[str]:
    """Return the metrics for which it is unknown whether higher or lower scores are better."""
    return [metric for metric in metrics if metric and lower_is_better is None and not is_known(metric)]


def direction_note(metric: str) -> str:
    """Return the note on a metric of unknown direction."""
    return f"{metric}: {UNKNOWN_DIRECTION}; add --higher-is-better or --lower-is-better"


def _find_direction(metric: str) -> Direction | None:
    """Return the direction that a metric defines: a registered one, or one made or used in this process."""
    if name := name_in_spec(metric, kind="metric"):
        registered: Direction = facts(name, kind="metric")["direction"]
        return registered
    with contextlib.suppress(SpecError):
        if used := UNREGISTERED.get(read_spec(split_label(metric)[1]).name):
            return used.direction
    return None


def about_sets(metric: str) -> bool:
    """Return whether it scores only sets of replies, such as distinct-n: see `metric.SetMetric`."""
    name = name_in_spec(metric, kind="metric")
    return name is not None and bool(facts(name, kind="metric")["scores_sets"])


def always_means(metric: str) -> bool:
    """Return whether a set's value is the mean of sample scores, whatever the fields; True for unknown metrics."""
    name = name_in_spec(metric, kind="metric")
    return name is None or bool(facts(name, kind="metric")["always_mean"])


def about_dialogues(metric: str) -> bool:
    """Return whether it scores whole dialogues, such as `llm_judge(of='dialogue')`; see `Metric.of`."""
    try:
        return bool(read_spec(split_label(metric)[1]).fields.get("of") == "dialogue")
    except SpecError:
        return False


def labels(metrics: Collection[str]) -> dict[str, str]:
    """Return each metric's name in tables: its label, or its full name if the label is missing or not unique."""
    short = {metric: split_label(metric)[0] or metric for metric in metrics}
    counts = Counter(short.values())
    return {metric: label if counts[label] == 1 else metric for metric, label in short.items()}


def find(asked: str, metrics: Collection[str]) -> str:
    """Return the metric with this name, label or spec; `asked` itself if there is none or several."""
    matching = [metric for metric in metrics if asked in split_label(metric)]
    if asked in metrics or len(matching) != 1:
        return asked
    return matching[0]
