# SPDX-License-Identifier: Apache-2.0
"""Explain the score of one sample of a file."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from interloq.data.records.jsonl import Rejected, read
from interloq.errors import InputError
from interloq.metrics.course import TurnScore, largest_fall
from interloq.records import NO_SYSTEM, Sample, SampleKeys
from interloq.registry import create, title
from interloq.score.evaluate import evaluate
from interloq.score.explain import Explanation, explain, is_explained
from interloq.spec_text import split_label

METRIC = "delta_bleu(order=2)"
COMPARED = 20_000  # ids that an unknown id is compared with


@dataclass(frozen=True, slots=True)
class Explained:
    """A sample as scored, with the weights of a pipeline, and its score or the reason why it has none."""

    sample: Sample
    metric: str
    score: float | None
    reason: str
    explanation: Explanation | None  # None if there is no score, or the metric cannot be broken down
    taken_apart: bool  # whether the metric can be
    course: tuple[TurnScore, ...] = ()  # scores of the dialogue's replies so far, for metrics that follow a dialogue

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values."""
        facts = {
            "id": self.sample.id,
            "system": self.sample.system,
            "metric": self.metric,
            "score": self.score,
            "reason": self.reason,
            "context": [turn.text for turn in self.sample.context],
            "response": self.sample.response,
            "references": self.references(),
        }
        if self.explanation:
            names = ("length", "reference_length", "closest", "brevity_penalty", "largest_weight")
            facts |= {name: getattr(self.explanation, name) for name in names}
            facts |= {"orders": [asdict(order) for order in self.explanation.orders]}
        if self.course:
            fall = largest_fall(self.course)
            facts["course"] = [asdict(turn_score) for turn_score in self.course]
            facts["fell_most"] = fall[0].turn if fall else None
        return facts

    def references(self) -> list[dict[str, Any]]:
        """Return references with their weights; if the metric uses weights, only `trusted` ones can give credit."""
        rows = []
        for i, reference in enumerate(self.sample.references):
            row: dict[str, Any] = {"place": i, "source": reference.source}
            row |= {"weight": reference.weight, "text": reference.text}
            if self.explanation:
                explained = self.explanation.references[i]
                if self.explanation.weighted:
                    row["trusted"] = explained.is_trusted
                row["shared"] = list(map(list, explained.shared))
            rows.append(row)
        return rows


def explain_file(
    id: str,
    samples: str | Path,
    *,
    metric: str = METRIC,
    system: str | None = None,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Explained:
    """Explain the score of the sample with this id, and of this `system` if several systems have it.

    Only bleu and delta_bleu can be broken down, alone or within a pipeline such as vbleu. Metrics with a `course`, such
    as dcp, also give the scores of the dialogue's earlier replies; for others only the score is given. `-` is standard
    input. Bad lines and `columns` are handled as in `interloq.read`.
    """
    if Path(id).is_file() and str(samples) != "-" and not Path(samples).exists():
        raise InputError(
            f"{id!r} is a file, and {str(samples)!r} is not", hint="give the sample's id first, then the file"
        )
    label, written = split_label(metric)
    made = create(written, kind="metric")
    inner = made.metric() if hasattr(made, "rated") else made  # in a pipeline such as vbleu, the metric after rating
    follows = hasattr(made, "course")
    taken_apart = is_explained(inner) or follows
    records = read(samples, strict=strict, on_reject=on_reject, columns=columns)
    if taken_apart:
        sample = _find_sample(records, id, system, str(samples))
        scored_metric = inner
    else:  # a metric that cannot be broken down may depend on the whole file
        listed = list(records)
        sample = _find_sample(listed, id, system, str(samples))
        scored_metric = made
    if inner is not made:  # the sample with the weights from the pipeline is scored
        (sample,) = made.rated([sample])
    result = evaluate(scored_metric, [sample] if taken_apart else listed, n_bootstrap=0)
    name = label or title(made)
    if reason := result.reasons.get(sample.key, ""):
        return Explained(sample, name, None, reason, None, taken_apart)
    explanation = explain(inner, sample) if is_explained(inner) else None
    course = tuple(made.course(sample)) if follows else ()
    return Explained(sample, name, result.by_sample[sample.key], "", explanation, taken_apart, course)


def _find_sample(samples: Iterable[Sample], id: str, system: str | None, where: str) -> Sample:
    """Return the chosen sample; all samples are read, because the id alone may be ambiguous."""
    ids: dict[str, None] = {}
    with_id = {}
    for sample in samples:
        ids[sample.id] = None
        if sample.id == id:
            with_id[sample.key] = sample
    key = SampleKeys(with_id).only(id) if system is None else (id, system)
    if key in with_id:
        return with_id[key]
    if with_id:
        systems = ", ".join(repr(system or NO_SYSTEM) for _, system in sorted(with_id))
        raise InputError(f"{id!r} is not a sample of {system!r}", hint=f"its systems are: {systems}", where=where)
    raise InputError(f"no sample {id!r} among {len(ids):,}", hint=_suggest_ids(id, list(ids)), where=where)


def _suggest_ids(id: str, ids: list[str]) -> str:
    close = difflib.get_close_matches(id, ids[:COMPARED], n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"the first are {' or '.join(map(repr, ids[:3]))}"
