"""The NN-rater of υBERTScore (Tsuta et al., 2023), a transformer that `interloq train rater --encoder` trains on logs.

It reads utterance, gold reply and reference together. `question.py` says what it is asked, and what its fields mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from interloq.errors import MissingDependencyError
from interloq.rate.question import NetworkRater, written


@dataclass(frozen=True)
class Bert(NetworkRater):
    def network(self) -> Any:
        return _kept(*written(self.model))


@lru_cache(maxsize=2)
def _kept(folder: Path, written: int) -> Any:  # noqa: ARG001 - the time is part of the key
    try:
        from interloq.rate.bert_model import BertRaterModel
    except ImportError as error:
        raise MissingDependencyError("rater 'bert'", error.name or "transformers", "encoder") from error
    return BertRaterModel.load(folder)
