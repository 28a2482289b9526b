# SPDX-License-Identifier: Apache-2.0
"""Add weights to the references of a file of samples; an interrupted run can be resumed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, lines_ahead, silent
from interloq.data.records.jsonl import Rejected, header, header_after, read, write_then_head
from interloq.errors import InputError
from interloq.rate.rater import BATCH, Rater, check_best, select
from interloq.rate.spool import Spool, rate_into, spooled
from interloq.rate.summary import parrot_warning, summary, warnings_of
from interloq.records import Sample
from interloq.registry import create
from interloq.signature import LIBRARIES, Signature, file_fingerprint


def rate_file(
    samples: str | Path,
    output: str | Path,
    *,
    rater: str | Rater,
    best: int | None = None,
    weigh: bool = True,
    batch: int = BATCH,
    force: bool = False,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the samples with a rater's weights; return signature, counts, and what was resumed and replaced.

    Signature and counts are also in the header of the output, after those of earlier raters. Unless a file is a pipe
    (`-`), rated samples are kept in `OUTPUT.part` batch by batch, and the same call resumes after the last of them;
    `force` discards the part of another job. `best` and `weigh` choose the references to keep, with or without their
    weights (see `rate.selection.select`); counts are over all rated references. Bad lines and `columns` are handled as
    in `interloq.read`.
    """
    refuse_overwriting([output], [samples])
    check_best(best)
    made: Rater = create(rater, kind="rater") if isinstance(rater, str) else rater
    before = {}
    if str(samples) != "-":
        before = header(samples)
    signature = made.signature()
    job = _job(samples, signature, columns or {})
    replaced = _Replaced()
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder, "rated.jsonl") if "-" in (str(samples), str(output)) else Path(f"{output}.part")
        with spooled(part, job, afresh=force) as spool:
            with progress("rating", lines_ahead(samples, progress)) as step:
                given = replaced.watch(read(samples, strict=strict, on_reject=on_reject, columns=columns))
                rate_into(spool, given, made, batch=batch, progress=step)
            facts: dict[str, Any] = {"signature": signature, "counts": _counts(spool, made)}
            if best is None and weigh:
                spool.copy_to(output, **header_after(before, "rated", facts))
            else:
                facts = _write_selected(spool, output, before, facts, {"best": best, "weigh": weigh})
    warnings = [*warnings_of(made), *filter(None, [parrot_warning(facts["counts"]["sources"])])]
    return {**facts, "resumed": spool.done, "replaced": replaced.facts(before), "warnings": warnings}


def _write_selected(
    spool: Spool, output: str | Path, before: Mapping[str, Any], facts: Mapping[str, Any], choice: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the rated samples with the chosen references; return the facts, with the choice and its count."""
    kept = 0

    def selected() -> Iterator[Sample]:
        nonlocal kept
        for sample in spool.samples():
            chosen = select(sample, **choice)
            kept += len(chosen.references)
            yield chosen

    def found() -> dict[str, Any]:
        return {**facts, "signature": facts["signature"].with_parts(choice), "kept": kept}

    write_then_head(output, selected(), lambda: header_after(before, "rated", found()), kind="samples")
    return found()


def _counts(spool: Spool, rater: Rater) -> dict[str, Any]:
    try:
        return summary(spool.samples(), rater)
    except InputError:  # the ratings are of other references, so the rated samples are useless
        spool.forget()
        raise


def _job(samples: str | Path, signature: Signature, columns: Mapping[str, str]) -> dict[str, str]:
    """Identifies the job in its part file: a run resumes only the same job."""
    source = "-" if str(samples) == "-" else file_fingerprint(Path(samples))
    rater = str(signature.without(*LIBRARIES))  # other releases of these may resume; earlier versions recorded none
    job = {"rater": rater, "samples": source}
    if columns:
        job["map"] = ",".join(f"{field}={name}" for field, name in columns.items())
    return job


class _Replaced:
    """Weights of the input that the output replaces."""

    def __init__(self) -> None:
        self.weights = 0

    def watch(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        for sample in samples:
            self.weights += sum(reference.weight != 1 for reference in sample.references)
            yield sample

    def facts(self, before: Mapping[str, Any]) -> dict[str, Any]:
        signature = ""
        if before.get("rated"):
            signature = before["rated"][-1]["signature"]
        return {"weights": self.weights, "signature": signature}
