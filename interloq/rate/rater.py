# SPDX-License-Identifier: Apache-2.0
"""Interface of raters: they take samples and return them with a weight on every reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from interloq.records import Sample
from interloq.signature import Signature

BATCH = 256  # samples rated at a time


class Rater(Protocol):
    """Rates references; a frozen dataclass whose fields are its whole configuration."""

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples with weights, in the same order; each result depends only on its sample."""

    def signature(self) -> Signature:
        """Everything the weights depend on besides the samples."""
