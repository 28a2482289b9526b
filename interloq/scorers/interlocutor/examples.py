# SPDX-License-Identifier: Apache-2.0
"""Tokenised samples on disk, from which a model learns; the order of the files does not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.files.durable import atomic_path
from interloq.data.files.opening import read_json, reading_saved, write_json
from interloq.data.text.token_texts import Texts
from interloq.learn.fit import Part
from interloq.scorers.interlocutor.labelled import LabelledSample
from interloq.scorers.interlocutor.reader import SampleReader
from interloq.signature import fingerprint

Ints = NDArray[np.int64]
BATCH = 1024  # samples tokenised at a time
TOKENS, ARRAYS, FACTS = "tokens.i32", "examples.npz", "examples.json"


@dataclass(frozen=True)
class InterlocutorExamples:
    """Texts 2i and 2i + 1 are the context and the reply of example i; `values` are what is predicted."""

    texts: Texts
    values: NDArray[np.float64]
    dev: NDArray[np.bool_]
    order: Ints  # the examples sorted by a hash of their samples
    facts: dict[str, Any]

    @staticmethod
    def written(folder: Path) -> bool:
        """Whether a folder is complete: the facts are written last."""
        return (folder / FACTS).exists()

    @classmethod
    def load(cls, folder: Path) -> InterlocutorExamples:
        """Load the examples in a folder."""
        with reading_saved(folder), np.load(folder / ARRAYS, allow_pickle=False) as stored:
            tokens = np.asarray(np.memmap(folder / TOKENS, dtype=np.int32, mode="r"))
            arrays = {name: stored[name] for name in ("values", "dev", "order")}
            return cls(Texts(tokens, stored["ends"]), facts=read_json(folder / FACTS), **arrays)

    def of(self, part: Part) -> Ints:
        """The examples of a part, in a fixed order."""
        return np.asarray(self.order[self.dev[self.order] == (part == "dev")])


def write_examples(
    samples: Iterable[LabelledSample],
    folder: Path,
    reader: SampleReader,
    facts: dict[str, Any],
    step: Callable[[int], None],
) -> None:
    """Tokenise samples in batches; the facts, with the number of texts that were cut, are written last."""
    folder.mkdir(parents=True, exist_ok=True)
    lengths, values, dev, hashes = list[int](), list[float](), list[bool](), list[str]()
    with (folder / TOKENS).open("wb") as file:
        for batch in batched(samples, BATCH):
            for row in reader.read([each.sample for each in batch], [each.judge for each in batch]):
                for text in row:
                    text.tofile(file)
                    lengths.append(len(text))
            for each in batch:
                values.append(each.value)
                dev.append(each.dev)
                hashes.append(_hash(each))
            step(len(batch))
    arrays: dict[str, Any] = {
        "ends": np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        "values": np.array(values),
        "dev": np.array(dev),
        "order": np.argsort(np.array(hashes), kind="stable"),
    }
    with atomic_path(folder / ARRAYS) as path, path.open("wb") as stored:
        np.savez(stored, **arrays)
    write_json(folder / FACTS, {**facts, "cut": dict(reader.cut)})


def _hash(labelled: LabelledSample) -> str:
    sample = labelled.sample
    return fingerprint(sample.id, sample.system, sample.response, *(turn.text for turn in sample.context))
