# SPDX-License-Identifier: Apache-2.0
"""Checks that score files are joined with the samples or dialogues that were scored: ids alone do not tell.

Scores carry a fingerprint of the reply and context that they judge. Samples may have gained ratings or references
since, and may be only a part of those that were scored. Files of earlier versions have one fingerprint of all samples:
if it differs, a note says that the samples could not be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from interloq.data.records.sample_fingerprint import SampleFingerprint, read_print, sample_print
from interloq.errors import InputError
from interloq.records import Dialogue, Key, Sample, SampleKeys, Score, format_key
from interloq.score.signatures import read_known_signatures

AGAIN = "give the samples that were scored, or score these: interloq score SAMPLES -m METRIC -o SCORES"


class ScoredSamples:
    """Compares scores with the samples or dialogues they are joined with, which must be added first."""

    def __init__(self, samples: Iterable[Sample] = (), *, dialogues: Iterable[Dialogue] = ()) -> None:
        self._prints: dict[Key, str] = {}
        self._samples, self._whole = 0, SampleFingerprint()
        self._keys: SampleKeys | None = None
        self._unchecked: list[str] = []
        for _ in self.watch(samples):
            pass
        for dialogue in dialogues:  # its turns, as `interloq.play.samples` makes samples of them, and the whole of it
            for i, turn in enumerate(dialogue.turns):
                sample = Sample(f"{dialogue.id}#{i}", dialogue.turns[:i], turn.text)
                self._prints[sample.key] = str(sample_print(sample))
            self._prints[dialogue.id, ""] = str(sample_print(Sample(dialogue.id, dialogue.turns)))

    def watch(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Add samples and pass them on."""
        for sample in samples:
            self._prints[sample.key] = str(sample_print(sample))
            self._whole.add([sample])
            self._samples += 1
            yield sample

    def check(self, scores: Iterable[Score], path: str | Path) -> Iterator[Score]:
        """Pass on the scores of a file; refuse it if a score belongs to another reply or context."""
        has_prints = False
        for score in scores:
            has_prints = has_prints or bool(score.sample)
            if score.sample:
                self._check(score, path)
            yield score
        if self._samples and not has_prints:
            stored = {signature.parts.get("samples", "") for signature in read_known_signatures(path).values()} - {""}
            if stored and str(self._whole) not in stored:
                self._unchecked.append(str(path))

    def check_all(
        self, paths: Sequence[str | Path], read: Callable[[Sequence[str | Path]], Iterable[Score]]
    ) -> Iterator[Score]:
        """Read files of scores, checking each."""
        for path in paths:
            yield from self.check(read([path]), path)

    def notes(self) -> list[str]:
        """Return notes on files that could not be checked, after their scores were passed on."""
        what = "an earlier version wrote it, so it cannot be checked whether its scores are of these samples"
        return [f"{path}: {what}; if in doubt, score them again" for path in self._unchecked]

    def _check(self, score: Score, path: str | Path) -> None:
        key = self._find(score)
        if key is None or score.sample == self._prints[key]:
            return
        scored, joined = read_print(score.sample), read_print(self._prints[key])
        for part in ("reply", "context"):
            first, second = getattr(scored, part), getattr(joined, part)
            if first and second and first != second:
                what = f"the {part} of {format_key(score.key)} is not the one that was scored"
                raise InputError(f"its scores are of other samples: {what}", hint=AGAIN, where=str(path))

    def _find(self, score: Score) -> Key | None:
        for key in (score.key, (score.id, "")):  # turns of dialogues are found by their id
            if key in self._prints:
                return key
        self._keys = self._keys or SampleKeys(self._prints)
        return self._keys.find(score.id, score.system)
