# SPDX-License-Identifier: Apache-2.0
"""Selection of samples and references to score: exclude systems, and drop copies of the reply from its references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from interloq.errors import InputError, nearest
from interloq.records import NO_SYSTEM, Key, Note, Sample, Score
from interloq.retrieve.leaks import without_own
from interloq.score.checks import note_of


class SampleFilter:
    """Filters samples; counts what it did by system and reports it in notes.

    `without` lists systems to exclude; `(none)` are the samples without a system.
    """

    def __init__(self, *, drop_own_replies: bool = False, without: Sequence[str] = ()) -> None:
        self.drop_own_replies, self.without = drop_own_replies, tuple(dict.fromkeys(without))
        self.excluded: list[Key] = []
        self._systems: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._emptied: Counter[str] = Counter()

    def samples(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield the selected samples, as they are to be scored."""
        for sample in samples:
            self._systems[sample.system] += 1
            if (sample.system or NO_SYSTEM) in self.without:
                self.excluded.append(sample.key)
            elif self.drop_own_replies:
                changed = without_own(sample)
                if len(changed.references) < len(sample.references):
                    self._dropped[sample.system] += 1
                    self._emptied[sample.system] += not changed.references
                yield changed
            else:
                yield sample
        known = {system or NO_SYSTEM for system in self._systems}
        for name in self.without:
            if name not in known:
                raise InputError(f"no sample is of system {name!r}{nearest(name, known)}")

    def excludes(self, score: Score) -> bool:
        """Return whether a score that matches no selected sample belongs to an excluded one."""
        if (score.system or NO_SYSTEM) in self.without:
            return True
        return not score.system and any(score.id == id for id, _ in self.excluded)

    def facts(self) -> dict[str, str]:
        """Return the parts of the signature that describe the selection."""
        facts = {}
        if self.drop_own_replies:
            facts["own-replies"] = "dropped"
        if self.without:
            facts["without"] = ",".join(sorted(self.without))
        return facts

    def notes(self) -> Iterator[Note]:
        left = Counter(system for _, system in self.excluded)
        if left:
            yield note_of("left out", left, self._systems, "were excluded as requested")
        if self._dropped:
            rest = f"; {self._emptied.total():,} have no other reference" if self._emptied.total() else ""
            statement = f"were among their own references and were dropped from them{rest}"
            yield note_of("own replies dropped", self._dropped, self._systems - left, statement)
