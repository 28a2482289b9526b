# SPDX-License-Identifier: Apache-2.0
"""Score a file of samples or dialogues; write a file of scores with results and notes in its header."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from interloq.data.convert_file import kind_held
from interloq.data.jsonl import Rejected, header, read, to_json, write
from interloq.data.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.errors import InputError
from interloq.metrics.chosen import Chosen, choose, spec_files
from interloq.metrics.evaluate import evaluate_all, evaluate_by_unit
from interloq.metrics.metric import Metric, judges_dialogues
from interloq.metrics.metric_names import about_sets
from interloq.metrics.selection import Selection
from interloq.models.spending import spending
from interloq.pipelines.default_metrics import default_metrics, next_steps
from interloq.play.samples import carried, whole_dialogues
from interloq.play.samples import samples as utterances
from interloq.records import Dialogue, Note, Result, Sample, Score
from interloq.trust import Trust


@dataclass(frozen=True, slots=True)
class Scored:
    """Results by metric and system (`""` is all samples), and notes on them."""

    results: Sequence[Mapping[str, Result]]
    notes: Sequence[Note]
    repeated: Sequence[str] = ()  # notes on metrics that were given twice
    left_out: Sequence[str] = ()  # if no metric was given: metrics that could not be used, and why
    failed: int = 0  # requests of LLM judges without an answer that can be used
    next_steps: Sequence[str] = ()  # if no metric was given: what can be done with the samples, and how

    def facts(self) -> dict[str, Any]:
        """Results without their samples, and notes, as in headers and JSON."""
        results = [_summary(system, result) for one in self.results for system, result in one.items()]
        return {"results": results, "notes": [asdict(note) for note in self.notes]}

    def advice(self) -> dict[str, Any]:
        """What was left out, and what to do next, if no metric was given."""
        return {"left_out": list(self.left_out), "next_steps": list(self.next_steps)}

    def scores(self) -> Iterator[Score]:
        """Scores, metric by metric; each has its system."""
        for by_system in self.results:
            yield from by_system[""].scores()


def score_file(
    samples: str | Path,
    metrics: Sequence[str | Metric] = (),
    output: str | Path | None = None,
    *,
    n_bootstrap: int = 1000,
    seed: int = 0,
    drop_own_replies: bool = False,
    without: Sequence[str] = (),
    reliability: str | Path | None = None,
    min_reliability: float | None = None,
    trust: Trust = None,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
    max_calls: int | None = None,
    max_cost: float | None = None,
    announce: Callable[[str], None] | None = None,
    call_log: str | Path | None = None,
) -> Scored:
    """Score the samples of a file with metrics or their specs (`LABEL=SPEC` for a label), by default all they allow.

    Of a file of dialogues, each utterance of their systems is a sample, as by `interloq play samples`; metrics of whole
    dialogues score each dialogue. One score per sample and metric is written to `output`, if given. `without` lists
    systems to exclude; `drop_own_replies` removes the judged reply from its own references. Samples whose references
    have a reliability below `min_reliability`, predicted by the network in the folder `reliability`, are left unscored.
    `trust` allows what `choose` does. `-` is standard input or output.
    Bad lines and `columns` are handled as in `interloq.read`. `max_calls` and `max_cost` limit the requests of LLM
    judges to servers, `announce` gets an estimate before they are sent, and each is appended to the file `call_log`.
    """
    refuse_overwriting([path for path in (output, call_log) if path], [samples, *spec_files(metrics)])
    selection = Selection(drop_own_replies=drop_own_replies, without=without)
    replies, dialogues = _read(samples, strict=strict, on_reject=on_reject, columns=columns)
    records, metrics, advice = _or_default(selection.samples(replies), metrics, str(samples))
    chosen, repeated = choose(metrics, trust=trust)
    built = [one.metric for one in chosen]
    weak = _trust(reliability, min_reliability, built)
    limits = spending(max_calls=max_calls, max_cost=max_cost, announce=announce, log=call_log)
    units = _units(records, dialogues, built, without)
    with progress("scoring", None) as step, limits as spent:
        evaluate = partial(evaluate_all, n_bootstrap=n_bootstrap, seed=seed, by_system=True, progress=step)
        found = evaluate_by_unit(built, lambda some, whole: evaluate(some, units[whole], unscorable=weak.reasons))
    results = _named(chosen, found, {**selection.facts(), **weak.facts})
    costs = [Note("cost", spent.summary(), 0, 0)] if spent.summary() else []
    notes = [*weak.notes, *selection.notes(), *_notes(results), *costs]
    scored = Scored(results, notes, repeated, failed=spent.failed, **advice)
    if output:
        write(output, scored.scores(), kind="scores", **scored.facts(), **_origin(samples))
    return scored


def _read(
    path: str | Path,
    *,
    strict: bool,
    on_reject: Callable[[Rejected], None] | None,
    columns: Mapping[str, str] | None,
) -> tuple[Iterable[Sample], list[Dialogue]]:
    """The samples of a file, and its dialogues if it has any."""
    kind = "dialogues" if kind_held(path) == "dialogues" else "samples"
    records = read(path, kind=kind, strict=strict, on_reject=on_reject, columns=columns)
    if kind == "samples":
        return records, []
    dialogues = list(records)
    return utterances(dialogues), dialogues


def _units(
    replies: Iterable[Sample], dialogues: Sequence[Dialogue], metrics: Sequence[Metric], without: Sequence[str]
) -> dict[bool, Iterable[Sample]]:
    """What metrics of replies (False) and of whole dialogues (True) score; the same if there are only samples."""
    if dialogues:
        return {False: replies, True: Selection(without=without).samples(whole_dialogues(dialogues))}
    shared = list(replies) if any(map(judges_dialogues, metrics)) else replies  # otherwise read once, as a stream
    return {False: shared, True: shared}


def _named(
    chosen: Sequence[Chosen], found: Sequence[Mapping[str, Result]], facts: Mapping[str, str]
) -> list[dict[str, Result]]:
    """Results under the metrics' names, with the selection of samples in their signatures."""
    return [
        {system: replace(_signed(r, facts), metric=one.name) for system, r in by_system.items()}
        for one, by_system in zip(chosen, found, strict=True)
    ]


def _notes(results: Sequence[Mapping[str, Result]]) -> Iterable[Note]:
    return dict.fromkeys(note for by_system in results for note in by_system[""].notes)


def _or_default(
    samples: Iterable[Sample], metrics: Sequence[str | Metric], path: str
) -> tuple[Iterable[Sample], Sequence[str | Metric], dict[str, tuple[str, ...]]]:
    """The samples and metrics; without metrics, those that the samples allow, with advice for `Scored`."""
    if metrics:
        return samples, metrics, {}
    kept = list(samples)
    defaults = default_metrics(kept)
    single = next(metric for metric in defaults.metrics if not about_sets(metric))
    advice = {"left_out": defaults.left_out, "next_steps": tuple(next_steps(path, kept, single))}
    return kept, defaults.metrics, advice


@dataclass(frozen=True, slots=True)
class _Trust:
    """Why samples with weak references are left unscored, with parts of the signature and notes."""

    reasons: Callable[[Sequence[Sample]], list[str]] | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[Note] = ()


def _trust(folder: str | Path | None, minimum: float | None, metrics: Sequence[Metric]) -> _Trust:
    if folder is None and minimum is None:
        return _Trust()
    if folder is None or minimum is None:
        raise InputError("a minimum reliability needs a network, and the other way round", hint="give both")
    from interloq.pipelines.reliability import weak_references  # loads torch
    from interloq.reliability.model import Reliability

    model = Reliability.load(folder)
    for metric in metrics:
        model.check_metric(metric)
    facts = {"reliability": model.signature(), "min-reliability": f"{minimum:g}"}
    notes = [Note("reliability", f"reliability: {model.warning()}", 0, 0)] if model.warning() else []
    return _Trust(weak_references(model, minimum), facts, notes)


def _origin(path: str | Path) -> dict[str, Any]:
    """Header fields about the partner set that scores take over from samples of dialogues."""
    try:
        return {} if str(path) == "-" else carried(header(path))
    except InputError:  # a bad first line, already reported by the reader
        return {}


def _signed(result: Result, facts: Mapping[str, str]) -> Result:
    """The result with the selection of samples in its signature."""
    return replace(result, signature=result.signature.with_parts(facts))


def _summary(system: str, result: Result) -> dict[str, Any]:
    return {
        "metric": result.metric,
        "system": system,
        "value": to_json(result.value),
        "ci": to_json(result.ci),
        "n": result.n,
        "unscored": result.unscored,
        "signature": result.signature,
        "details": {name: to_json(value) for name, value in result.details.items()},
    }
