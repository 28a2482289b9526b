"""The seam of raters: samples in, the same samples with a weight on every reference out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from interloq.records import Sample
from interloq.signature import Signature

BATCH = 256  # samples that a rater is asked about at a time


class Rater(Protocol):
    """A frozen dataclass whose fields are its whole configuration."""

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples in their order; each depends on nothing but itself."""

    def signature(self) -> Signature:
        """Everything the weights depend on besides the samples."""
