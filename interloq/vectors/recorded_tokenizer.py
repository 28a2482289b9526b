# SPDX-License-Identifier: Apache-2.0
"""The tokenizer of word vectors: recorded with them, and the only one that may be used with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from interloq.data.text.tokenize import Tokenizer
from interloq.errors import InputError
from interloq.registry import create, spec


def as_tokenizer(given: Tokenizer | str | None) -> Tokenizer | None:
    """Return the tokenizer, created if given as a spec."""
    if not isinstance(given, str):
        return given
    created: Tokenizer = create(given, kind="tokenizer")
    return created


def described(tokenizer: Tokenizer | None) -> dict[str, str] | None:
    """Return the record of a tokenizer."""
    if tokenizer is None:
        return None
    return {"spec": spec(tokenizer), "signature": tokenizer.signature()}


def check_described(recorded: Any) -> None:
    """Refuse a record that `described` could not have written."""
    if recorded is not None and not all(isinstance(recorded[name], str) for name in ("spec", "signature")):
        raise ValueError("the tokenizer has no spec and signature")


def agreed(recorded: Mapping[str, str] | None, given: Tokenizer | None) -> Tokenizer:
    """Return the recorded tokenizer, or the given one if it is the same or none is recorded."""
    if recorded and given and not _same(given, recorded):
        raise InputError(
            f"the vectors were made with tokenizer {recorded['signature']}, got {given.signature()}",
            hint=f"use {recorded['spec']}, or train vectors with the other tokenizer",
        )
    if given:
        return given
    if not recorded:
        raise InputError(
            "these vectors have no recorded tokenizer",
            hint="give tokenizer=…, or record it: interloq train vectors --from FILE --tokenizer SPEC -o FOLDER",
        )
    tokenizer: Tokenizer = create(recorded["spec"], kind="tokenizer")
    if not _same(tokenizer, recorded):
        what = f"the tokenizer {recorded['spec']} has changed: {tokenizer.signature()}"
        raise InputError(what, hint=f"restore {recorded['signature']}")
    return tokenizer


def _same(tokenizer: Tokenizer, recorded: Mapping[str, str]) -> bool:
    """Return whether the signatures agree, apart from the releases of libraries."""
    release = re.compile(r"-(sacrebleu|sentencepiece)-[\d.]+")
    return release.sub("", tokenizer.signature()) == release.sub("", recorded["signature"])
