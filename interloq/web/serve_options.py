# SPDX-License-Identifier: Apache-2.0
"""Options of `interloq serve`: the address of the server, and what each action does."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from interloq.errors import InputError
from interloq.options import Options, option, trust_option
from interloq.trust import Trust

PORT = 8765
LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
PROXIES = "127.0.0.1,::1"  # addresses from which a reverse proxy on this machine connects
IPV6 = "["  # the start of an address in brackets, which is all that the check of host names compares
_ROOT = re.compile(r"(/[\w~-][\w.~-]*)*/?", re.ASCII)
MOST_PEOPLE = 1_000  # who may come by one link of a crowd platform, unless another number is given
MOST_LINKS = 10_000  # made at once
_TRUST = "allow bots, indexes and encoders in settings that start programs, import modules or contact servers"
_KEY = "(default: interloq/user.key in ~/.config)"


@dataclass(frozen=True)
class ServerAddress:
    """Where the app listens, and the address that people open if a reverse proxy is in between."""

    host: str = option("127.0.0.1", "address to listen on", metavar="HOST")
    port: int = option(PORT, "port to listen on", metavar="PORT")
    public: str = option("", "address that people open, if it is another", flag="--public-url", metavar="URL")
    proxy: str = ""  # addresses of reverse proxies whose headers are used, separated by commas

    def __post_init__(self) -> None:
        if not 0 <= self.port < 65_536:
            raise InputError(f"port must be from 0 to 65,535, got {self.port}")
        try:
            parts = urlsplit(self.public)
            plain = _ROOT.fullmatch(parts.path) and not (parts.query or parts.fragment or parts.username)
            good = parts.scheme in ("http", "https") and parts.hostname and plain
        except ValueError:
            good = False
        if self.public and not good:
            hint = "use https://example.org or https://example.org/path"
            raise InputError(f"not an address of a server: {self.public!r}", hint=hint)

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def secure(self) -> bool:
        """Whether people open it over https."""
        return self.public.startswith("https:")

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names of requests that are answered."""
        public = urlsplit(self.public).hostname or ""
        names = list(LOOPBACK)
        for host in (self.host, public):
            name = IPV6 if ":" in host else host
            if name:
                names.append(name)
        return tuple(dict.fromkeys(names))

    def url(self, path: str = "") -> str:
        """Return the address of a page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.public.rstrip('/') or f'http://{host}:{self.port}'}{path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions(Options):
    """How a study is served.

    `secret` is the key of pseudonyms, a file or `env:NAME`; an open network needs one. `trust` is called with what bots
    of the study do besides talking; without it, a study with such bots is refused. `max_calls` and `max_cost` limit
    what all chats together may spend on bots, including what they have spent before.
    """

    secret: str | None = option(
        None,
        f"key for hashing annotators' ids; needed unless only this machine can connect {_KEY}",
        metavar="FILE|env:NAME",
    )
    trust: Trust = trust_option(_TRUST)
    trust_administrators: bool = option(
        False, "as --trust, and let owners of the study add such bots in the browser: they can then start programs here"
    )
    new: bool = option(False, "make an empty study if there is none; add tasks in the browser")
    max_calls: int | None = option(None, "most replies that all chats together ask bots for", least=0)
    max_cost: float | None = option(None, "most that these may cost, by the costs in the chats' settings", least=0)
    workers: int = option(1, "processes that answer requests (default 1)", metavar="N", least=1)
    open_page: bool = option(False, "open the page in a browser", flag="--open")
    access_log: bool = option(False, "log requests, without secrets, on standard error")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """Settings of a new task that take precedence over the settings in a file."""

    kind: Literal["rate", "compare", "references", "references-rating", "chat"] | None = option(
        None, "what people do (default: from the settings)", flag="--task"
    )
    settings: str | Path | None = option(None, "JSON with questions, texts and checks", path=True, metavar="FILE")
    name: str | None = option(None, "name of the task (default: from the settings or the file)", metavar="NAME")
    per_item: int | None = option(None, "annotators per item (default: 3; references: 1; references-rating: 4)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFileOptions:
    """How the records of a file become the pages of a task.

    Items on which the metrics in the file `scores` disagree most are given out first, and the scores are kept to watch
    how well each metric agrees with people. `trust` is called with what the bots of a chat, or an index, do besides
    computing.
    """

    alone: bool = option(False, "one reply per page instead of all replies to a context")
    scores: str | Path | None = option(
        None,
        "scores of the samples: watch their agreement, and give out first the samples on which metrics disagree",
        path=True,
        metavar="FILE",
    )
    trust: Trust = trust_option(_TRUST)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationOptions:
    """Which links are made. With `parameter`, people share one link, and this part of the address identifies them."""

    number: int = option(1, "number of links", short="-n")
    admin: bool = option(False, "invite administrators instead of annotators")
    role: Literal["viewer", "lead", "owner"] | None = option(
        None,
        "with --admin: a viewer sees figures; a lead also makes tasks, invites and exports; an owner also deletes "
        "people's data and invites administrators (default)",
    )
    label: str = option("", "a note on the invitations", metavar="TEXT")
    parameter: str = option(
        "",
        "for crowd platforms: one link for many people, told apart by this parameter, e.g. PROLIFIC_PID",
        metavar="NAME",
    )
    most_people: int | None = option(
        None, "with --parameter: most people who may come by the link (default 1,000)", flag="--people"
    )

    def __post_init__(self) -> None:
        if not 1 <= self.number <= MOST_LINKS:
            raise InputError(f"the number of links must be from 1 to {MOST_LINKS:,}, got {self.number}")
        if self.most_people is not None and not self.parameter:
            hint = "other links are for one person each; see -n"
            raise InputError("--people is for links with --parameter", hint=hint)
        if self.role and not self.admin:
            raise InputError("--role is for administrators", hint="use it with --admin")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What is exported; `secret` is the key of pseudonyms, a file or `env:NAME`."""

    alone: bool = option(False, "write ratings without the rated records", flag="--ratings")
    replies: bool = option(False, "write the bots' replies in chats as samples")
    above: float | None = option(
        None, "references-rating: write the samples with only the references whose mean rating is above X", metavar="X"
    )
    secret: str | None = option(None, f"key that annotators' ids are hashed with {_KEY}", metavar="FILE|env:NAME")


SERVE_DEFAULTS, TASK_FILE_DEFAULTS = ServeOptions(), TaskFileOptions()
ONE_INVITATION, EXPORT_DEFAULTS = InvitationOptions(), ExportOptions()
