# SPDX-License-Identifier: Apache-2.0
"""KokoroChat (Qi et al., 2025): Japanese counselling played by trained counsellors, rated by the client.

The client's own total score (`score`, 0 to 100) and 20 items are ratings with role `interlocutor`; unanswered items are
None. The three boxes that a client may tick (such as `unwilling_to_continue`) are 1 if ticked, otherwise 0. Turns have
no times: the last turn has the time of the client's review, so that dialogues can be ordered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from interloq.data.files.archives import read_files
from interloq.data.sets.items import json_lines
from interloq.records import INTERLOCUTOR, Dialogue, Rating, Turn

FILES = ("kokorochat_ja.jsonl",)
REVIEW = "review_by_client_en"
FACTS = ("evaluation_id", "evaluation_created_at", "client_id", "counselor_id")
BOXES = ("harmful_due_to_ignorance", "other_potentially_unethical", "unwilling_to_continue")
SPEAKERS = {"A": "client", "B": "counselor"}


def dialogues(path: str | Path) -> Iterator[tuple[str, Dialogue]]:
    """Yield the sessions; speakers are `client<id>` and `counselor<id>`."""
    for file in read_files(path, FILES):
        for item in json_lines(file):
            review = item.inner(REVIEW)
            names = {letter: f"{role}{review.number(f'{role}_id'):.0f}" for letter, role in SPEAKERS.items()}
            turns = []
            for turn in item.objects("turns"):
                speaker = turn.text("speaker")
                if speaker not in names:
                    raise item.error(f"the speaker must be one of {', '.join(names)}, got {speaker!r:.60}")
                turns.append(Turn(turn.text("text"), names[speaker]))
            if turns:
                turns[-1] = replace(turns[-1], time=review.text("evaluation_created_at"))
            client = names["A"]
            ratings = []
            for aspect, value in review.value.items():
                if aspect in BOXES:
                    ratings.append(Rating(float(value is not None), client, aspect, INTERLOCUTOR))
                elif aspect not in FACTS:
                    number = None if value is None else review.number(aspect)
                    ratings.append(Rating(number, client, aspect, INTERLOCUTOR))
            yield "all", Dialogue(f"kokorochat/{item.text('id')}", turns, ratings=ratings)
