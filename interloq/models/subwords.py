# SPDX-License-Identifier: Apache-2.0
"""Token ids from a pretrained tokenizer, for pretrained networks; `pieces.Pieces` does this for our own networks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from interloq.data.files.durable import write_atomically
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.models.pretrained import TOKENIZER, load_tokenizer, tokenizer_fingerprint

LONGEST = 128  # tokens of a text that are used


class Subwords:
    """Texts → ids from 0 to `size` − 1, without special tokens. A text without tokens is one unknown token."""

    def __init__(self, folder: Path, *, longest: int = LONGEST) -> None:
        if longest < 1:
            raise InputError(f"longest must be at least 1, got {longest}")
        self.folder, self.longest = folder, longest
        self._tokenizer = load_tokenizer(folder)
        self.size: int = len(self._tokenizer)
        self.unknown: int = _first(self._tokenizer.unk_token_id, 0)
        self.start: int = _first(self._tokenizer.cls_token_id, self._tokenizer.bos_token_id, self.unknown)
        self.end: int = _first(self._tokenizer.sep_token_id, self._tokenizer.eos_token_id, self.unknown)
        self.pad: int = _first(self._tokenizer.pad_token_id, 0)

    def texts(self, texts: Sequence[str]) -> Texts:
        """Texts as subword ids."""
        options = {"add_special_tokens": False, "truncation": True, "max_length": self.longest, "verbose": False}
        rows = self._tokenizer(list(texts), **options)["input_ids"] if len(texts) else []
        return Texts.of([row or [self.unknown] for row in rows])

    def signature(self) -> str:
        return f"subwords(longest={self.longest})-{tokenizer_fingerprint(self.folder)}"

    def save(self, folder: Path) -> None:
        """Copy the tokenizer's files, so that a model that uses it needs no other folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in TOKENIZER:
            if (self.folder / name).exists() and self.folder.resolve() != folder.resolve():
                write_atomically(folder / name, (self.folder / name).read_bytes())


def _first(*numbers: int | None) -> int:
    return next(number for number in numbers if number is not None)
