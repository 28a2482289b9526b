# SPDX-License-Identifier: Apache-2.0
"""Cosine of sentence vectors: averaged word vectors (`vectors`), or a sentence encoder (`encoder`).

Word vectors are used as in υBLEU's code: each is scaled to length 1, then they are averaged; unknown words have the
vector of `<unk>`. `encoder` names a folder with a transformer, or an installed package that contains one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from interloq.errors import MissingDependencyError, SpecError
from interloq.retrieve.retriever import Floats, Retriever, Target
from interloq.signature import NETWORK


@dataclass(frozen=True)
class Dense(Retriever, name="dense"):
    """Retrieval by the cosine of sentence vectors."""

    places = ("vectors", "encoder")
    vectors: Annotated[str, "a folder with word vectors; give this or `encoder`"] = ""
    encoder: Annotated[str, "a sentence encoder: a folder, an installed package, or `hub:org/name@revision`"] = ""
    target: Annotated[Target, "what is compared with the query: the utterances of pairs, or utterance and response"] = (
        "utterance"
    )
    alpha: Annotated[float, "for `target='both'`: sim_u · (alpha · sim_r + (1 − alpha) · epsilon)"] = 0.5
    epsilon: Annotated[float, "for `target='both'`: see `alpha`"] = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.vectors) == bool(self.encoder):
            raise SpecError("dense needs either vectors='FOLDER' (word vectors) or encoder='FOLDER or PACKAGE'")

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors; a text without a known word has a zero vector and is never found."""
        distinct = list(dict.fromkeys(texts))
        place = {text: i for i, text in enumerate(distinct)}
        rows = np.nan_to_num(self._model().sentences(distinct), nan=0.0)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(norms > 0, norms, 1)
        return np.asarray(rows[[place[text] for text in texts]], dtype=np.float32)

    @property
    def libraries(self) -> tuple[str, ...]:
        return NETWORK if self.encoder else ()

    def built_with(self) -> str:
        return str(self._model().signature())

    def _model(self) -> Any:
        if not self.vectors:
            return _encoder(self.encoder)
        from interloq.vectors.word_vectors import open_vectors

        return open_vectors(self.vectors)


@lru_cache(maxsize=2)
def _encoder(name: str) -> Any:
    if name.startswith("fake"):
        from interloq.models.fake import FakeEncoder

        return FakeEncoder(int(name.removeprefix("fake") or 64))
    try:
        from interloq.models.encoder import Encoder
    except ImportError as error:
        raise MissingDependencyError(f"encoder {name!r}", error.name or "transformers", "encoder") from error
    return Encoder(name)
