"""`--map response=reply,system=model`: under which names a file has its fields, for every verb that reads one."""

from __future__ import annotations

import argparse

from interloq.data.synonyms import read_columns


def add_map(parser: argparse.ArgumentParser, *, of: str = "samples") -> None:
    """The option `--map`: names of fields in the user's file."""
    parser.add_argument(
        "--map",
        type=read_columns,
        default={},
        dest="columns",
        metavar="FIELD=NAME,…",
        help=f"the names under which the {of} have their fields, e.g. "
        + ("turns=chat,id=session" if of == "dialogues" else "response=reply,system=model"),
    )
