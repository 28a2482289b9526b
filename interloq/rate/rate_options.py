# SPDX-License-Identifier: Apache-2.0
"""Options of `rate_file` and `interloq rate`; they import nothing that computes, so that the help is fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interloq.options import REQUIRED, Options, option

BATCH = 256  # samples rated at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class RateOptions(Options):
    """The rater, by its spec or as an object, and which references are kept."""

    rater: str | Any = option(
        REQUIRED, "the rater: gru(…), bert(…), by(METRIC) or human(…)", short="-r", metavar="SPEC"
    )
    best: int | None = option(None, "keep gold replies and the N other references with the largest weights", least=1)
    weigh: bool = option(True, "set the weight of every kept reference to 1", flag="--no-weights")
    batch: int = option(BATCH, "samples rated and stored at a time", least=1)
    force: bool = option(False, "discard an unfinished run with other settings")
