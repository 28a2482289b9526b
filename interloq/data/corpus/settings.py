# SPDX-License-Identifier: Apache-2.0
"""The settings of a build: everything that the content of a corpus depends on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any, Literal

import orjson

from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.formats import check_format
from interloq.data.corpus.langid import detector, plain_code, versions
from interloq.data.corpus.split import Split
from interloq.data.corpus.threads import BotFilter, Joining
from interloq.version import __version__


@dataclass(frozen=True, slots=True)
class CorpusSettings:
    """The options of every stage."""

    cleaning: Cleaning = field(default_factory=Cleaning)
    bots: BotFilter = field(default_factory=BotFilter)
    joining: Joining = field(default_factory=Joining)
    shape: DialogueShape = field(default_factory=DialogueShape)
    split: Split = field(default_factory=Split)
    format: Annotated[str, "posts, twitter, reddit, irc, telegram, …; auto: detected"] = "auto"
    fields: tuple[tuple[str, str], ...] = ()  # field of a post → its name in the log
    examples: Annotated[int, "examples to keep of posts dropped by each filter"] = 5
    compression: Annotated[Literal["zst", "gz", "none"], "compression of the outputs"] = "zst"

    def signature(self, source: str) -> str:
        """Return the signature of all options, the content of the logs, the detectors and the version."""
        groups = []
        for name in ("cleaning", "bots", "joining", "shape", "split"):
            group = getattr(self, name)
            values = (f"{f.name}={getattr(group, f.name)!r}" for f in fields(group))
            groups.append(f"{name}({','.join(values)})")
        parts = [f"corpus({','.join(groups)})", f"source:{source}"]
        if self.cleaning.lang:
            for name, number in versions(self.cleaning.detectors).items():
                parts.append(f"{name}:{number}")
        return "|".join([*parts, f"version:{__version__}"])

    def plain(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        values: dict[str, Any] = orjson.loads(orjson.dumps(asdict(self)))
        return values

    def check(self) -> CorpusSettings:
        """Check that the settings can be used here, before hours of work."""
        check_format(self.format)
        cleaning = self.cleaning
        if cleaning.lang:
            cleaning = replace(cleaning, lang=plain_code(cleaning.lang))
            for name in cleaning.detectors:
                detector(name, cleaning.lang)
        return replace(self, cleaning=replace(cleaning, need_time=self.split.by_time))
