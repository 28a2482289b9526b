# SPDX-License-Identifier: Apache-2.0
"""Pseudonyms of users: a keyed hash of each id, so that records name nobody, yet one person's records stay together.

The same key gives the same pseudonyms. Whoever has the key can test whether a pseudonym belongs to an id, so the key
stays with the user: in one of the user's files or an environment variable, and never in any output.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from interloq.data.files.durable import make_folder
from interloq.data.files.opening import read_small
from interloq.data.files.write_errors import writing
from interloq.errors import InputError
from interloq.options import option, user_key_option
from interloq.records import Dialogue, Rating, Sample, Turn

VARIABLE = "env:"  # `env:NAME` names an environment variable instead of a file
MIN_KEY = 16  # characters
HASHED = "hashed"  # the value of `users` in the header of files with pseudonyms
KEPT = "kept"
_PARTS = re.compile(r"([/#])")
_PSEUDONYM = re.compile(r"u[0-9a-f]{16}")


class Pseudonyms:
    """Replaces ids of users in records by pseudonyms; names of systems are kept."""

    def __init__(self, key: str) -> None:
        self._key = blake2b(key.encode("utf-8", "surrogatepass")).digest()
        self._known = {"": ""}

    def __call__(self, user: str) -> str:
        """Return `u` and 16 hexadecimal digits; a missing id stays missing."""
        if user not in self._known:
            digest = blake2b(user.encode("utf-8", "surrogatepass"), key=self._key, digest_size=8)
            self._known[user] = f"u{digest.hexdigest()}"
        return self._known[user]

    def dialogue(self, dialogue: Dialogue) -> Dialogue:
        """Return a dialogue with pseudonyms for speakers, raters, and speakers' ids within its id and occasion."""
        name = self._unless(dialogue.systems)
        users = {turn.speaker for turn in dialogue.turns} - dialogue.systems.keys()
        return replace(
            dialogue,
            id=self._within(dialogue.id, users),
            turns=tuple(self._turn(turn, name) for turn in dialogue.turns),
            ratings=self._ratings(dialogue.ratings),
            occasion=self._within(dialogue.occasion, users),
            fields={},  # may name people
        )

    def sample(self, sample: Sample) -> Sample:
        """Return a sample with pseudonyms for speakers, raters, and the ids of both within its id and dialogue."""
        name = self._unless({sample.system: ""})
        users = {turn.speaker for turn in sample.context} | {rating.rater for rating in sample.ratings}
        users -= {sample.system, ""}
        turns = tuple(Turn(turn.text, name(turn.speaker), turn.time) for turn in sample.context)
        id, dialogue = self._within(sample.id, users), self._within(sample.dialogue, users)
        ratings = self._ratings(sample.ratings)
        return replace(sample, id=id, context=turns, ratings=ratings, dialogue=dialogue, fields={})

    def _unless(self, systems: Mapping[str, str]) -> Callable[[str], str]:
        return lambda speaker: speaker if speaker in systems else self(speaker)

    def _turn(self, turn: Turn, name: Callable[[str], str]) -> Turn:
        return replace(turn, speaker=name(turn.speaker), ratings=self._ratings(turn.ratings), fields=None)

    def _ratings(self, ratings: tuple[Rating, ...]) -> tuple[Rating, ...]:
        return tuple(replace(rating, rater=self(rating.rater)) for rating in ratings)

    def _within(self, id: str, users: set[str]) -> str:
        return "".join(self(part) if part in users else part for part in _PARTS.split(id))


@dataclass(frozen=True, slots=True, kw_only=True)
class UserIdOptions:
    """Whether ids of users are hashed, and with which key (see `read_key`)."""

    user_key: str | None = user_key_option("key for hashing user ids; a missing file is made")
    keep_user_ids: bool = option(False, "do not hash user ids")

    def pseudonyms(self) -> Pseudonyms | None:
        """Return pseudonyms with the key; None to keep ids as they are."""
        return None if self.keep_user_ids else Pseudonyms(read_key(self.user_key))


def is_pseudonym(user: str) -> bool:
    """Return whether an id looks like a pseudonym."""
    return bool(_PSEUDONYM.fullmatch(user))


def names_of(user: str, key: str | Path | None = None) -> frozenset[str]:
    """Return an id of a user and its pseudonym; only the id if it is a pseudonym or no key exists yet."""
    if is_pseudonym(user):
        return frozenset({user})
    if key is None and not key_file().exists():  # a key made now could not have hashed anything
        return frozenset({user})
    if key is not None and not str(key).startswith(VARIABLE) and not Path(key).exists():
        raise InputError(f"there is no key in {key}", hint="name the file that ids were hashed with")
    return frozenset({user, Pseudonyms(read_key(key))(user)})


def read_key(source: str | Path | None = None) -> str:
    """Return the key in a file, or in the environment variable NAME for `env:NAME`. A missing file is created.

    The default is the file `interloq/user.key` in the folder for settings ($XDG_CONFIG_HOME or ~/.config).
    """
    if source is not None and str(source).startswith(VARIABLE):
        name = str(source).removeprefix(VARIABLE)
        return _check_key(os.environ.get(name, ""), f"the environment variable {name!r}")
    path = Path(source) if source else key_file()
    if not path.exists():
        _make_key(path)
    return _check_key(read_small(path, limit=2**16).decode("utf-8", "replace"), str(path))


def key_file() -> Path:
    """Return the file that holds the key by default."""
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "interloq" / "user.key"


def _make_key(path: Path) -> None:
    """Write a random key to a file that only its owner may read; a file that appears in the meantime is kept."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    with writing(path):
        make_folder(path.parent)
        with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(f"{secrets.token_hex(32)}\n")
        try:
            os.link(part, path)
        except FileExistsError:
            pass
        finally:
            part.unlink()


def _check_key(key: str, where: str) -> str:
    key = key.strip()
    if len(key) < MIN_KEY:
        hint = f"use at least {MIN_KEY} random characters, or name a new file and a key is made there"
        raise InputError(f"{where} does not have a key for user ids: {len(key)} characters", hint=hint)
    return key
