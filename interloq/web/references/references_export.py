# SPDX-License-Identifier: Apache-2.0
"""References that people added, as `interloq reliability annotate` writes them.

All samples of the file are written, in its order. If several people annotated a query, their references are added one
person after another, each text once. The header lists who added which texts, with annotators' ids hashed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from interloq.data.pseudonyms import Pseudonyms
from interloq.data.records.jsonl import header_after, write
from interloq.records import Reference, Sample
from interloq.web.access.people import raters
from interloq.web.references.reference_steps import Work, made_work
from interloq.web.references.references_task import references_options, stored_sample
from interloq.web.schema import assignment, item
from interloq.web.studies.tasks import Stored


@dataclass(frozen=True)
class Annotated:
    """An item with the work of everybody who has or had it, and the references that they added together."""

    hidden: Mapping[str, Any]
    works: tuple[Work, ...]
    finished: int  # people who finished it

    @cached_property
    def added(self) -> tuple[Reference, ...]:
        """Distinct references, one person after another."""
        by_text: dict[str, Reference] = {}
        for work in self.works:
            for reference in work.state.added:
                by_text.setdefault(reference.text.strip(), reference)
        return tuple(by_text.values())


def export_references(connection: Connection, stored: Stored, output: str | Path, name: Pseudonyms) -> dict[str, Any]:
    """Write the samples with all references added so far; returns the kind and the number of records."""
    items = annotated_items(connection, stored)
    samples = annotated_samples(items)
    facts = {
        "signature": stored.source["signature"],
        "counts": _counts(items, stored, len(samples)),
        "task": stored.settings.name,
        "annotators": _texts_by_person(items, raters(connection), name),
    }
    written = write(output, samples, kind="samples", **header_after(stored.source["header"], "annotated", facts))
    return {"kind": "samples", "records": written}


def annotated_items(connection: Connection, stored: Stored) -> list[Annotated]:
    """The items of a task with all steps so far, in the order of the file."""
    options = references_options(stored.settings)
    rows: dict[int, list[Any]] = {}
    wanted = select(assignment, item.c.hidden).join(item, item.c.id == assignment.c.item_id)
    for row in connection.execute(wanted.where(assignment.c.task_id == stored.id).order_by(assignment.c.id)):
        rows.setdefault(row.item_id, []).append(row)
    all_items = select(item.c.id, item.c.hidden).where(item.c.task_id == stored.id).order_by(item.c.place)
    items = []
    for one_item in connection.execute(all_items).all():
        assignments = rows.get(one_item.id, [])
        works = tuple(made_work(connection, options, row) for row in assignments)
        finished = sum(row.finished is not None for row in assignments)
        items.append(Annotated(one_item.hidden, works, finished))
    return items


def annotated_samples(items: Iterable[Annotated]) -> list[Sample]:
    """Return all samples of the file in its order, with the references added so far."""
    samples: dict[int, Sample] = {}
    for annotated in items:
        for unit in annotated.hidden["unchanged"]:
            samples[unit["place"]] = stored_sample(unit)
        for unit in annotated.hidden["units"]:
            sample = stored_sample(unit)
            samples[unit["place"]] = replace(sample, references=(*sample.references, *annotated.added))
    return [samples[place] for place in sorted(samples)]


def _counts(items: Sequence[Annotated], stored: Stored, samples: int) -> dict[str, int]:
    """Count as in the terminal: queries without a decision to make are finished."""
    counts = Counter(samples=samples, queries=int(stored.source["queries"]), finished=0, steps=0, added=0, edited=0)
    counts["finished"] = counts["queries"]
    for annotated in items:
        counts["finished"] -= annotated.finished < stored.settings.per_item
        counts["steps"] += sum(len(work.steps) for work in annotated.works)
        counts["added"] += len(annotated.added)
        counts["edited"] += sum(reference.source == "human" for reference in annotated.added)
    return dict(counts)


def _texts_by_person(
    items: Iterable[Annotated], known: Mapping[int, str], name: Pseudonyms
) -> dict[str, dict[str, list[str]]]:
    """Texts that each person added, by query."""
    by_person: dict[str, dict[str, list[str]]] = {}
    for annotated in items:
        for work in annotated.works:
            if work.state.added:
                texts = by_person.setdefault(name(known[work.person]), {})
                texts[work.query] = [reference.text for reference in work.state.added]
    return by_person
