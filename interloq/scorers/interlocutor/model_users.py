# SPDX-License-Identifier: Apache-2.0
"""Users that a trained model knows: the warning about them, in its `model.json` and a README, and how to remove one."""

from __future__ import annotations

from pathlib import Path

from interloq.data.files.durable import write_atomically
from interloq.data.files.opening import read_json, reading_saved
from interloq.data.records.profiles import NAME as PROFILES
from interloq.data.records.profiles import read_profiles, write_profiles
from interloq.errors import InputError, count
from interloq.learn.store import FACTS, load_model, save_model
from interloq.scorers.interlocutor.settings import DCP, SCORE

CARD = "README.md"


def warning(users: int, profiles: int) -> str:
    """Return the warning about the users with a token or a profile in a model; empty if there are none."""
    contents = []
    if users:
        contents.append(f"learned tokens of {count(users, 'user')}, with their ids")
    if profiles:
        contents.append(f"the profiles of {count(profiles, 'user')}")
    if not contents:
        return ""
    return (
        f"This model contains {' and '.join(contents)}. A token is a trace of how that person "
        "converses, even if the id is hashed: treat the folder as personal data and do not publish it."
    )


def write_card(folder: Path, users: int, profiles: int) -> None:
    """Write the card of a model that knows users; remove it if the model knows none."""
    text = warning(users, profiles)
    if not text:
        (folder / CARD).unlink(missing_ok=True)
        return
    write_atomically(
        folder / CARD,
        (
            f"# A model that knows users\n\n**{text}**\n\n"
            "`interloq corpus forget USER CORPUS --model FOLDER` removes a user's token and profile. The other weights "
            "were trained on that user's conversations too; only training again without them removes that trace.\n"
        ).encode(),
    )


def forget_user(folder: str | Path, user: str) -> bool:
    """Remove a user from a model of `train dcp` or `train interlocutor`; False if the model does not know them.

    The model has another signature afterwards, and treats this user as anyone. Its other weights were trained on their
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
    """Return the kind of model in a folder; refuse a kind that never has users."""
    if not (folder / FACTS).is_file():
        raise InputError("no model in the folder", hint="use a folder by train dcp or interlocutor", where=str(folder))
    kind = str(read_json(folder / FACTS, hint="copy the folder again").get("kind"))
    if kind not in (DCP, SCORE):
        hint = "only models by train dcp and train interlocutor have users"
        raise InputError(f"the folder contains a {kind!r}", hint=hint, where=str(folder))
    return kind
