# SPDX-License-Identifier: Apache-2.0
"""Explain the score of one sample of a file."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from interloq.data.jsonl import Rejected, read
from interloq.errors import InputError
from interloq.metrics.course import TurnScore, largest_fall
from interloq.metrics.evaluate import evaluate
from interloq.metrics.explain import Explanation, explain, is_explained
from interloq.records import NO_SYSTEM, Sample, SampleKeys
from interloq.registry import create, title
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
        """Everything as plain values."""
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
            facts |= {"course": [asdict(each) for each in self.course], "fell_most": fall[0].turn if fall else None}
        return facts

    def references(self) -> list[dict[str, Any]]:
        """References with their weights; if the metric uses weights, only `trusted` ones can give credit."""
        facts: list[dict[str, Any]] = [
            {"place": i, "source": r.source, "weight": r.weight, "text": r.text}
            for i, r in enumerate(self.sample.references)
        ]
        if self.explanation:
            for row, source in zip(facts, self.explanation.references, strict=True):
                if self.explanation.weighted:
                    row["trusted"] = source.is_trusted
                row["shared"] = [list(grams) for grams in source.shared]
        return facts


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
    inner = _inner(made)
    given = read(samples, strict=strict, on_reject=on_reject, columns=columns)
    follows = hasattr(made, "course")
    listed = None if is_explained(inner) or follows else list(given)
    sample = _found(given if listed is None else listed, id, system, str(samples))
    if inner is not made:  # the sample with the weights from the pipeline is scored
        (sample,) = made.rated([sample])
    score, reason = _score(inner, sample, [sample]) if listed is None else _score(made, sample, listed)
    explained = explain(inner, sample) if is_explained(inner) and not reason else None
    course = tuple(made.course(sample)) if follows and not reason else ()
    return Explained(sample, label or title(made), score, reason, explained, is_explained(inner) or follows, course)


def _inner(metric: Any) -> Any:
    """The metric that computes the score: in a pipeline such as vbleu, the metric after rating."""
    return metric.metric() if hasattr(metric, "rated") else metric


def _found(samples: Iterable[Sample], id: str, system: str | None, where: str) -> Sample:
    """The chosen sample; all samples are read, because the id alone may be ambiguous."""
    ids: dict[str, None] = {}
    found = {}
    for sample in samples:
        ids[sample.id] = None
        if sample.id == id:
            found[sample.key] = sample
    key = SampleKeys(found).only(id) if system is None else (id, system)
    if key in found:
        return found[key]
    if found:
        systems = ", ".join(repr(system or NO_SYSTEM) for _, system in sorted(found))
        raise InputError(f"{id!r} is not a sample of {system!r}", hint=f"its systems are: {systems}", where=where)
    raise InputError(f"no sample {id!r} among {len(ids):,}", hint=_near(id, list(ids)), where=where)


def _near(id: str, ids: list[str]) -> str:
    close = difflib.get_close_matches(id, ids[:COMPARED], n=3, cutoff=0.5)
    named = " or ".join(map(repr, close or ids[:3]))
    return f"did you mean {named}?" if close else f"the first are {named}"


def _score(metric: Any, sample: Sample, samples: list[Sample]) -> tuple[float | None, str]:
    """The sample's score as in `interloq score`; a metric that cannot be broken down may depend on the whole file."""
    result = evaluate(metric, samples, n_bootstrap=0)
    reason = result.reasons.get(sample.key, "")
    return None if reason else result.by_sample[sample.key], reason
