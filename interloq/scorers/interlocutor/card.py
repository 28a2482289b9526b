# SPDX-License-Identifier: Apache-2.0
"""The warning that comes with a model that knows single users: in its `model.json`, and in a README in its folder."""

from __future__ import annotations

from pathlib import Path

from interloq.data.files.durable import write_atomically
from interloq.errors import count

CARD = "README.md"


def warning(users: int, profiles: int) -> str:
    """Warning about the users with a token or a profile in a model; empty without any."""
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
