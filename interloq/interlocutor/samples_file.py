# SPDX-License-Identifier: Apache-2.0
"""Files of dialogues or rated replies → a folder with the samples of train, dev and test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from interloq.data.convert_file import kind_held
from interloq.data.corpus.outputs import SUFFIXES
from interloq.data.corpus.split import PARTS
from interloq.data.durable import atomic_folder, discard
from interloq.data.files import write_json
from interloq.data.jsonl import Rejected, header, read, write
from interloq.data.overwriting import refuse_overwriting
from interloq.data.profiles import NAME, read_profiles, write_profiles
from interloq.data.pseudonyms import HASHED, KEPT, Pseudonyms
from interloq.errors import InputError, count
from interloq.interlocutor.figures import figures
from interloq.interlocutor.parts import along, conversations_by_user, limited, split
from interloq.interlocutor.ratings import rated_dialogues, rated_replies
from interloq.interlocutor.samples import Judged, Labelled, Selection, continuity
from interloq.records import Dialogue, Sample
from interloq.signature import file_fingerprint

FACTS = "samples.json"
CONTINUITY, RATINGS = "continuity", "interlocutor ratings"


@dataclass(frozen=True)
class Source:
    """A file to read: records, optional profiles of users, and pseudonyms for ids (None: ids are kept)."""

    path: str | Path
    profiles: str | Path | None = None
    names: Pseudonyms | None = None
    strict: bool = False
    on_reject: Callable[[Rejected], None] | None = None
    columns: Mapping[str, str] | None = None

    def decided(self) -> str:
        """`hashed` or `kept` if the file's header says so; else empty."""
        users = "" if str(self.path) == "-" else header(self.path).get("users", "")
        return users if users in (HASHED, KEPT) else ""

    def users(self) -> str:
        """Whether ids of users in the output are hashed or kept."""
        return self.decided() or (HASHED if self.names else KEPT)

    def fingerprint(self) -> str:
        """Hash of the file; empty for a pipe."""
        return "" if str(self.path) == "-" else file_fingerprint(Path(self.path))

    def read(self, kind: str) -> Iterator[Any]:
        """The records, with the user ids of the file."""
        return read(self.path, kind=kind, strict=self.strict, on_reject=self.on_reject, columns=self.columns)

    def rename(self, record: Any) -> Any:
        """A record with hashed user ids, unless ids are kept or the file's header says that this was decided before."""
        if self._hash is None:
            return record
        return self._hash.dialogue(record) if isinstance(record, Dialogue) else self._hash.sample(record)

    @cached_property
    def _hash(self) -> Pseudonyms | None:
        return None if self.decided() else self.names

    def read_profiles(self) -> dict[str, str]:
        """User → profile; empty without a file."""
        return read_profiles(self.profiles, self.names) if self.profiles else {}


def continuity_file(
    source: Source, output: str | Path, selection: Selection, *, compress: str = "zst"
) -> dict[str, Any]:
    """Write the continuity samples of a file of dialogues; returns what was kept and dropped."""
    labelled = continuity(source.read("dialogues"), selection, rename=source.rename)
    return _split(source, output, selection, labelled, CONTINUITY, compress)


def ratings_file(source: Source, output: str | Path, selection: Selection, *, compress: str = "zst") -> dict[str, Any]:
    """Write the samples that interlocutors rated; returns what was kept and dropped.

    Rated replies are cut along the course of each dialogue; dialogues rated as a whole are split by time or by user.
    """
    dropped = Counter[str]()
    if kind_held(source.path) == "dialogues":
        labelled = Labelled(list(rated_dialogues(map(source.rename, source.read("dialogues")), dropped)), dropped)
        return _split(source, output, selection, labelled, RATINGS, compress)
    parts = along(rated_replies(map(source.rename, source.read("samples")), dropped), selection)
    counts = {part: {"samples": len(samples)} for part, samples in parts.items()}
    return _write(source, output, parts, {"holds": RATINGS, "dropped": +dropped, "parts": counts}, {}, compress)


def _split(
    source: Source, output: str | Path, selection: Selection, labelled: Labelled, holds: str, compress: str
) -> dict[str, Any]:
    """Apply the limits per user, split, and write."""
    judged, dropped = labelled.judged, labelled.dropped.copy()
    parts = split(_enough(source, judged, selection, dropped), selection, dropped)
    profiles = _known(source, {each.user for its in parts.values() for each in its})
    facts = {
        "holds": holds,
        "cut_ends": str(labelled.cut or ""),
        "selection": asdict(selection),
        "dropped": +dropped,
        "users": len(conversations_by_user(judged)),
        "parts": {part: figures(its, profiles, labels=holds == CONTINUITY) for part, its in parts.items()},
    }
    samples = {part: (each.sample(selection.context) for each in its) for part, its in parts.items()}
    return _write(source, output, samples, facts, profiles, compress)


def _enough(source: Source, judged: Sequence[Judged], selection: Selection, dropped: Counter[str]) -> list[Judged]:
    """The turns within the limits per user; none at all is an error."""
    kept = limited(judged, selection, dropped)
    if not judged:
        reasons = ", ".join(f"{name} {n:,}" for name, n in (+dropped).items())
        raise InputError(
            "no turn was judged by the person addressed", hint=f"dropped: {reasons}", where=str(source.path)
        )
    if not kept:
        most = max(map(len, conversations_by_user(judged).values()), default=0)
        hint = f"the most active user has {most}; lower min_conversations (--min-conversations)"
        raise InputError(
            f"no user has {count(selection.min_conversations, 'conversation')}", hint=hint, where=str(source.path)
        )
    return kept


def _known(source: Source, users: Collection[str]) -> dict[str, str]:
    """The profiles of these users; profiles of nobody here are an error."""
    profiles = source.read_profiles()
    known = {user: text for user, text in profiles.items() if user in users}
    if profiles and not known:
        hint = "name the file that was written with the dialogues: ids may be hashed in one and not in the other"
        raise InputError("no profile belongs to a user of the samples", hint=hint, where=str(source.profiles))
    return known


def _write(
    source: Source,
    output: str | Path,
    parts: Mapping[str, Iterable[Sample]],
    facts: Mapping[str, Any],
    profiles: Mapping[str, str],
    compress: str,
) -> dict[str, Any]:
    """Write one file per part that has samples, the profiles and the facts."""
    refuse_overwriting([output], [source.path])
    users, fingerprint = source.users(), source.fingerprint()
    with atomic_folder(output) as folder:
        for part, samples in parts.items():
            if not facts["parts"][part]["samples"]:
                continue
            name = f"{part}{SUFFIXES[compress]}"
            about = {"holds": facts["holds"], "part": part, "users": users, "source": fingerprint}
            write(folder / name, samples, kind="samples", **about)
        if profiles:
            write_profiles(folder / NAME, profiles, users=users)
        whole = {"kind": "interlocutor samples", "user_ids": users, "source": fingerprint, **facts}
        write_json(folder / FACTS, whole)
        if _is_ours(Path(output)):
            discard(Path(output))
    return whole


def _is_ours(folder: Path) -> bool:
    """Whether a folder holds what an earlier run wrote and nothing else, so that it may be replaced."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set[str]()
    known = {NAME, FACTS, *(f"{part}{suffix}" for part in PARTS for suffix in SUFFIXES.values())}
    return FACTS in names <= known
