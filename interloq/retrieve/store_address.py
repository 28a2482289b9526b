# SPDX-License-Identifier: Apache-2.0
"""Stores by address: a folder's path, `qdrant://host:6333/collection` or `postgresql://host/database#table`.

Another package adds a scheme with an entry point of the group `interloq.stores`: its name is the scheme, its value
`module:Class`. The class takes `(address, retriever=None)`, and has `create` like the classes here and a `manifest`.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from interloq.errors import InputError, MissingDependencyError
from interloq.registry import create, spec
from interloq.retrieve.retriever import Retriever, Store
from interloq.trust import HUB

SCHEMES = {
    "postgres": "interloq.retrieve.servers.postgres:Postgres",
    "postgresql": "interloq.retrieve.servers.postgres:Postgres",
    "qdrant": "interloq.retrieve.servers.qdrant:Qdrant",
    "qdrants": "interloq.retrieve.servers.qdrant:Qdrant",
}
KEY_VARIABLES = {  # environment variables with secrets that are sent to a server
    "postgres": "PGPASSWORD",
    "postgresql": "PGPASSWORD",
    "qdrant": "INTERLOQ_QDRANT_API_KEY",
    "qdrants": "INTERLOQ_QDRANT_API_KEY",
}
NEEDED = {"psycopg": ("psycopg[binary]", "postgres"), "httpx": ("httpx", "qdrant")}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def names_server(address: str, sent: str) -> str:
    """Return a text that names the server that is contacted; '' for a folder."""
    if "://" not in address:
        return ""
    key = f" with the key in {key_variable(address)}" if key_variable(address) else ""
    return f"sends {sent} to {address.rpartition('@')[2]}{key}"


def key_variable(address: str) -> str:
    """Return the environment variable whose value is sent to the server at an address; '' for a folder."""
    return KEY_VARIABLES.get(address.partition("://")[0].lower(), "") if "://" in address else ""


def create_store(
    address: str | Path,
    retriever: Retriever,
    *,
    expected: int = 0,
    exact_up_to: int | None = None,
    recall: float = 0.95,
) -> Store:
    """Create a store, or open an existing one with the same settings; `exact_up_to` None means the store's default."""
    exact = {} if exact_up_to is None else {"exact_up_to": exact_up_to}
    store = _server(address)
    if store is not None:
        if getattr(retriever, "ranking", "bm25") != "bm25":
            message = f"a server cannot search by {spec(retriever)}"
            raise InputError(message, hint="name a folder, or choose bm25 or dense")
        return store.create(str(address), retriever, recall=recall, **exact)  # type: ignore[no-any-return]
    from interloq.retrieve.folder.folder_store import Embedded

    return Embedded.create(address, retriever, expected=expected, recall=recall, **exact)


def open_store(address: str | Path) -> tuple[Store, Retriever]:
    """Open an existing store; also return the retriever it was built with."""
    store = _server(address)
    if store is None:
        from interloq.retrieve.folder.folder_store import Embedded

        store = Embedded
    opened = store(address)
    retriever: Retriever = create(opened.manifest.retriever, kind="retriever")
    if retriever.encoder.startswith(HUB):
        from interloq.models.pretrained import model_folder  # loads torch, as the encoder would

        model_folder(retriever.encoder, download=False)
    return store(address, retriever), retriever


def _server(address: str | Path) -> Any:
    """Return the class for the address's scheme; None for a folder."""
    match = _SCHEME.match(address) if isinstance(address, str) else None
    if match is None:
        return None
    scheme = match[1].lower()
    known = _schemes()
    if scheme not in known:
        raise InputError(
            f"unknown scheme {scheme}://",
            hint=f"name a folder, or start with one of {', '.join(f'{name}://' for name in sorted(known))}",
        )
    module, _, name = known[scheme].partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        package, extra = NEEDED.get(str(error.name).split(".")[0], ("", ""))
        if not package:
            raise
        raise MissingDependencyError(f"{scheme}://", package, extra) from error


@cache
def _schemes() -> dict[str, str]:
    """Return scheme → "module:Class", including the schemes of other installed packages."""
    groups = ("interloq.homes", "interloq.stores")  # the first is the earlier name
    return {entry.name: entry.value for group in groups for entry in entry_points(group=group)} | SCHEMES
