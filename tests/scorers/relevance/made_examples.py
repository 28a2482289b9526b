"""Small exchanges as examples."""

from __future__ import annotations

from interloq.models.pretrained import Subwords
from interloq.scorers.relevance.examples import Exchanges


def texts(found: Exchanges, subwords: Subwords) -> list[str]:
    from interloq.models.pretrained import load_tokenizer

    tokenizer = load_tokenizer(subwords.folder)
    pieces = [tokenizer.convert_ids_to_tokens(found.texts[i].tolist()) for i in range(len(found.lengths))]
    return [" ".join(row).replace(" ##", "") for row in pieces]
