"""Tokenised samples on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.learn.fit import Part
from interloq.models.subwords import Subwords
from interloq.scorers.interlocutor.examples import ARRAYS, InterlocutorExamples, write_examples
from interloq.scorers.interlocutor.labelled import LabelledSample
from interloq.scorers.interlocutor.reader import SampleReader
from interloq.scorers.interlocutor.samples import judge_of
from tests.made_relevance import tiny_encoder
from tests.scorers.interlocutor.made_models import judged


def written(folder: Path, samples: list[LabelledSample]) -> InterlocutorExamples:
    subwords = Subwords(tiny_encoder(folder / "encoder"), longest=48)
    seen: list[int] = []
    write_examples(samples, folder, SampleReader(subwords, 48, 16, 1000, {}, {}), {"users": []}, seen.append)
    assert sum(seen) == len(samples)
    return InterlocutorExamples.load(folder)


def test_the_order_of_samples_does_not_matter(tmp_path: Path) -> None:
    samples = [LabelledSample(s, judge_of(s), float(i), i % 5 == 0) for i, s in enumerate(judged(20))]
    one, other = written(tmp_path / "one", samples), written(tmp_path / "other", samples[::-1])
    sizes: dict[Part, int] = {"train": 32, "dev": 8}
    for part, n in sizes.items():
        first, second = one.of(part), other.of(part)
        assert len(first) == n
        assert one.values[first].tolist() == other.values[second].tolist()
        assert all(np.array_equal(one.texts[2 * a], other.texts[2 * b]) for a, b in zip(first, second, strict=True))
    assert one.facts == {"users": [], "cut": {"replies": 0}}


def test_damaged_examples_are_named(tmp_path: Path) -> None:
    samples = [LabelledSample(s, "", 1.0, False) for s in judged(2)]
    written(tmp_path, samples)
    assert InterlocutorExamples.written(tmp_path)
    (tmp_path / ARRAYS).write_bytes(b"no")
    with pytest.raises(InputError, match="the saved files are damaged"):
        InterlocutorExamples.load(tmp_path)
