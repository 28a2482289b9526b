# SPDX-License-Identifier: Apache-2.0
"""A retrieval bot: it answers with the reply to the most similar utterance in a log.

`index` is made by `interloq index build`: a folder, or a server's address. A small file of pairs may be named instead:
it is indexed when the bot is first used, by the `retriever` in its header or else `bm25`. The last turn is searched
for; texts that were already said in the dialogue are skipped, and the seed picks one of the `k` best remaining replies.
With a BM25 index this is the C-BM25 of retrieval dialogue systems.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from interloq.data.files.opening import check_size
from interloq.data.records.jsonl import header
from interloq.errors import InputError
from interloq.options import limited
from interloq.play.bot import Bot, generator
from interloq.records import Turn
from interloq.registry import full_spec
from interloq.retrieve.index import Index, index_files, open_index
from interloq.retrieve.retrieve_options import IndexOptions
from interloq.retrieve.retriever import Hit, Query
from interloq.retrieve.store_address import key_variable, names_server
from interloq.servers.replies import NOTHING_TO_ANSWER, Reply
from interloq.signature import Signature, fingerprint, signature

SPARE = 50  # replies retrieved in addition to k, because some were said already and some are equal
NOTHING_FOUND = "nothing found"


@dataclass(frozen=True)
class Retrieval(Bot, name="retrieval"):
    """Answers with the reply to the most similar utterance in a log."""

    index: Annotated[str, "a folder or a server's address (`interloq index build`), or a small file of pairs"]
    k: Annotated[int, "the seed picks among this many best replies"] = limited(1, least=1)

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        queries = [Query(turns[-1].text if turns else "") for turns in dialogues]
        hits = self._opened.search(queries, k=self.k + SPARE)
        return [self._reply(*each) for each in zip(dialogues, seeds, hits, strict=True)]

    def try_out(self, turns: Sequence[Turn]) -> None:
        """Search once, so that an index that cannot be searched here is an error before the first dialogue."""
        self._opened.search([Query(turns[-1].text if turns else "")], k=1)

    @property
    def side_effect(self) -> str:
        """Return a text that names the server it contacts."""
        return names_server(self.index, "the last turns")

    @property
    def key_variable(self) -> str:
        """Return the environment variable whose value it sends."""
        return key_variable(self.index)

    def signature(self) -> Signature:
        """Return the retriever and the fingerprint of the pairs, without the index's location."""
        opened = self._opened
        retriever = f"{full_spec(opened.retriever)}-{opened.retriever.built_with()}"
        sources = fingerprint(*(f"{name}\0{n}" for name, n in sorted(opened.store.sources().items())))
        return signature(replace(self, index=""), retriever=retriever, pairs=len(opened.store), sources=sources)

    def _reply(self, turns: Sequence[Turn], seed: int, hits: Sequence[Hit]) -> Reply:
        if not turns:
            return Reply("", NOTHING_TO_ANSWER)
        said = {_plain(turn.text) for turn in turns}
        new: dict[str, str] = {}
        for hit in hits:
            new.setdefault(_plain(hit.pair.response), hit.pair.response)
        best = [text for key, text in new.items() if key and key not in said][: self.k]
        if not best:
            return Reply("", NOTHING_FOUND)
        return Reply(best[int(generator(seed, turns).integers(len(best)))])

    @cached_property
    def _opened(self) -> Index:
        path = Path(self.index)
        if "://" not in self.index and not path.exists():
            raise InputError(f"no index {self.index!r}", hint="make one: interloq index build pairs.jsonl -o index")
        opened = _index_log(self.index, path.stat().st_mtime_ns) if path.is_file() else open_index(self.index)
        if opened.retriever.target != "utterance":
            raise InputError(
                "the index also compares replies, which the bot does not have yet",
                hint="build one whose retriever has target='utterance'",
                where=self.index,
            )
        return opened


@cache
def _index_log(path: str, written: int) -> Index:  # noqa: ARG001 - the time is part of the key
    """Index a file of pairs in a folder that exists until the program ends."""
    check_size(path)
    folder = TemporaryDirectory(prefix="interloq-log-")
    atexit.register(folder.cleanup)
    retriever = str(header(path).get("retriever", "bm25"))
    return index_files([path], Path(folder.name) / "index", IndexOptions(retriever=retriever))[0]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
