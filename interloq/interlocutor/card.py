"""The warning that comes with a model that knows single users: in its `model.json`, and in a README in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interloq.data.durable import write_atomically
from interloq.errors import count

CARD = "README.md"


def warning(facts: Mapping[str, Any]) -> str:
    """Warning about the users whose traces a model contains; empty without user tokens."""
    if not facts["users"]:
        return ""
    users = count(len(facts["users"]), "user")
    return (
        f"This model contains learned tokens of {users} and lists their ids. A token is a trace of how that person "
        "converses, also if the id is hashed: treat the folder as personal data and do not publish it."
    )


def write_card(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write the card of a model with user tokens; remove it if the model has none."""
    text = warning(facts)
    if not text:
        (folder / CARD).unlink(missing_ok=True)
        return
    profiles = "`profiles.json` contains the profile texts of users.\n\n" if facts["profiles"] else ""
    write_atomically(
        folder / CARD,
        (
            f"# A model that knows users\n\n**{text}**\n\n{profiles}"
            "`interloq corpus forget USER CORPUS --model FOLDER` removes a user's token and profile. The other weights "
            "were trained on that user's conversations too; only training again without them removes that trace.\n"
        ).encode(),
    )
