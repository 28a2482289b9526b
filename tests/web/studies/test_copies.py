# SPDX-License-Identifier: Apache-2.0
"""Copies of conversations are recognised by id and texts; exports are remembered."""

from __future__ import annotations

from pathlib import Path

from interloq.records import Dialogue, Turn
from interloq.servers.replies import Reply
from interloq.web.database import Database
from interloq.web.studies.copies import DOWNLOAD, copied_items, exports_of, note_export
from tests.web.chat.test_chat_export import talk
from tests.web.chat.test_conversations import started
from tests.web.conftest import likert_task, stored_task


def test_the_same_id_with_other_texts_is_not_a_copy(study: Database) -> None:
    stored, person, _ = started(study)
    number = talk(study, stored, person, Reply("one"))
    turns = {"same": ["line 0", "one"], "other": ["line 0", "two"], "longer": ["line 0", "one", "more"]}
    for name, texts in turns.items():
        spoken = [Turn(text, ("p", "owl")[i % 2]) for i, text in enumerate(texts)]
        stored_task(study, likert_task(name), [Dialogue(f"chat/{number}", spoken, {"owl": "owl"})])
    with study.reading() as connection:
        assert list(copied_items(connection, person)) == ["same"]
        assert copied_items(connection, person + 1) == {}


def test_exports_are_remembered_once_per_file(study: Database, tmp_path: Path) -> None:
    stored, _, _ = started(study)
    with study.writing() as connection:
        for output in (tmp_path / "a.jsonl", None, tmp_path / "a.jsonl"):
            note_export(connection, stored.id, output)
        found = [one.split(" (")[0] for one in exports_of(connection, ["chat"])]
        assert found == [DOWNLOAD, str(tmp_path / "a.jsonl")]
        assert list(exports_of(connection, ["another"])) == []
