# SPDX-License-Identifier: Apache-2.0
"""Tasks of kind references-rating: people rate references, as for ΔBLEU (Galley et al., 2015).

A page shows a context and the distinct references of all its samples, gold replies among them, in random order and
without their sources. Each text is rated once, no matter how many samples have it, and its rating is exported for every
place where it occurs: `<sample id>/<index of the reference, from 0>`, as the rater `human` reads it. The system of the
sample is added only where samples with the same id have different references.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from interloq.data.records.jsonl import to_json
from interloq.errors import InputError, count
from interloq.records import Key, Reference, Sample
from interloq.retrieve.leaks import ADDED
from interloq.signature import fingerprint
from interloq.web.references.references_task import parse_stored_sample
from interloq.web.studies.items import MOST_UNITS, StudyItem, blind

KIND = "references-rating"
PER_ITEM = 4  # people, as in Tsuta et al. (2020)


def make_rating_items(samples: Sequence[Sample], *, together: bool = True) -> list[StudyItem]:
    """Return one item per context, or with `together=False` one item per reference.

    Samples without references have no item of their own; they are stored with another one for the export.
    """
    shared = _find_shared_places(samples)
    groups: dict[tuple[str, ...], list[tuple[int, Sample]]] = {}
    bare = []
    for place, sample in enumerate(samples):
        if any(reference.text.strip() for reference in sample.references):
            context = tuple(turn.text for turn in sample.context) or ("", sample.id)  # the unknown ones differ
            groups.setdefault(context, []).append((place, sample))
        else:
            bare.append(_store(place, sample))
    if not groups:
        raise InputError("no sample has references", hint="add them: interloq extend SAMPLES --index INDEX -o FILE")
    items: list[StudyItem] = []
    for context, group in groups.items():
        items += _make_items(fingerprint("context", *context), group, shared, together=together)
    items[0].hidden["samples"].extend(bare)
    return items


def _find_shared_places(samples: Iterable[Sample]) -> Mapping[str, bool]:
    """Return, for each `<sample id>/<index>`, whether all samples with this id have the same text there."""
    texts: dict[str, str] = {}
    shared: dict[str, bool] = {}
    for sample in samples:
        for place, reference in _places(sample):
            text = texts.setdefault(place, reference.text)
            shared[place] = shared.get(place, True) and text == reference.text
    return shared


def _places(sample: Sample) -> Iterable[tuple[str, Reference]]:
    for i, reference in enumerate(sample.references):
        yield f"{sample.id}/{i}", reference


def _make_items(
    answer_key: str, group: Sequence[tuple[int, Sample]], shared: Mapping[str, bool], *, together: bool
) -> Iterable[StudyItem]:
    """Yield the items of one context; the first contains the samples to export."""
    units: dict[str, dict[str, Any]] = {}
    for _, sample in group:
        for place, reference in _places(sample):
            if text := reference.text.strip():
                new = {"id": place, "system": _group_source(reference), "record": {}, "text": text, "places": []}
                key = (place, "" if shared[place] else sample.system)
                places = units.setdefault(text, new)["places"]
                if key not in places:
                    places.append(key)
    first = group[0][1]
    if together and len(units) > MOST_UNITS:
        what = f"{count(len(units), 'reference')} of sample {first.id!r}: a page shows at most {MOST_UNITS}"
        raise InputError(what, hint="rate each reference on its own page (--alone), or extend with a smaller -k")
    pages = [list(units.values())] if together else [[unit] for unit in units.values()]
    stored = [_store(place, sample) for place, sample in group]
    for page in pages:
        shown = {"context": blind(first.context), "units": [{"text": unit["text"]} for unit in page]}
        hidden = {"kind": "samples", "units": page, "samples": stored}
        yield StudyItem(answer_key, shown, hidden)
        stored = []


def _group_source(reference: Reference) -> str:
    """Return a name under which administrators see references of this source together."""
    for source in ADDED:
        if reference.source.startswith(source):
            return source.rstrip(":")
    return reference.source or "gold"


def _store(place: int, sample: Sample) -> dict[str, Any]:
    return {"id": sample.id, "system": sample.system, "place": place, "record": to_json(sample)}


def list_rated_keys(unit: Mapping[str, Any]) -> list[Key]:
    """Return the item and the system of every reference that an answer is about."""
    return [(item, system) for item, system in unit["places"]]


def find_good_references(
    hidden_parts: Iterable[Mapping[str, Any]], values: Mapping[Key, Sequence[float]], above: float
) -> tuple[list[Sample], dict[str, int]]:
    """Return all samples with only the references whose mean rating is above a threshold, and counts.

    References that nobody has rated are dropped.
    """
    stored = sorted((unit for hidden in hidden_parts for unit in hidden["samples"]), key=lambda unit: unit["place"])
    counts = {"samples": len(stored), "kept": 0, "dropped": 0, "unrated": 0, "without_references": 0}
    samples = []
    for unit in stored:
        sample = parse_stored_sample(unit)
        good = []
        for place, reference in _places(sample):
            own = values.get((place, sample.system)) or values.get((place, ""))
            if not own:
                counts["unrated"] += 1
            elif fmean(own) > above:
                good.append(reference)
            else:
                counts["dropped"] += 1
        counts["kept"] += len(good)
        counts["without_references"] += not good
        samples.append(replace(sample, references=tuple(good)))
    return samples, counts
