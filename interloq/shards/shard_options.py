# SPDX-License-Identifier: Apache-2.0
"""Options of every verb whose work is cut into shards; docs/shards.md explains them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from interloq.errors import InputError
from interloq.options import Options, limited, option

_SHARE = re.compile(r"(\d{1,9})/(\d{1,9})")


_CLUSTER = re.compile(r"ray|auto|(ray://)?[\w.-]+:\d{1,5}")


def _parse_workers(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?\d+", text) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardOptions(Options):
    """Which processes compute the shards of a long job, and where finished shards are kept."""

    workers: int | str | None = option(
        None,
        "compute in N local processes, one thread each, or in a Ray cluster: ray (started here), auto (the one of this "
        "machine), HOST:PORT or ray://HOST:PORT; finished shards are kept until the output is complete",
        metavar="N|ray|ADDRESS",
        parse=_parse_workers,
    )
    shard: str | None = option(
        None,
        "compute only every Nth shard from the Ith on (1/16, 2/16, … 16/16), write them to --parts, and no output",
        metavar="I/N",
    )
    parts: str | Path | None = option(
        None,
        "folder of finished shards; the same command, or interloq data join DIR, computes or joins the rest "
        "(default with --workers: OUTPUT.parts, removed in the end)",
        writes=True,
        metavar="DIR",
    )
    only_join: bool = limited(False)  # refuse to compute shards that are missing
    tell: Callable[[str], None] | None = None  # gets what each machine of a cluster has computed
    command: tuple[str, ...] = limited(())  # words of the command line, for `interloq data join`

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if isinstance(self.workers, int) and self.workers < 1:
            raise InputError(f"workers must be at least 1, got {self.workers}")
        if isinstance(self.workers, str) and not _CLUSTER.fullmatch(self.workers):
            raise InputError(
                f"--workers must be a number, ray, auto, HOST:PORT or ray://HOST:PORT, got {self.workers!r}"
            )
        if self.shard is not None:
            _ = self.share
            if self.parts is None:
                raise InputError("--shard writes no output", hint="name the folder of its shards: --parts DIR")

    @property
    def is_used(self) -> bool:
        """Whether any of these options was given."""
        return self.workers is not None or self.parts is not None

    @property
    def share(self) -> tuple[int, int]:
        """Which shards this process computes: every nth from the ith on, counted from 1."""
        if self.shard is None:
            return 1, 1
        found = _SHARE.fullmatch(self.shard)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise InputError(f"--shard must be I/N with I from 1 to N, such as 3/16, got {self.shard!r}")
        return int(found[1]), int(found[2])


ONE_PROCESS = ShardOptions()
