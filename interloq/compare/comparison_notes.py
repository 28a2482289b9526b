# SPDX-License-Identifier: Apache-2.0
"""Notes on a comparison for its reader: how units were paired, and what was excluded or cannot be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from interloq.agree.judgments import illustrative_note
from interloq.compare.comparison import FEW, Change
from interloq.compare.match_versions import Matched, Unit, Version, explain_unpaired, list_unscored
from interloq.data.records.sample_fingerprint import read_print
from interloq.errors import count
from interloq.metrics.metric_names import about_sets, always_means
from interloq.statistics.prediction_powered import are_selected

SELECTED = "rated units score differently from unrated ones, so they are not a random sample and estimates are biased"


def write_notes(old: Version, new: Version, units: Matched, by_metric: Mapping[str, Matched]) -> Iterator[str]:
    """Yield notes on a comparison of matched units; `by_metric` has the same units in the clusters of each metric."""
    yield _describe_pairing(old, new, units)
    if not units.dialogues_known:
        alike = [metric for metric, clustered in by_metric.items() if clustered.assumed]
        counted = "they count as independent"
        if alike:
            counted = f"neighbours that score alike ({', '.join(alike)}) count as one, others as independent"
        yield (
            f"nothing tells which replies belong to one dialogue: {counted}; name the field that does with "
            "--map dialogue=FIELD, or say that each reply stands alone with --map dialogue=id"
        )
    if have_same_replies(units):
        yield "both versions have the same replies: a version is compared with itself"
    clusters = {*units.pair_clusters} or {*units.old_clusters, *units.new_clusters}
    if len(clusters) < FEW:
        yield f"only {count(len(clusters), 'independent unit')}: intervals and tests are rough below {FEW}"
    for metric in dict.fromkeys([*old.metrics, *new.metrics]):
        if about_sets(metric):
            yield f"not compared: {metric}, which scores sets of replies, not single ones"
        elif metric not in by_metric:
            yield f"not compared: {metric}, which scored only one version"
    for metric in by_metric:
        yield from _metric_notes(metric, old, new)
    yield from illustrative_note(old.roles | new.roles)
    aspects = sorted({*old.other_aspects, *new.other_aspects})
    if aspects and np.isnan(old.ratings()).all() and np.isnan(new.ratings()).all():
        yield f"no ratings of the aspect overall; to use others, choose one with --aspect: {', '.join(aspects)}"


def note_exploratory(changes: Sequence[Change]) -> Iterator[str]:
    """Yield a note if slices are shown that nobody named in advance."""
    if any(change.exploratory for change in changes):
        what = "slices were not named in advance, so what they show is exploratory: confirm it on new data"
        yield f"{what}, or name fields with --slice before you look"


def have_same_replies(units: Matched) -> bool:
    """Return whether all pairs have the same, known reply on both sides."""
    return bool(units.pairs) and all(_has_same_reply(old, new) for old, new in units.pairs)


def _has_same_reply(old: Unit, new: Unit) -> bool:
    if old.text or new.text:
        return old.text == new.text
    old_reply, new_reply = read_print(old.sample).reply, read_print(new.sample).reply  # score files without samples
    return bool(old_reply) and old_reply == new_reply


def _describe_pairing(old: Version, new: Version, units: Matched) -> str:
    noun = new.unit
    what, hint = explain_unpaired(old, new, units)
    if not units.pairs:
        return f"not paired, so small differences are hard to find: {what}; {hint}"
    note = f"{count(len(units.pairs), noun)} paired by {units.pairing}"
    clusters = len(set(units.pair_clusters))
    if clusters < len(units.pairs):
        note += f", in {count(clusters, 'cluster')}"
    for side, n in zip(("old", "new"), units.alone, strict=True):
        if n:
            note += f"; {count(n, noun)} only in the {side} version, not used in differences"
    if what:
        note += f"; {what}: {hint}"
    return note


def _metric_notes(metric: str, old: Version, new: Version) -> Iterator[str]:
    values: set[float] = set()
    for side, version in (("old", old), ("new", new)):
        if n := len(list_unscored(version, metric)):
            yield f"{metric}: {n} of {count(len(version.units), version.unit)} of the {side} version unscored"
        if are_selected(version.ratings(), version.scores(metric)):
            yield f"{metric}, {side} version: {SELECTED}"
        values.update(unit.values[metric] for unit in version.units if metric in unit.values)
    if len(values) == 1:
        same = f"every {new.unit} of both versions has the score {values.pop():g}"
        yield f"{metric}: {same}, so it cannot tell them apart"
    if not always_means(metric):
        yield f"{metric}: means of sample scores, which may differ from the value of the whole set that `score` prints"
