"""Where references come from: a pool of pairs from all English logs, the rated sets that have references, SCARCE's.

The pool excludes every pair that shares an utterance or a gold reply with any test sample, and `extend` guards each
sample again. Clitics are joined in pool and samples, because the data sets split them in three ways. MANNER names the
logs of a rated set's own manner: of the same collection, or from the same sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

from rated_sets import RatedSet, rated_sets
from ready_logs import ENGLISH, training_logs, write_samples
from retrieval import K, clean, cleaned, drawn, singles

from interloq import InputError, Reference, Sample, load, write
from interloq.data.files.archives import read_files, text
from interloq.data.records.jsonl import read
from interloq.data.records.read_options import ReadOptions
from interloq.metrics.combined.rated_references import run_cached
from interloq.records import Pair
from interloq.registry import create
from interloq.retrieve.extend import extend
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.training_log import TrainingLog
from interloq.signature import file_fingerprint, fingerprint

GUPTA = "multi-reference DailyDialog"
_PERSONAS = ("personachat", "synthetic_persona_chat")
_DAILY = ("dailydialog", "dialogsum", "dream", "mutual")
MANNER: Mapping[str, Sequence[str]] = {
    "GRADE ConvAI2": _PERSONAS,
    "GRADE DailyDialog": _DAILY,
    "GRADE EmpatheticDialogues": ("empathetic",),
    "USR PersonaChat": _PERSONAS,
    "USR Topical-Chat": ("topical_chat",),
    GUPTA: _DAILY,
}


def pool(data: Path, work: Path) -> Path:
    """The pairs of all English logs, written once to the work folder."""
    path = work / "pairs.jsonl"
    if not path.exists():
        logs = training_logs(data, ENGLISH, work / "logs")
        log = TrainingLog(
            logs.files, [str(write_samples(data, work / "samples.jsonl"))], reading=ReadOptions(strict=True)
        )
        write(path, _pairs(log), kind="pairs")
    return path


def _pairs(log: TrainingLog) -> Iterator[Pair]:
    """With the log's name in each id, because two logs may count from 1."""
    for file, found in zip(log.files, log.logs(), strict=True):
        name = Path(file).name.split(".")[0]
        for pair in found:
            yield replace(pair, id=f"{name}/{pair.id}", utterance=clean(pair.utterance), response=clean(pair.response))


def pairs_by_log(pairs: Path) -> dict[str, Path]:
    """The pairs of each log of the pool, written once to folders of their own."""
    found = {}
    for log, of_log in groupby(read(pairs, kind="pairs"), key=_log_of):
        found[log] = _place_of(pairs, [log])
        if not found[log].exists():
            found[log].parent.mkdir(parents=True, exist_ok=True)
            write(found[log], of_log, kind="pairs")
    return found


def pairs_of(pairs: Path, logs: Sequence[str]) -> Path:
    """The pairs of some logs of the pool, written once to a folder of their own."""
    path = _place_of(pairs, logs)
    if not path.exists():
        chosen = (pair for pair in read(pairs, kind="pairs") if _log_of(pair) in logs)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, chosen, kind="pairs")
    return path


def _place_of(pairs: Path, logs: Sequence[str]) -> Path:
    return pairs.parent / "logs_of" / "-".join(logs) / "pairs.jsonl"


def _log_of(pair: Pair) -> str:
    return pair.id.partition("/")[0]


@cache  # to look whether a large file is already in its index takes as long as reading it
def pool_index(pairs: Path, retriever: str = "bm25") -> Path:
    """An index of the pool, built once for each retriever."""
    folder = pairs.parent / (retriever if retriever.isalnum() else f"index-{fingerprint(retriever)}")
    create_index(folder, retriever).add(read(pairs, kind="pairs"), source=file_fingerprint(pairs))
    return folder


def sets_with_references(data: Path) -> dict[str, RatedSet]:
    """The rated sets whose samples have gold replies: one each, Gupta's four."""
    found = {name: replace(own, samples=[cleaned(s) for s in own.samples]) for name, own in rated_sets(data).items()}
    return {name: own for name, own in found.items() if all(sample.references for sample in own.samples)}


def sets_with_one_reference(data: Path) -> dict[str, RatedSet]:
    """The same sets with the original reply as the only reference, as in the papers."""
    one = {name: replace(own, samples=singles(own.samples)) for name, own in sets_with_references(data).items()}
    return {name: one[name] for name in MANNER if name in one}


def rated_references(samples: Sequence[Sample], index: Path, rater: str) -> dict[bool, list[Sample]]:
    """Samples with 15 retrieved references and weights, as `vbleu` finds them, without and with the parrot (key).

    References that both have are rated once, which halves the time.
    """
    extended = {parrot: list(extend(samples, open_index(index), k=K, parrot=parrot)) for parrot in (False, True)}
    pairs = list(zip(*extended.values(), strict=True))
    joined = [replace(a, references=tuple(dict.fromkeys((*a.references, *b.references)))) for a, b in pairs]
    made = create(rater, kind="rater")
    rated = run_cached(joined, lambda some: list(made.rate(some)), signature=str(made.signature()))
    weighted: dict[bool, list[Sample]] = {False: [], True: []}
    for i, (before, after) in enumerate(zip(joined, rated, strict=True)):
        rating_of = dict(zip(before.references, after.references, strict=True))
        for parrot, of_parrot in extended.items():
            sample = of_parrot[i]
            references = tuple(rating_of[reference] for reference in sample.references)
            weighted[parrot].append(replace(sample, references=references))
    return weighted


def with_random(sets: Mapping[str, RatedSet], pairs: Path) -> dict[str, Sequence[Sample]]:
    """Samples with as many random replies from the pool as are retrieved."""
    every = load(pairs, kind="pairs")
    return {name: drawn(own.samples, every) for name, own in sets.items()}


def with_scarce(data: Path, samples: Sequence[Sample]) -> list[Sample]:
    """Gupta's replies with the references of SCARCE (Gangal et al., 2021) besides the four by people."""
    path = next((p for p in (data / "scarce", data / "scarce.tar.gz") if p.exists()), None)
    if path is None:
        raise InputError(f"no scarce in {str(data)!r}", hint="put scarce.tar.gz there")
    (file,) = read_files(path, ("scarce.multiref.json",))
    items = json.loads(text(file))
    found = {(item["context_id"], item["model"]): item["all_references"] for item in items}
    return [replace(s, references=_joined(s, found[s.id.split("/")[1], s.system])) for s in samples]


def _joined(sample: Sample, texts: Sequence[str]) -> tuple[Reference, ...]:
    own = {reference.text for reference in sample.references}
    added = dict.fromkeys(text for text in map(clean, texts) if text.strip() and text not in own)
    return (*sample.references, *(Reference(text, source="retrieved:scarce") for text in added))
