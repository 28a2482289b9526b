# SPDX-License-Identifier: Apache-2.0
"""Score a file of samples or dialogues; write a file of scores with results and notes in its header.

A run reads, extends, rates, scores and writes; docs/a-run.md follows a sample through the modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.convert_file import detect_kind
from interloq.data.records.jsonl import header, to_json, write
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.metrics.metric import Metric, MetricLike
from interloq.metrics.metric_names import about_sets
from interloq.play.samples import samples as utterances
from interloq.play.samples import select_carried_facts, whole_dialogues
from interloq.records import Dialogue, Note, Result, Sample, Score
from interloq.registry import name_of
from interloq.score.default_metrics import default_metrics, next_steps
from interloq.score.evaluate import evaluate_by_unit, score_samples
from interloq.score.parse_metrics import Chosen, allow_any_language, choose, spec_files
from interloq.score.score_options import SCORE_DEFAULTS, ScoreOptions
from interloq.score.score_task import ScoreFilter, identify_metrics
from interloq.score.selection import SampleFilter
from interloq.score.stages import find_pipelines
from interloq.servers.spending import NO_LIMITS, SpendingLimits, check_processes
from interloq.shards.run import open_shards
from interloq.shards.shard_options import ONE_PROCESS, ShardOptions
from interloq.shards.task import ShareComputed

if TYPE_CHECKING:
    from interloq.reliability.ready_fit import TrainedModel


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
        """Return results without their samples, and notes, as in headers and JSON."""
        results = []
        for by_system in self.results:
            for system, result in by_system.items():
                summary = {
                    "metric": result.metric,
                    "system": system,
                    "value": to_json(result.value),
                    "ci": to_json(result.ci),
                    "n": result.n,
                    "unscored": result.unscored,
                    "signature": result.signature,
                    "details": {name: to_json(value) for name, value in result.details.items()},
                }
                results.append(summary)
        return {"results": results, "notes": [asdict(note) for note in self.notes]}

    def advice(self) -> dict[str, Any]:
        """Return what was left out, and what to do next, if no metric was given."""
        return {"left_out": list(self.left_out), "next_steps": list(self.next_steps)}

    def scores(self) -> Iterator[Score]:
        """Yield scores, metric by metric; each has its system."""
        for by_system in self.results:
            yield from by_system[""].scores()


def score_file(
    samples: str | Path,
    metrics: Sequence[str | MetricLike] = (),
    output: str | Path | None = None,
    options: ScoreOptions = SCORE_DEFAULTS,
    *,
    shards: ShardOptions = ONE_PROCESS,
    limits: SpendingLimits = NO_LIMITS,
    announce: Callable[[str], None] | None = None,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> Scored:
    """Score the samples of a file with metrics or their specs (`LABEL=SPEC` for a label), by default all they allow.

    In a file of dialogues, each utterance of a system is a sample, as with `interloq play samples`; metrics of whole
    dialogues score each dialogue. One score per sample and metric is written to `output`, if given. `-` is standard
    input or output. `limits` apply to the requests of LLM judges to servers; `announce` gets an estimate before they
    are sent. `shards` says which processes compute what; with a share of them, `ShareComputed` is raised in the end.
    """
    refuse_overwriting([path for path in (output, limits.call_log) if path], [samples, *spec_files(metrics)])

    selection = SampleFilter(drop_own_replies=options.drop_own_replies, without=options.without)
    replies, dialogues = _read_records(samples, reading)
    replies, metrics, advice = _choose_default(selection.samples(replies), metrics, str(samples))
    chosen, repeated = choose(metrics, trust=options.trust)
    if options.any_language:
        chosen = [replace(choice, metric=allow_any_language(choice.metric)) for choice in chosen]
    built = [choice.metric for choice in chosen]
    weak = _load_reliability(options, built)
    units = _units(replies, dialogues, built, options.without)
    facts = {}
    if shards.is_used:
        _check_shards(built, shards, limits)
        facts = {"verb": "score", "metrics": identify_metrics(built), "columns": _join_facts(reading.columns or {})}
        facts["samples"] = _join_facts({**selection.facts(), **weak.facts})

    with (
        progress("scoring", None) as step,
        limits.apply(announce) as spent,
        open_shards(shards, facts, source=samples, output=output) as run,
    ):
        jobs = {metric.of == "dialogue" for metric in built}

        def score(some: Sequence[Metric], whole: bool) -> list[dict[str, Result]]:
            jobs.remove(whole)
            try:
                return score_samples(
                    some,
                    units[whole],
                    n_bootstrap=options.n_bootstrap,
                    seed=options.seed,
                    by_system=True,
                    progress=step,
                    unscorable=weak.reasons,
                    shards=run,
                    job="dialogues" if whole else "replies",
                )
            except ShareComputed:
                if jobs:
                    return []  # the share of the other job comes next
                raise

        evaluated = evaluate_by_unit(built, score)
        results = _sign_results(chosen, evaluated, {**selection.facts(), **weak.facts})
        notes = [*weak.notes, *selection.notes()]
        notes += dict.fromkeys(chain.from_iterable(by_system[""].notes for by_system in results))
        if cost := spent.summary():
            notes.append(Note("cost", cost, 0, 0))
        scored = Scored(results, notes, repeated, failed=spent.failed, **advice)
        if output:
            write(output, scored.scores(), kind="scores", **scored.facts(), **_origin(samples))
    return scored


def _check_shards(metrics: Sequence[Metric], shards: ShardOptions, limits: SpendingLimits) -> None:
    """Refuse to cut what one process has to do."""
    for pipeline in find_pipelines(metrics):
        if pipeline.needs_all:
            hint = "run interloq extend and interloq rate, then score the rated samples"
            raise InputError(f"{name_of(pipeline)} needs all rated samples at once and cannot be sharded", hint=hint)
    check_processes(metrics, shards, limits)


def _join_facts(facts: Mapping[str, object]) -> str:
    return ",".join(f"{name}={value}" for name, value in facts.items())


def _read_records(path: str | Path, reading: ReadOptions) -> tuple[Iterable[Sample], list[Dialogue]]:
    """Return the samples of a file, and its dialogues if it has any."""
    kind = "dialogues" if detect_kind(path) == "dialogues" else "samples"
    records = reading.read(path, kind=kind)
    if kind == "samples":
        return records, []
    dialogues = list(records)
    return utterances(dialogues), dialogues


def _units(
    replies: Iterable[Sample], dialogues: Sequence[Dialogue], metrics: Sequence[Metric], without: Sequence[str]
) -> dict[bool, Iterable[Sample]]:
    """Return what metrics of replies (False) and of whole dialogues (True) score; equal if there are only samples.

    Samples are listed only if something may read them twice; otherwise they are read as a stream.
    """
    if find_pipelines(metrics) or any(metric.of == "dialogue" for metric in metrics):
        replies = list(replies)
    if dialogues:
        return {False: replies, True: SampleFilter(without=without).samples(whole_dialogues(dialogues))}
    return {False: replies, True: replies}


def _sign_results(
    chosen: Sequence[Chosen], evaluated: Sequence[Mapping[str, Result]], facts: Mapping[str, str]
) -> list[dict[str, Result]]:
    """Return results under the metrics' names, with the selection of samples in their signatures."""
    results = []
    for choice, by_system in zip(chosen, evaluated, strict=True):
        signed = {}
        for system, result in by_system.items():
            signature = result.signature.with_parts(facts)
            signed[system] = replace(result, signature=signature, metric=choice.name)
        results.append(signed)
    return results


def _choose_default(
    samples: Iterable[Sample], metrics: Sequence[str | MetricLike], path: str
) -> tuple[Iterable[Sample], Sequence[str | MetricLike], dict[str, tuple[str, ...]]]:
    """Return the samples and metrics; without metrics, the ones that the samples allow, with advice for `Scored`."""
    if metrics:
        return samples, metrics, {}
    listed = list(samples)
    defaults = default_metrics(listed)
    single = next(metric for metric in defaults.metrics if not about_sets(metric))
    advice = {"left_out": defaults.left_out, "next_steps": tuple(next_steps(path, listed, single))}
    return listed, defaults.metrics, advice


@dataclass(frozen=True, slots=True)
class _WeakReferences:
    """Why samples with weak references are left unscored, with parts of the signature and notes."""

    reasons: ScoreFilter | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[Note] = ()


@dataclass(frozen=True)
class _WeakFilter:
    """Finds weak references, also in another process: the model is loaded where it is needed."""

    folder: str | Path
    minimum: float

    @cached_property
    def model(self) -> TrainedModel:
        from interloq.reliability.ready_fit import load_trained

        return load_trained(self.folder)

    def identify(self) -> str:
        return f"{self.model.signature()} {self.minimum:g}"

    def __call__(self, samples: Sequence[Sample]) -> list[str]:
        from interloq.reliability.weak_references import weak_references

        return weak_references(self.model, self.minimum)(samples)

    def __getstate__(self) -> dict[str, object]:
        return {"folder": self.folder, "minimum": self.minimum}


def _load_reliability(options: ScoreOptions, metrics: Sequence[Metric]) -> _WeakReferences:
    folder, minimum = options.reliability, options.min_reliability
    if folder is None or minimum is None:
        return _WeakReferences()
    from interloq.reliability.reliability_options import check_minimum

    check_minimum(minimum)
    weak = _WeakFilter(folder, minimum)
    model = weak.model
    for metric in metrics:
        model.check_metric(metric)
    facts = {"reliability": model.signature(), "min-reliability": f"{minimum:g}"}
    notes = []
    if warning := model.warning():
        notes.append(Note("reliability", f"reliability: {warning}", 0, 0))
    return _WeakReferences(weak, facts, notes)


def _origin(path: str | Path) -> dict[str, Any]:
    """Return header fields about the partner set, which scores take over from samples of dialogues."""
    if str(path) == "-":
        return {}
    try:
        return select_carried_facts(header(path))
    except InputError:  # a bad first line, already reported by the reader
        return {}
