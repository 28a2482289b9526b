# SPDX-License-Identifier: Apache-2.0
"""Files of logs of other tools written as a file of dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.files.write_errors import format_error_line
from interloq.data.progress import Progress, silent
from interloq.data.pseudonyms import HASHED, KEPT, Pseudonyms
from interloq.data.records.convert_file import RecordSummary
from interloq.data.records.jsonl import Rejected, write
from interloq.data.records.synonyms import read_columns
from interloq.data.tool_logs.conversations import Conversations
from interloq.data.tool_logs.exchange import Exchange, apply_columns
from interloq.data.tool_logs.formats import NAMES, arrays, log_format, recognise
from interloq.data.tool_logs.log_files import log_values
from interloq.data.tool_logs.redaction import KINDS, Redaction
from interloq.errors import InputError, count
from interloq.options import option
from interloq.records import Dialogue

_LONGEST = 2**16  # of a bad value in the file of bad lines


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """How logs are imported."""

    format: str = option(
        "", "the tool that wrote the log (default: recognised from its first value)", flag="--from", choices=NAMES
    )
    columns: Mapping[str, str] | None = option(
        None,
        "places of a log's fields: id, dialogue, context, response, system, user, time, and further ones to keep, "
        "e.g. response=outputs.answer,dialogue=metadata.chat",
        flag="--map",
        metavar="FIELD=PLACE,…",
        parse=read_columns,
    )
    redact: bool = option(False, "replace e-mail addresses and phone numbers too; keys always are")
    on_reject: Callable[[Rejected], None] | None = None


LOG_DEFAULTS = LogOptions()


def import_logs(
    paths: Sequence[str | Path],
    output: str | Path,
    options: LogOptions = LOG_DEFAULTS,
    *,
    names: Pseudonyms | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the conversations in logs as dialogues, and return counts and notes.

    Files of one export belong together: requests, their results, scores. `names` replaces ids of users by pseudonyms.
    """
    refuse_overwriting([output], paths)
    redaction = Redaction(KINDS if options.redact else ("key",))
    reader = _LogReader(options, redaction)
    summary, kinds = RecordSummary(), Counter[str]()
    with closing(Conversations()) as conversations, progress("reading", None) as step:
        for path in paths:
            for _ in reader.read(path, conversations):
                step(1)
        reader.check()
        if not conversations.counts["requests"]:
            hint = reader.first or f"name its format: --from {'|'.join(NAMES)}"
            raise InputError("no request with its reply was found", hint=hint, where=", ".join(map(str, paths)))
        dialogues = _hide_people(conversations.dialogues(), names)
        facts = {"imported": reader.format, "users": KEPT if names is None else HASHED}
        write(output, summary.watch(_count_turns(map(redaction.dialogue, dialogues), kinds)), kind="dialogues", **facts)
        for target in conversations.unused_feedback():
            what = f"feedback on {target!r:.60}, which is in none of the files"
            reader.reject("", b"", InputError(what, hint="give the file with that request, too"))
        counts = {name: conversations.counts[name] for name in COUNTED}
    return {
        "kind": "dialogues",
        **facts,
        **summary.facts(),
        **{name.replace(" ", "_"): n for name, n in counts.items()},
        "turns": dict(kinds),
        "redacted": dict(+redaction.replaced),
        "notes": [*reader.notes(), *_notes(conversations.counts, redaction)],
    }


class _LogReader:
    """Reads exchanges from files; values that cannot be used are passed on as bad lines, without secrets."""

    def __init__(self, options: LogOptions, redaction: Redaction) -> None:
        self.options, self.redaction = options, redaction
        self.format, self.first = options.format, ""
        self._path, self._columns = "", dict(options.columns or {})
        self._used: set[str] = set()
        self.unread = self._files = 0

    def read(self, path: str | Path, conversations: Conversations) -> Iterator[None]:
        """Add the exchanges and feedback of a file to conversations, and yield after each value."""
        self._path, self._files = str(path), self._files + 1
        form = self.options.format
        for where, value, around in log_values(path, arrays(form), self.reject):
            form = form or recognise(value, where)
            self.format = self.format or form
            found = False
            with self._setting_aside(where, value, form):
                if not isinstance(value, Mapping):
                    raise InputError(f"expected an object, got {value!r:.60}", hint="export the log again")
                for number, item in enumerate(log_format(form).exchanges(value, around)):
                    found = True
                    with self._setting_aside(where, value, form):
                        if isinstance(item, Exchange):
                            apply_columns(item, item.source or value, self._columns, self._used)
                            item.id = item.id or self._name_place(where, number)
                        conversations.add(item)
                self.unread += not found
            yield

    def _name_place(self, where: str, number: int) -> str:
        """Return an id for a request that has none; no two places have the same, lest requests be joined."""
        place = where.removeprefix(self._path).strip(": ").replace(" ", "-")
        return "/".join([str(self._files)] * (self._files > 1) + [place] + [str(number)] * (number > 0))

    @contextmanager
    def _setting_aside(self, where: str, value: Any, form: str) -> Iterator[None]:
        """Set a value aside if it cannot be used."""
        try:
            yield
        except InputError as error:
            self.reject(where, _as_line(value), error)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            what = f"not in the form of {form}: {format_error_line(error)}"
            self.reject(where, _as_line(value), InputError(what, hint="check --from, or name its fields: --map"))

    def reject(self, where: str, line: bytes, error: InputError) -> None:
        what, text = self.redaction.text(error.what), self.redaction.text(line[:_LONGEST].decode("utf-8", "replace"))
        rejected = Rejected(self._path, where or self._path, what, error.hint, text.encode())
        self.first = self.first or f"first: {rejected}"
        if self.options.on_reject:
            self.options.on_reject(rejected)

    def check(self) -> None:
        """Refuse a mapping to a place that no value had: a typing mistake would lose the field silently."""
        if absent := sorted(set(self._columns.values()) - self._used):
            raise InputError(f"no value has {absent[0]!r}, named by --map", hint="map fields to places in the log")

    def notes(self) -> list[str]:
        if not self.unread:
            return []
        return [f"not used: {count(self.unread, 'value')} about steps within a reply, not about a reply"]


def _as_line(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate
        return repr(value).encode("utf-8", "replace")


def _hide_people(dialogues: Iterable[Dialogue], names: Pseudonyms | None) -> Iterator[Dialogue]:
    """Yield dialogues with pseudonyms of speakers and raters; what importers know about turns names nobody."""
    for dialogue in dialogues:
        if names is None:
            yield dialogue
            continue
        hidden = names.dialogue(dialogue)
        turns = []
        for turn, before in zip(hidden.turns, dialogue.turns, strict=True):
            speaker = turn.speaker if before.speaker not in ROLES else before.speaker
            turns.append(replace(turn, speaker=speaker, fields=before.fields))
        yield replace(hidden, turns=tuple(turns), fields=dialogue.fields)


COUNTED = ("requests", "without conversation", "branches", "repeated")
ROLES = ("user", "human", "assistant", "gpt", "ai")  # speakers that are nobody in particular


def _count_turns(dialogues: Iterable[Dialogue], kinds: Counter[str]) -> Iterator[Dialogue]:
    for dialogue in dialogues:
        kinds["said"] += len(dialogue.turns)
        kinds.update(turn.kind for _, turn in dialogue.unspoken)
        yield dialogue


def _notes(counts: Counter[str], redaction: Redaction) -> list[str]:
    notes = []
    if n := counts["without conversation"]:
        of = count(counts["requests"], "request")
        notes.append(
            f"{n:,} of {of} name no conversation, and are dialogues of their own; to name it: --map dialogue=PLACE"
        )
    if n := counts["branches"]:
        notes.append(f"{count(n, 'dialogue')} branch off from an earlier turn of a conversation: …/branch-2")
    if n := counts["repeated"]:
        notes.append(f"{count(n, 'request')} repeated and read once")
    found = ", ".join(f"{n:,} like {kind}" for kind, n in (+redaction.kept).items())
    if found:
        notes.append(f"texts that look private were kept ({found}); to replace them: --redact")
    return notes
