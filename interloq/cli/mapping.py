"""`--map response=reply,system=model`: the names of the fields in the user's file, for every verb that reads one."""

from __future__ import annotations

import argparse

from interloq.data.synonyms import read_columns


def add_map(parser: argparse.ArgumentParser, *, of: str = "samples") -> None:
    """Add the option `--map`: names of fields in the user's file."""
    parser.add_argument(
        "--map",
        type=read_columns,
        default={},
        dest="columns",
        metavar="FIELD=NAME,…",
        help=f"names of the fields in your {of}, e.g. "
        + ("turns=chat,id=session" if of == "dialogues" else "response=reply,system=model"),
    )
