# SPDX-License-Identifier: Apache-2.0
"""Profiles of users in one JSON file: `{"kind": "profiles", "users": "kept", "profiles": {"ann": "I have a dog."}}`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from interloq.data.files.opening import read_json, write_json
from interloq.data.pseudonyms import HASHED, KEPT, Pseudonyms
from interloq.errors import InputError, short_repr

NAME = "profiles.json"
MAX_BYTES = 2**28


def write_profiles(path: str | Path, profiles: Mapping[str, str], *, users: str) -> None:
    """Write profiles; `users` is `hashed` or `kept`."""
    write_json(path, {"kind": "profiles", "users": users, "profiles": dict(sorted(profiles.items()))})


def read_profiles(path: str | Path, names: Pseudonyms | None = None) -> dict[str, str]:
    """Return the profile of each user, under a pseudonym unless the file has pseudonyms already.

    A plain object of texts is accepted too.
    """
    hint = 'write {"profiles": {"user": "text"}}'
    content = read_json(path, limit=MAX_BYTES, hint=hint)
    profiles = content
    if isinstance(content.get("profiles"), dict):
        profiles = content["profiles"]
    for user, text in profiles.items():
        if not isinstance(text, str):
            what = f"the profile of {user!r:.60} must be text, got {short_repr(text)}"
            raise InputError(what, hint=hint, where=str(path))
    if names is None or content.get("users") in (HASHED, KEPT):
        return dict(profiles)
    return {names(user): text for user, text in profiles.items()}
