# SPDX-License-Identifier: Apache-2.0
"""Removal of one user from a corpus folder, a folder of samples or a file of records, in place.

A record is removed if the user speaks in it, rates it, or is named in its id; pairs name no users and are removed with
the dialogue they are from. Bad lines (`*.rejected.jsonl`) are removed if they mention the user's id. If the user has
records here, unreadable lines are also removed, since they may be the user's.

New files are complete before the first is renamed. A run that is killed while they are renamed leaves each file old or
new, and the next run finishes: dialogues are renamed last, since pairs need their ids.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from interloq.data.corpus.split import PARTS
from interloq.data.files.durable import sweep
from interloq.data.files.folders import check_confined, contents
from interloq.data.files.opening import json_bytes, lines, plain_suffix, read_json, reading_saved, replacing
from interloq.data.pseudonyms import HASHED, is_pseudonym
from interloq.data.records.jsonl import REJECTED, header, is_header, rejected_path
from interloq.data.records.profiles import MAX_BYTES, NAME
from interloq.errors import InputError
from interloq.records import INTERLOCUTOR, Dialogue, Rating
from interloq.scorers.interlocutor.continuity_labels import JudgedTurn
from interloq.scorers.interlocutor.samples_file import FACTS, figures

CORPUS = "corpus.json"
UNFINISHED = ".work"  # of a corpus that is being built
UNKNOWN = (
    "turns_per_dialogue",
    "characters_per_turn",
    "characters_per_dialogue",
)  # samples do not have whole dialogues
COUNTED = ("dialogues", "pairs")  # of a built corpus; other counts become unknown
TEXTS = {"text", "response", "utterance", "context", "references", "turns"}  # strings below these are not ids
_PARTS = re.compile("[/#]")


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What belongs to one user, by file, and what cannot be removed."""

    users: frozenset[str]
    records: Mapping[Path, tuple[int, int]]  # records of the user, and all
    threads: frozenset[str]  # ids of their dialogues and threads
    json: Mapping[Path, Any]  # new content of profiles and facts
    notes: tuple[str, ...] = field(default=())

    @property
    def found(self) -> int:
        """Number of records and profiles to remove."""
        removed = 0
        for gone, _ in self.records.values():
            removed += gone
        for path in self.json:
            removed += path.name == NAME
        return removed

    def remove(self) -> None:
        """Rewrite all files in which something was found, and remove what killed runs left beside them."""
        for path in self.records:
            sweep(path)
        changed = [path for path, (gone, _) in self.records.items() if gone]
        changed.sort(key=_is_pairs)
        with ExitStack() as stack:  # renames in reverse order: facts and pairs first, dialogues last
            for path in changed:
                file = stack.enter_context(replacing(path))
                for line, _, gone in _mark_lines(path, self.users, self.threads):
                    if not gone:
                        file.write(line)
            for path, value in self.json.items():
                stack.enter_context(replacing(path)).write(json_bytes(value))


def forget_in_models(users: Collection[str], folders: Sequence[str | Path]) -> list[bool]:
    """Remove a user, known by any of these ids, from trained models; return whether each model knew them."""
    from interloq.scorers.interlocutor.model_users import forget_user  # imports torch

    knew_them = []
    for folder in folders:
        removed = [forget_user(folder, user) for user in users]
        knew_them.append(True in removed)
    return knew_them


def find(users: Collection[str], corpus: str | Path) -> Forgetting:
    """Find everything about a user, known by any of these ids, in a folder or file. Nothing is changed."""
    names, path = frozenset(users), Path(corpus)
    files, bad_lines = _files(path), _bad_line_files(path)
    ids: set[str] = set()
    for file in files:
        if _is_pairs(file):
            continue
        for _, record, is_users in _mark_lines(file, names, frozenset()):
            if is_users and isinstance(id := record.get("id"), str):
                ids |= {id, id.rpartition("/")[0]} - {""}  # the dialogue, and the thread that it is a branch of
    threads = frozenset(ids)
    records = {file: _counts(file, names, threads) for file in (*files, *bad_lines)}
    in_records = Forgetting(names, records, threads, {})
    json: dict[Path, Any] = {}
    if path.is_dir():
        json.update(_rewrite_json(path, in_records))
    return Forgetting(names, records, threads, json, tuple(_notes(path, in_records)))


def _files(path: Path) -> list[Path]:
    """Return the files of records: the path itself, or the files in the folder and in its folders of parts."""
    if not path.is_dir():
        if plain_suffix(path) != ".jsonl":
            hint = "name a folder of a corpus or of samples, or convert the file: interloq data convert"
            raise InputError(f"{path} is not JSONL", hint=hint)
        return [path]
    check_confined(path)
    files = []
    for folder in (path, *filter(Path.is_dir, contents(path))):
        in_folder = contents(folder)
        files += [file for file in in_folder if plain_suffix(file) == ".jsonl" and not _is_bad_lines(file)]
    if not files:
        raise InputError("the folder has no files of records (.jsonl, .jsonl.zst, …)", where=str(path))
    return files


def _bad_line_files(path: Path) -> list[Path]:
    """Return the files of bad lines: beside the path, and anywhere in its folder."""
    beside = rejected_path(path.resolve())
    files = []
    if beside and beside.is_file():
        files.append(beside)
    if path.is_dir():
        files += sorted(path.rglob(f"*{REJECTED}"))
    return files


def _is_bad_lines(path: Path) -> bool:
    return path.name.endswith(REJECTED)


def _is_pairs(path: Path) -> bool:
    return header(path).get("kind") == "pairs" or path.name.startswith(("pairs.", "groups."))


def _mark_lines(
    path: Path, users: frozenset[str], threads: frozenset[str]
) -> Iterator[tuple[bytes, dict[str, Any], bool]]:
    """Yield the lines of a file, their records (empty for the header) and whether each belongs to the user."""
    for number, line in lines(path):
        record = _record(line, f"{path}:{number}")
        if _is_bad_lines(path):
            gone = _may_be_theirs(_bad_line(record), users, threads)
        else:
            of_thread = isinstance(record.get("thread"), str) and record["thread"] in threads
            gone = of_thread or _names(record, users)
        yield line + b"\n", record, gone


def _bad_line(record: Mapping[str, Any]) -> str:
    """Return the line that was set aside, as text."""
    if isinstance(record.get("line"), str):
        return str(record["line"])
    try:
        return base64.b64decode(str(record.get("base64", ""))).decode("utf-8", "replace")
    except ValueError:
        return ""


def _may_be_theirs(line: str, users: frozenset[str], threads: frozenset[str]) -> bool:
    """Return whether a bad line mentions the user, or cannot be read although the user has records here."""
    for user in users:
        if re.search(rf"(?<!\w){re.escape(user)}(?!\w)", line):
            return True
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return bool(threads)
    if not isinstance(value, dict):
        return bool(threads)
    return _names(value, users) or (isinstance(value.get("thread"), str) and value["thread"] in threads)


def _record(line: bytes, where: str) -> dict[str, Any]:
    """Return the record in a line; an unreadable record is an error, since it could belong to the user."""
    if not line.strip():
        return {}
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({error.msg})", hint="fix or delete the line", where=where) from error
    if not isinstance(value, dict):
        hint = "write one JSON object per line: interloq data convert"
        raise InputError("the line is not a JSON object", hint=hint, where=where)
    if is_header(value):
        return {}
    return value


def _names(record: Any, users: frozenset[str]) -> bool:
    """Return whether an id of the user is anywhere in a record, at any depth; texts are not searched."""
    waiting = [(record, False)]
    while waiting:
        value, is_text = waiting.pop()
        if isinstance(value, dict):
            if not users.isdisjoint(value):
                return True
            waiting += [(inner, key in TEXTS) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(inner, is_text) for inner in value]
        elif isinstance(value, str) and not is_text and not users.isdisjoint([value, *_PARTS.split(value)]):
            return True
    return False


def _counts(path: Path, users: frozenset[str], threads: frozenset[str]) -> tuple[int, int]:
    """Return the number of the user's records, and of all records."""
    of_user = every = 0
    for _, record, gone in _mark_lines(path, users, threads):
        if record:
            of_user += gone
            every += 1
    return of_user, every


def _rewrite_json(folder: Path, forgetting: Forgetting) -> Iterator[tuple[Path, Any]]:
    """Yield the new content of the profiles and of the facts of a folder, if they change."""
    changed = forgetting.found > 0
    facts, built, profiles = folder / FACTS, folder / CORPUS, folder / NAME
    kept_profiles: dict[str, str] = {}
    if profiles.exists():
        whole = read_json(profiles, limit=MAX_BYTES)
        nested = isinstance(whole.get("profiles"), dict)
        known = whole["profiles"] if nested else whole
        kept_profiles = {user: text for user, text in known.items() if user not in forgetting.users}
        if len(kept_profiles) < len(known):
            yield profiles, whole | {"profiles": kept_profiles} if nested else kept_profiles
    if facts.exists() and changed:
        with reading_saved(facts):
            left = _sample_facts(read_json(facts), forgetting, kept_profiles)
        yield facts, left
    if built.exists():
        old = read_json(built)
        with reading_saved(built):
            new = _corpus_facts(old, folder, forgetting)
        if changed or new != old:
            yield built, new | {"forgotten": True}


def _sample_facts(facts: dict[str, Any], forgetting: Forgetting, profiles: Mapping[str, str]) -> dict[str, Any]:
    """Return facts about what is left; lengths of dialogues become unknown, since samples contain only parts."""
    parts = {}
    for path in forgetting.records:
        part = path.name.split(".")[0]
        if part in PARTS and part in facts["parts"]:
            left = figures(list(_read_remaining_turns(path, forgetting)), profiles) | dict.fromkeys(UNKNOWN)
            parts[part] = {name: left[name] for name in facts["parts"][part]}
    changed = facts | {"parts": facts["parts"] | parts, "forgotten": True}
    if "users" in facts:
        changed["users"] = None
    return changed


def _read_remaining_turns(path: Path, forgetting: Forgetting) -> Iterator[JudgedTurn]:
    """Yield the samples that stay, each with the id of its dialogue instead of the dialogue."""
    for _, record, gone in _mark_lines(path, forgetting.users, forgetting.threads):
        if record and not gone:
            ratings = tuple(Rating(**rating) for rating in record["ratings"])
            user = next((rating.rater for rating in ratings if rating.role == INTERLOCUTOR), "")
            dialogue = record.get("dialogue") or record["id"].rpartition("#")[0]  # earlier files name it in the id only
            yield JudgedTurn(Dialogue(dialogue), 0, user, ratings)


def _corpus_facts(facts: dict[str, Any], folder: Path, forgetting: Forgetting) -> dict[str, Any]:
    """Return the facts of a built corpus: new counts, and examples of dropped posts without the user's own."""
    posts = facts["posts"]
    dropped = {}
    for reason, what in posts["dropped"].items():
        examples = [each for each in what["examples"] if each["user"] not in forgetting.users]
        dropped[reason] = what | {"examples": examples}
    parts = {part: _part_counts(counts, folder, part, forgetting) for part, counts in facts["parts"].items()}
    return facts | {"posts": posts | {"dropped": dropped}, "parts": parts}


def _part_counts(counts: dict[str, Any], folder: Path, part: str, forgetting: Forgetting) -> dict[str, Any]:
    """Return the counts of a part after the removal; counts that are not made again become unknown."""
    place = folder
    if (folder / part).is_dir():
        place = folder / part
    removed, left = 0, {}
    for path, (gone, of) in forgetting.records.items():
        if path.parent != place or _is_bad_lines(path):
            continue
        removed += gone
        name = path.name.split(".")[0]
        if name in COUNTED:
            left[name] = of - gone
    if not removed:
        return counts
    return dict.fromkeys(counts) | left


def _notes(path: Path, forgetting: Forgetting) -> Iterator[str]:
    """Return in plain words what remains."""
    if path.is_dir() and (path / CORPUS).exists():
        yield (
            "pairs of a built corpus name no users: those in threads without a dialogue of this user stay; "
            "to remove them, delete the posts from the logs and build again"
        )
    left = [str(file) for file, (gone, of) in forgetting.records.items() if _is_bad_lines(file) and gone < of]
    if left:
        yield f"bad lines that do not mention this user stay: check {', '.join(left)}"
        if all(map(is_pseudonym, forgetting.users)):
            yield "bad lines contain the original ids: name the user's own id instead of the pseudonym"
    if (path / UNFINISHED).exists():
        yield f"an unfinished build in {path / UNFINISHED} may contain their posts: finish the build, or delete it"
    hashed = any(map(is_pseudonym, forgetting.users))
    if not (hashed or forgetting.found) and any(header(file).get("users") == HASHED for file in forgetting.records):
        yield "ids in these files are hashed: name the key that was used (--user-key), or the pseudonym"
    yield "texts by others that mention this user stay"
    yield "weights of networks that were trained on this user's texts or ratings stay: train again without them"
    yield "copies elsewhere stay: the original logs, indexes, files of scores, reports, backups"
