# SPDX-License-Identifier: Apache-2.0
"""Refuse references that were passed transposed.

Some tools expect one list per *sample*, others one list per *reference set* over all samples. If they are mixed up,
every reply is compared with replies to other contexts, or with every reference, and the score is silently wrong, often
perfect. Transposed records are possible only if no sample has fewer references than there are samples: then reply i
matches the i-th entry of the other lists better than its own list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from interloq.errors import InputError
from interloq.records import Sample

CLEAR = 0.3  # difference in word overlap that counts as evidence; word overlap is an F1 in [0, 1]


class LayoutCheck:
    """Looks at a stream of samples; keeps them only while a transposed layout is still possible."""

    def __init__(self) -> None:
        self._samples: list[Sample] | None = []

    def add(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            if self._samples is None:
                return
            self._samples.append(sample)
            widths = {len(s.references) for s in (self._samples[0], sample)}
            if len(widths) > 1 or len(self._samples) > widths.pop():
                self._samples = None

    def finish(self) -> None:
        if self._samples and len(self._samples) > 1 and _transposed(self._samples):
            n, m = len(self._samples), len(self._samples[0].references)
            raise InputError(
                f"references look transposed: {n} samples with {m} references each, "
                "and each reply matches the references at its own position in the other samples",
                hint="give every sample the list of references to its own context",
            )


def _transposed(samples: Sequence[Sample]) -> bool:
    if len({sample.references for sample in samples}) == 1:
        whole = len(samples) == len(samples[0].references)
        if whole and len({sample.context for sample in samples}) == len(samples):
            return True
    evidence = [_column_minus_row(samples, i) for i in range(len(samples))]
    return sum(e > CLEAR for e in evidence) >= 2 and not any(e < -CLEAR for e in evidence)


def _column_minus_row(samples: Sequence[Sample], i: int) -> float:
    column = [s.references[i].text for k, s in enumerate(samples) if k != i]
    row = [r.text for j, r in enumerate(samples[i].references) if j != i]
    response = samples[i].response
    return max(_overlap(response, text) for text in column) - max(_overlap(response, text) for text in row)


def _overlap(first: str, second: str) -> float:
    a, b = set(first.lower().split()), set(second.lower().split())
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0
