# SPDX-License-Identifier: Apache-2.0
"""Removes a user from a trained model: their token, their id and their profile."""

from __future__ import annotations

from pathlib import Path

from interloq.data.files.opening import read_json, reading_saved
from interloq.data.records.profiles import NAME as PROFILES
from interloq.data.records.profiles import read_profiles, write_profiles
from interloq.errors import InputError
from interloq.learn.store import FACTS, load_model, save_model
from interloq.scorers.interlocutor.card import warning, write_card
from interloq.scorers.interlocutor.settings import DCP, SCORE


def forget_user(folder: str | Path, user: str) -> bool:
    """Remove a user from a model of `train dcp` or `train interlocutor`; False if the model does not know them.

    The model has another signature afterwards, and reads this user as anyone. Its other weights were trained on their
    conversations too, and are not changed.
    """
    folder = Path(folder)
    kind = _kind(folder)
    facts, tensors = load_model(folder, kind=kind)
    with reading_saved(folder):
        profiles = {}
        if facts["profiles"]:
            profiles = read_profiles(folder / PROFILES)
        users = list(facts["users"])
    if user not in users and user not in profiles:
        return False
    if profiles.pop(user, None) is not None:
        write_profiles(folder / PROFILES, profiles, users=facts["ids"])
        facts["profiles"] = len(profiles)
    if user in users:
        others = [i for i, name in enumerate(users) if name != user]
        for name in ("users", "user_samples"):
            facts[name] = [facts[name][i] for i in others]
        rows = tensors.pop("users")[others]
        if len(rows):
            tensors["users"] = rows
    facts["warning"] = warning(len(facts["users"]), facts["profiles"])
    write_card(folder, len(facts["users"]), facts["profiles"])
    save_model(folder, {name: tensor.clone() for name, tensor in tensors.items()}, facts)
    return True


def _kind(folder: Path) -> str:
    """The kind of model in a folder; refused if it never has users."""
    if not (folder / FACTS).is_file():
        raise InputError("no model in the folder", hint="use a folder by train dcp or interlocutor", where=str(folder))
    kind = str(read_json(folder / FACTS, hint="copy the folder again").get("kind"))
    if kind not in (DCP, SCORE):
        hint = "only models by train dcp and train interlocutor have users"
        raise InputError(f"the folder contains a {kind!r}", hint=hint, where=str(folder))
    return kind
