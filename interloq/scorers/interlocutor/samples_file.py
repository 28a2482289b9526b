# SPDX-License-Identifier: Apache-2.0
"""Files of dialogues or rated replies → a folder with the samples of train, dev and test, and their statistics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain, product
from operator import methodcaller
from pathlib import Path
from typing import Any

from interloq.data.corpus.outputs import SUFFIXES
from interloq.data.corpus.split import PARTS
from interloq.data.files.durable import atomic_folder, discard
from interloq.data.files.opening import write_json
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.pseudonyms import HASHED, KEPT, Pseudonyms
from interloq.data.records.convert_file import detect_kind
from interloq.data.records.jsonl import header, write
from interloq.data.records.profiles import NAME, read_profiles, write_profiles
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError, count
from interloq.records import INTERLOCUTOR, Dialogue, Rating, Sample
from interloq.scorers.interlocutor.continuity_labels import (
    JudgedTurn,
    LabelledTurns,
    SampleSelection,
    continuity,
    has_bad_time,
)
from interloq.scorers.interlocutor.parts import along, conversations_by_user, select_parts
from interloq.signature import file_fingerprint

FACTS = "samples.json"
CONTINUITY, RATINGS = "continuity", "interlocutor ratings"
Figures = dict[str, float | None]


@dataclass(frozen=True)
class SampleSource:
    """A file to read: records, optional profiles of users, and pseudonyms for ids (None: ids are kept)."""

    path: str | Path
    profiles: str | Path | None = None
    names: Pseudonyms | None = None
    reading: ReadOptions = READ_DEFAULTS

    def read_decision(self) -> str:
        """Return `hashed` or `kept` if the file's header says so; otherwise an empty string."""
        if str(self.path) == "-":
            return ""
        users = header(self.path).get("users", "")
        return users if users in (HASHED, KEPT) else ""

    def users(self) -> str:
        """Return whether ids of users in the output are hashed or kept."""
        default = HASHED if self.names else KEPT
        return self.read_decision() or default

    def fingerprint(self) -> str:
        """Return a hash of the file; empty for a pipe."""
        return "" if str(self.path) == "-" else file_fingerprint(Path(self.path))

    def read(self, kind: str) -> Iterator[Any]:
        """Yield the records, with the user ids of the file."""
        return self.reading.read(self.path, kind=kind)

    def rename(self, record: Any) -> Any:
        """Hash a record's user ids, unless ids are kept or the file's header shows that this was already decided."""
        if self._hash is None:
            return record
        if isinstance(record, Dialogue):
            return self._hash.dialogue(record)
        return self._hash.sample(record)

    @cached_property
    def _hash(self) -> Pseudonyms | None:
        return None if self.read_decision() else self.names

    def read_profiles(self) -> dict[str, str]:
        """Return user → profile; empty without a file."""
        if not self.profiles:
            return {}
        return read_profiles(self.profiles, self.names)


def continuity_file(
    source: SampleSource, output: str | Path, selection: SampleSelection, *, compress: str = "zst"
) -> dict[str, Any]:
    """Write the continuity samples of a file of dialogues; return what was kept and dropped."""
    labelled = continuity(source.read("dialogues"), selection, rename=source.rename)
    return _split(source, output, selection, labelled, CONTINUITY, compress)


def ratings_file(
    source: SampleSource, output: str | Path, selection: SampleSelection, *, compress: str = "zst"
) -> dict[str, Any]:
    """Write the samples that interlocutors rated; return what was kept and dropped.

    Rated replies are cut along the course of each dialogue; dialogues rated as a whole are split by time or by user.
    """
    dropped = Counter[str]()
    if detect_kind(source.path) == "dialogues":
        labelled = LabelledTurns(list(find_rated_turns(map(source.rename, source.read("dialogues")), dropped)), dropped)
        return _split(source, output, selection, labelled, RATINGS, compress)
    parts = along(select_rated_replies(map(source.rename, source.read("samples")), dropped), selection)
    counts = {part: {"samples": len(samples)} for part, samples in parts.items()}
    return _write(source, output, parts, {"holds": RATINGS, "dropped": +dropped, "parts": counts}, {}, compress)


def find_rated_turns(dialogues: Iterable[Dialogue], dropped: Counter[str]) -> Iterator[JudgedTurn]:
    """Yield one judged turn per dialogue and interlocutor who rated it: the last turn addressed to them.

    Ratings by people who did not speak, and dialogues with unreadable times, are counted in `dropped`.
    """
    for dialogue in dialogues:
        if has_bad_time(dialogue):
            dropped["bad_time"] += 1
            continue
        speakers = {turn.speaker for turn in dialogue.turns}
        by_rater: dict[str, list[Rating]] = {}
        for rating in dialogue.ratings:
            if rating.role == INTERLOCUTOR and rating.rater in speakers - {""}:
                by_rater.setdefault(rating.rater, []).append(rating)
            else:
                dropped["ratings_by_others"] += 1
        dropped["dialogues_without_ratings"] += not by_rater
        for rater, ratings in by_rater.items():
            last = _last_to(dialogue, rater)
            dropped["one_speaker"] += last is None
            if last is not None:
                yield JudgedTurn(dialogue, last, rater, tuple(ratings))


def _last_to(dialogue: Dialogue, user: str) -> int | None:
    """Return the last turn with text that somebody else spoke."""
    for i, turn in reversed(list(enumerate(dialogue.turns))):
        if turn.speaker != user and turn.text.strip():
            return i
    return None


def select_rated_replies(samples: Iterable[Sample], dropped: Counter[str]) -> Iterator[Sample]:
    """Yield the replies that their interlocutor rated; empty and unrated ones are counted in `dropped`."""
    for sample in samples:
        rated = any(rating.role == INTERLOCUTOR and rating.value is not None for rating in sample.ratings)
        empty = not sample.response.strip()
        dropped["empty_replies"] += empty
        dropped["replies_without_interlocutor_rating"] += not (rated or empty)
        if rated and not empty:
            yield sample


def _split(
    source: SampleSource,
    output: str | Path,
    selection: SampleSelection,
    labelled: LabelledTurns,
    holds: str,
    compress: str,
) -> dict[str, Any]:
    """Apply the limits per user, split, and write."""
    judged, dropped = labelled.judged, labelled.dropped.copy()
    parts = _select(source, judged, selection, dropped)
    profiles = _select_profiles(source, {each.user for each in chain.from_iterable(parts.values())})
    figures_by_part, samples = {}, {}
    for part, turns in parts.items():
        figures_by_part[part] = figures(turns, profiles, labels=holds == CONTINUITY)
        samples[part] = map(methodcaller("sample", selection.context), turns)
    facts = {
        "holds": holds,
        "cut_ends": str(labelled.cut or ""),
        "selection": asdict(selection),
        "dropped": +dropped,
        "users": len(conversations_by_user(judged)),
        "parts": figures_by_part,
    }
    return _write(source, output, samples, facts, profiles, compress)


def _select(
    source: SampleSource, judged: Sequence[JudgedTurn], selection: SampleSelection, dropped: Counter[str]
) -> dict[str, list[JudgedTurn]]:
    """Return the parts; it is an error if nothing was judged, or if no user has enough conversations."""
    if not judged:
        reasons = ", ".join(f"{name} {n:,}" for name, n in (+dropped).items())
        raise InputError(
            "no turn was judged by the person addressed", hint=f"dropped: {reasons}", where=str(source.path)
        )
    conversations = conversations_by_user(judged)
    parts = select_parts(judged, selection, dropped)
    if any(parts.values()):
        return parts
    if dropped["users_with_few_conversations"] < len(conversations):
        reasons = ", ".join(f"{name} {n:,}" for name, n in (+dropped).items())
        raise InputError("no judged turn fits a part", hint=f"dropped: {reasons}", where=str(source.path))
    most = max(map(len, conversations.values()), default=0)
    where = " in train" if selection.counts_training() else ""
    raise InputError(
        f"no user has {count(selection.min_conversations, 'conversation')}{where}",
        hint=f"the most active user has {most} in all; lower min_conversations (--min-conversations)",
        where=str(source.path),
    )


def _select_profiles(source: SampleSource, users: Collection[str]) -> dict[str, str]:
    """Return the profiles of these users; it is an error if a file of profiles has none of them."""
    profiles = source.read_profiles()
    known = {user: text for user, text in profiles.items() if user in users}
    if profiles and not known:
        hint = "name the file that was written with the dialogues: ids may be hashed in one and not in the other"
        raise InputError("no profile belongs to a user of the samples", hint=hint, where=str(source.profiles))
    return known


def _write(
    source: SampleSource,
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
    """Return whether a folder holds only what an earlier run wrote, so that it may be replaced."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    known = {NAME, FACTS}
    for part, suffix in product(PARTS, SUFFIXES.values()):
        known.add(f"{part}{suffix}")
    return FACTS in names <= known


def figures(judged: Sequence[JudgedTurn], profiles: Mapping[str, str], *, labels: bool = True) -> Figures:
    """Count dialogues, users, lengths, profiles and (with `labels`) continuity labels of one part."""
    dialogues = {each.dialogue.id: each.dialogue for each in judged}.values()
    users = {each.user for each in judged} - {""}
    texts = [profiles[user] for user in users if user in profiles]
    turns = characters = 0
    for dialogue in dialogues:
        for turn in dialogue.turns:
            turns += 1
            characters += len(turn.text)
    counted = {
        "samples": len(judged),
        "dialogues": len(dialogues),
        "users": len(users),
        "turns_per_dialogue": _mean(turns, len(dialogues)),
        "characters_per_turn": _mean(characters, turns),
        "characters_per_dialogue": _mean(characters, len(dialogues)),
    }
    if labels:
        counted |= _labels(judged)
    counted["profiles"] = len(texts)
    counted["characters_per_profile"] = _mean(sum(map(len, texts)), len(texts))
    return counted


def _labels(judged: Sequence[JudgedTurn]) -> Figures:
    """Return the counts of both labels, and of users who have only one of them."""
    by_user = defaultdict[str, set[bool]](set)
    counts = Counter[bool | None]()
    for each in judged:
        label = each.replied
        counts[label] += 1
        if label is not None and each.user:
            by_user[each.user].add(label)
    one_class = list(map(len, by_user.values())).count(1)
    return {"replied": counts[True], "not_replied": counts[False], "users_with_one_class": one_class}


def _mean(total: int, n: int) -> float | None:
    return total / n if n else None
