# SPDX-License-Identifier: Apache-2.0
"""Runs the app: on this machine only, unless a secret and a host are given."""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import select

from interloq.data.pseudonyms import read_key
from interloq.errors import InputError, MissingDependencyError
from interloq.web.app import LOOPBACK, Study, create_app
from interloq.web.database import Database, open_database
from interloq.web.people import invite
from interloq.web.schema import invitation

PORT = 8765
_TOKEN = re.compile(r"(/join/)[^\s?\"]+")


@dataclass(frozen=True)
class Address:
    """Where the app listens, and the address that people open, if a reverse proxy stands in between."""

    host: str = "127.0.0.1"
    port: int = PORT
    public: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.port < 65_536:
            raise InputError(f"port must be from 0 to 65,535, got {self.port}")
        parts = urlsplit(self.public)
        if self.public and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise InputError(f"not an address of a page: {self.public!r}", hint="use https://example.org")

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def url(self, path: str = "") -> str:
        """The address of a page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.public.rstrip('/') or f'http://{host}:{self.port}'}{path}"


def run(place: str | Path, address: Address, *, secret: str | None = None, say: Callable[[str], None] = print) -> None:
    """Serve a study until interrupted. An open network needs a secret; `secret` is a file or `env:NAME`."""
    if not (address.local or secret):
        hint = "name a file with --secret (made if it is missing), or serve on 127.0.0.1 behind a reverse proxy"
        raise InputError(f"{address.host} can be reached from other machines", hint=hint)
    try:
        import uvicorn
    except ImportError as error:
        raise MissingDependencyError("interloq serve", "uvicorn", "web") from error
    database = open_database(place)
    try:
        if link := first_admin_link(database, address):
            say(f"administrators: {link}")
        public = urlsplit(address.public)
        hosts = (*LOOPBACK, address.host, *([public.hostname] if public.hostname else []))
        study = Study(database, read_key(secret), hosts, secure=public.scheme == "https")
        say(f"serving {place} at {address.url()} (Ctrl-C ends it)")
        config = uvicorn.Config(
            create_app(study), host=address.host, port=address.port, log_level="warning", server_header=False,
            proxy_headers=bool(address.public), forwarded_allow_ips="127.0.0.1,::1",
        )  # fmt: skip
        logging.getLogger("uvicorn.access").addFilter(without_tokens)
        uvicorn.Server(config).run()
    finally:
        database.close()


def first_admin_link(database: Database, address: Address) -> str:
    """A link for an administrator, if the study has none yet."""
    with database.writing() as connection:
        wanted = invitation.c.role == "admin"
        if connection.execute(select(invitation.c.id).where(wanted).limit(1)).one_or_none():
            return ""
        return address.url(f"/join/{invite(connection, None, role='admin')}")


def without_tokens(record: logging.LogRecord) -> bool:
    """A filter that removes secrets of invitations from a log."""
    record.msg = _TOKEN.sub(r"\1…", record.getMessage())
    record.args = ()
    return True
