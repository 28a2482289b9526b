"""Tokenised samples on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.interlocutor.examples import ARRAYS, Examples, write_examples
from interloq.interlocutor.labelled import Labelled
from interloq.interlocutor.reader import SampleReader
from interloq.interlocutor.samples import judge_of
from interloq.learn.fit import Part
from interloq.models.subwords import Subwords
from tests.interlocutor.made_models import judged
from tests.made_relevance import tiny_encoder


def written(folder: Path, samples: list[Labelled]) -> Examples:
    subwords = Subwords(tiny_encoder(folder / "encoder"), longest=48)
    seen: list[int] = []
    write_examples(samples, folder, SampleReader(subwords, 48, 16, 1000, {}, {}), {"users": []}, seen.append)
    assert sum(seen) == len(samples)
    return Examples.load(folder)


def test_the_order_of_samples_does_not_matter(tmp_path: Path) -> None:
    samples = [Labelled(s, judge_of(s), float(i), i % 5 == 0) for i, s in enumerate(judged(20))]
    one, other = written(tmp_path / "one", samples), written(tmp_path / "other", samples[::-1])
    sizes: dict[Part, int] = {"train": 32, "dev": 8}
    for part, n in sizes.items():
        first, second = one.of(part), other.of(part)
        assert len(first) == n
        assert one.values[first].tolist() == other.values[second].tolist()
        assert all(np.array_equal(one.texts[2 * a], other.texts[2 * b]) for a, b in zip(first, second, strict=True))
    assert one.facts == {"users": [], "cut": {"replies": 0}}


def test_damaged_examples_are_named(tmp_path: Path) -> None:
    samples = [Labelled(s, "", 1.0, False) for s in judged(2)]
    written(tmp_path, samples)
    assert Examples.written(tmp_path)
    (tmp_path / ARRAYS).write_bytes(b"no")
    with pytest.raises(InputError, match="the saved files are damaged"):
        Examples.load(tmp_path)
