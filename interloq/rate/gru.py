"""The NN-rater of υBLEU (Tsuta et al., 2020 and 2023), a Bi-GRU that `interloq train rater` trains on logs.

`question.py` says what it is asked, and what its fields mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from interloq.errors import MissingDependencyError
from interloq.rate.question import NetworkRater, written


@dataclass(frozen=True)
class Gru(NetworkRater):
    def network(self) -> Any:
        return _kept(*written(self.model))


@lru_cache(maxsize=2)
def _kept(folder: Path, written: int) -> Any:  # noqa: ARG001 - the time is part of the key
    try:
        from interloq.rate.model import RaterModel
    except ImportError as error:
        raise MissingDependencyError("rater 'gru'", error.name or "torch", "rater") from error
    return RaterModel.load(folder)
