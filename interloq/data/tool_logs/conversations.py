# SPDX-License-Identifier: Apache-2.0
"""Requests of a log put together as conversations, on disk: a log may be larger than the memory.

Requests that name the same conversation are one dialogue, in the order of their times, or of the file if one has none.
A request often repeats the conversation so far; what is repeated is left out. A request that continues from an earlier
turn, such as a reply that was generated again, becomes a dialogue of its own. Requests that name no conversation are
never joined.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson

from interloq.data.records.jsonl import to_json
from interloq.data.records.parsers import PARSERS
from interloq.data.tool_logs.exchange import Exchange, Feedback, as_dialogue
from interloq.records import Dialogue, Rating, Turn

NOTHING_SAID = "nothing was said"
_TABLES = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=FILE;
CREATE TABLE request(number INTEGER PRIMARY KEY, conversation TEXT, id TEXT, data BLOB);
CREATE TABLE feedback(number INTEGER PRIMARY KEY, of TEXT, used INTEGER DEFAULT 0, data BLOB);
CREATE INDEX by_id ON request(id); CREATE INDEX by_conversation ON request(conversation);
CREATE INDEX by_target ON feedback(of);
"""


class Conversations:
    """Requests by conversation: `add` all of a log, then read `dialogues` once; `counts` says what happened."""

    def __init__(self) -> None:
        self._data = sqlite3.connect("", isolation_level=None)  # a file that disappears with the connection
        self._data.executescript(_TABLES)
        self._data.execute("BEGIN")
        self.counts: Counter[str] = Counter()

    def add(self, item: Exchange | Feedback) -> None:
        """Add a request or feedback."""
        if isinstance(item, Feedback):
            data = orjson.dumps({"rating": to_json(item.rating), "facts": item.facts})
            self._data.execute("INSERT INTO feedback(of, data) VALUES (?, ?)", (item.of, data))
            return
        dialogue = as_dialogue(item)
        conversation = item.conversation
        if not conversation:
            conversation = self._first_of(item.follows) or item.id
            self.counts["without conversation"] += not (item.follows or item.whole)
        times = [turn.time for turn in (*dialogue.turns, *(turn for _, turn in dialogue.unspoken)) if turn.time]
        data = orjson.dumps([min(times, default=""), to_json(dialogue)])
        self._data.execute(
            "INSERT INTO request(conversation, id, data) VALUES (?, ?, ?)", (conversation, item.id, data)
        )
        self.counts["requests"] += 1

    def close(self) -> None:
        """Remove the data."""
        self._data.close()

    def dialogues(self) -> Iterator[Dialogue]:
        """Yield the conversations in the order of their first requests."""
        query = "SELECT conversation FROM request GROUP BY conversation ORDER BY MIN(number)"
        for (conversation,) in self._data.execute(query):
            requests = []
            rows = self._data.execute("SELECT data FROM request WHERE conversation=? ORDER BY number", (conversation,))
            for (data,) in rows:
                time, value = orjson.loads(data)
                dialogue = PARSERS["dialogues"]({**value, "failure": value.get("failure", NOTHING_SAID)}, "")
                dialogue = replace(dialogue, failure=value.get("failure", ""))
                requests.append((time, _add_feedback(dialogue, self._feedback(dialogue.id))))
            if all(time for time, _ in requests):
                requests.sort(key=lambda request: request[0])
            in_order = sorted((each for _, each in requests), key=lambda request: _is_answered(request, requests))
            yield from self._join(conversation, self._with_feedback_of_traces(in_order))

    def unused_feedback(self) -> Iterator[str]:
        """Yield what feedback is of that is in no request; call it after `dialogues`."""
        for (target,) in self._data.execute("SELECT of FROM feedback WHERE NOT used ORDER BY number"):
            yield target

    def _first_of(self, follows: str) -> str:
        """Return the conversation of the request that another follows, or that request's id if it is not known."""
        row = self._data.execute("SELECT conversation FROM request WHERE id=? LIMIT 1", (follows,)).fetchone()
        return row[0] if row else follows

    def _feedback(self, of: str) -> list[tuple[Rating | None, dict[str, Any]]]:
        rows = self._data.execute("SELECT data FROM feedback WHERE of=? ORDER BY number", (of,)).fetchall()
        self._data.execute("UPDATE feedback SET used=1 WHERE of=?", (of,))
        feedback = []
        for (data,) in rows:
            value = orjson.loads(data)
            rating = PARSERS["ratings"]({"value": None, **value["rating"]}, "") if value["rating"] else None
            feedback.append((rating, value["facts"]))
        return feedback

    def _with_feedback_of_traces(self, requests: list[Dialogue]) -> list[Dialogue]:
        """Add feedback of traces to the last request in each."""
        last: dict[str, int] = {}
        for place, request in enumerate(requests):
            for turn in request.turns[-1:]:
                last[str((turn.fields or {}).get("trace_id", ""))] = place
        for trace, place in last.items():
            if trace not in ("", requests[place].id):
                requests[place] = _add_feedback(requests[place], self._feedback(trace))
        return requests

    def _join(self, conversation: str, requests: list[Dialogue]) -> Iterator[Dialogue]:
        branches: list[_Joined] = []
        seen: set[str] = set()
        for request in requests:
            line = f"{request.id} {[_key(turn) for turn in request.all_turns()]}"
            if line in seen:
                self.counts["repeated"] += 1
                continue
            seen.add(line)
            if not any(branch.extend(request) for branch in branches):
                branches.append(_Joined(request))
        self.counts["branches"] += len(branches) - 1
        ratings: list[Rating] = []
        facts: dict[str, Any] = {}
        if conversation != requests[0].id:
            for rating, further in self._feedback(conversation):
                if rating and rating not in ratings:
                    ratings.append(rating)
                facts |= further
        yield branches[0].dialogue(conversation, tuple(ratings), facts)
        for number, branch in enumerate(branches[1:], start=2):
            yield branch.dialogue(f"{conversation}/branch-{number}", (), {})


def _is_answered(request: Dialogue, requests: list[tuple[str, Dialogue]]) -> bool:
    """Return False for a request whose reply is in another record with its id, as in batches."""
    if any(turn.fields for turn in request.all_turns()):
        return True
    return sum(other.id == request.id for _, other in requests) == 1


def _add_feedback(request: Dialogue, feedback: list[tuple[Rating | None, dict[str, Any]]]) -> Dialogue:
    """Return the dialogue of a request with feedback at its reply."""
    if not feedback or not request.turns:
        return request
    reply = request.turns[-1]
    ratings, facts = list(reply.ratings), dict(reply.fields or {})
    for rating, further in feedback:
        ratings += [rating] if rating else []
        facts |= {name: item for name, item in further.items() if item is not None}
    reply = replace(reply, ratings=tuple(ratings), fields=facts or None)
    return replace(request, turns=(*request.turns[:-1], reply))


class _Joined:
    """The turns of a conversation so far."""

    def __init__(self, first: Dialogue) -> None:
        self.turns = first.all_turns()
        self.systems = [first.systems]
        self.failures = [first.failure] if first.failure else []
        self.occasion = first.occasion

    def extend(self, request: Dialogue) -> bool:
        """Add what a request has beyond the turns so far; return False if it continues from an earlier turn."""
        turns = request.all_turns()
        known = [_key(turn) for turn in self.turns]
        while turns and turns[0].kind and _key(turns[0]) in known:  # the same instructions again
            turns.pop(0)
        new = [_key(turn) for turn in turns]
        sent = set(new)
        earlier = [key for key in known if not key[2] or key in sent]
        shared = _shared_history(earlier, new)
        if shared is None:
            return False
        self.turns += turns[shared:]
        self.systems.append(request.systems)
        if request.failure:
            self.failures.append(request.failure)
        return True

    def dialogue(self, id: str, ratings: tuple[Rating, ...], facts: dict[str, Any]) -> Dialogue:
        """Return the conversation. If several models replied, each is a speaker of its own."""
        systems: dict[str, str] = {}
        for each in self.systems:
            systems |= each
        models = {system for each in self.systems for system in each.values()}
        turns = self.turns
        if len(models) > len(systems):
            names = {str((turn.fields or {}).get("model", "")) for turn in turns}
            turns = [_name_after_model(turn, models & names) for turn in turns]
            systems = {model: model for model in sorted(models & names)}
        failure = "; ".join(self.failures)
        if not failure and not any(not turn.kind for turn in turns):
            failure = NOTHING_SAID
        fields = {name: item for name, item in facts.items() if item is not None}
        return Dialogue(id, turns, systems, ratings, 0, failure, self.occasion, "", fields)


def _name_after_model(turn: Turn, models: set[str]) -> Turn:
    model = str((turn.fields or {}).get("model", ""))
    return replace(turn, speaker=model) if model in models else turn


def _key(turn: Turn) -> tuple[str, str, str]:
    return turn.speaker, turn.text, turn.kind


def _shared_history(known: list[tuple[str, str, str]], new: list[tuple[str, str, str]]) -> int | None:
    """Return how many turns of a request repeat the end of the conversation; None if they repeat only its start.

    The last turn of a request is always new, and a request of one turn repeats nothing.
    """
    for shared in range(min(len(known), len(new) - 1), 0, -1):
        ends_fit = known[-shared] == new[0] and known[-1] == new[shared - 1]
        if ends_fit and known[-shared:] == new[:shared]:
            return shared
    if len(new) > 2 and new[:2] == known[:2]:
        return None
    return 0
