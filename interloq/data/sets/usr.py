# SPDX-License-Identifier: Apache-2.0
"""USR (Mehri and Eskenazi, 2020): Topical-Chat and PersonaChat replies, six qualities, three named annotators.

The original reply is a system like the others (`Original Ground Truth`) and the only reference of every reply to its
context. The `fact` shown to the annotators has no field in a sample and is omitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from interloq.data.files.archives import read_files
from interloq.data.sets.items import DatasetItem, as_number, items, slug
from interloq.errors import InputError, nearest
from interloq.records import Rating, Reference, Sample

GROUND_TRUTH = "Original Ground Truth"
# names on the authors' site and in the collection by Yeh et al., and the latter with its typo corrected
NAMES = {
    "topical": ("usr_topical_chat.json", "tc_usr_data.json"),
    "persona": ("usr_percona_chat.json", "usr_persona_chat.json", "pc_usr_data.json"),
}
FILES = tuple(chain.from_iterable(NAMES.values()))


def samples(path: str | Path, *, subset: str = "") -> Iterator[Sample]:
    """Yield every rated reply; `subset` is `topical` or `persona`, or empty for both."""
    if subset and subset not in NAMES:
        raise InputError(f"USR has no subset {subset!r}{nearest(subset, NAMES)}")
    for file in read_files(path, NAMES[subset] if subset else FILES):
        part = next((part for part, names in NAMES.items() if file.name in names), subset)
        if not part:
            raise InputError("which subset is this?", hint="add topical or persona as the subset", where=file.where)
        for index, item in enumerate(items(file)):
            yield from _replies(item, f"usr/{part}_chat/{index}")


def _replies(item: DatasetItem, id: str) -> Iterator[Sample]:
    context = [line.strip() for line in item.text("context").split("\n") if line.strip()]
    raters = list(map(str, item.sequence("annotators")))
    replies = item.objects("responses")
    references = [Reference(reply.text("response")) for reply in replies if reply.text("model") == GROUND_TRUTH]
    if len(references) != 1:
        raise item.error(f"expected one reply of {GROUND_TRUTH!r}, found {len(references)}")
    for reply in replies:
        system = reply.text("model")
        ratings = []
        for aspect in reply.value:
            if aspect in ("response", "model"):
                continue
            values = reply.sequence(aspect)
            if len(values) != len(raters):
                raise reply.error(f"{aspect!r} has {len(values)} scores for {len(raters)} annotators")
            for rater, value in zip(raters, values, strict=True):
                ratings.append(Rating(as_number(value, aspect, reply.where), rater, aspect.lower()))
        yield Sample(f"{id}/{slug(system)}", context, reply.text("response"), references, system, ratings)
