# SPDX-License-Identifier: Apache-2.0
"""Words of a text that is given as pieces, so that perplexities of different tokenizers can be compared.

Words are separated by white space. Japanese and Chinese have none, so there characters are counted instead.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.language import main_language
from interloq.data.text.token_texts import Texts
from interloq.data.text.tokenize import sentencepiece_processor
from interloq.learn.gru import Pieces

SPACE = "\u2581"  # begins a word in SentencePiece models
UNSPACED = ("ja", "zh")
LOOKED_AT = 200  # texts, to find the language


def count_words(pieces: Pieces, tokens: NDArray[np.integer], language: str) -> int:
    """Return the number of words of some tokens, or of characters if the language has no spaces."""
    spaces, characters = _count_pieces(pieces.model)
    counts = characters if language in UNSPACED else spaces
    return int(counts[tokens].sum())


def find_language(pieces: Pieces, texts: Texts) -> str:
    """Return the code of the texts' main language; empty if it is unclear."""
    chosen = np.linspace(0, len(texts.lengths) - 1, min(LOOKED_AT, len(texts.lengths))).astype(int)
    language = main_language(join_pieces(pieces, texts[i].tolist()) for i in chosen)
    return "" if "script" in language else language


def join_pieces(pieces: Pieces, tokens: list[int]) -> str:
    """Return the text of some tokens."""
    return str(sentencepiece_processor(str(pieces.model)).decode(tokens))


@lru_cache(maxsize=32)
def _count_pieces(model: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the words that each piece begins, and its characters."""
    processor = sentencepiece_processor(str(model))
    spaces, characters = [], []
    for i in range(processor.get_piece_size()):
        piece = processor.id_to_piece(i)
        unknown = processor.is_unknown(i)
        spaces.append(0 if unknown else piece.count(SPACE))
        characters.append(1 if unknown else len(piece.replace(SPACE, "")))
    return np.array(spaces), np.array(characters)
