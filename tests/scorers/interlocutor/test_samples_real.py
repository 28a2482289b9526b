"""Labels and ratings of published dialogues; users, ratings and exchanges were also counted without this package."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from interloq import InputError
from interloq.data.sets.registry import read_dataset
from interloq.scorers.interlocutor.continuity_labels import SampleSelection, continuity
from interloq.scorers.interlocutor.parts import along, conversations_by_user, limit_conversations, split
from interloq.scorers.interlocutor.samples_file import find_rated_turns, select_rated_replies

pytestmark = pytest.mark.skipif(not os.environ.get("INTERLOQ_DATA"), reason="INTERLOQ_DATA names no folder")


def test_byu_chitchat_has_users_with_enough_conversations() -> None:
    selection = SampleSelection(by="own-time")
    found = continuity(read_dataset("byu_chitchat"), selection)
    assert found.cut is None
    assert found.dropped == {"one_speaker": 3_150, "empty_turns": 12}
    conversations = [len(ids) for ids in conversations_by_user(found.judged).values()]
    assert [sum(n >= least for n in conversations) for least in (1, 10, 30)] == [1_196, 140, 40]
    parts = split(limit_conversations(found.judged, selection, Counter()), selection, Counter())
    assert {part: len({each.user for each in judged}) for part, judged in parts.items()} == dict.fromkeys(parts, 40)
    assert {part: len(judged) for part, judged in parts.items()} == {"train": 48_601, "dev": 8_829, "test": 14_482}


def test_clients_of_kokorochat() -> None:
    judged = list(find_rated_turns(read_dataset("kokorochat"), Counter()))
    sessions = Counter(each.user for each in judged)
    assert [sum(n >= least for n in sessions.values()) for least in (1, 10, 30)] == [463, 249, 38]
    unwilling = [r.value for each in judged for r in each.ratings if r.aspect == "unwilling_to_continue"]
    assert (sum(value == 1 for value in unwilling), len(unwilling)) == (209, 6_589)


def test_hazumi_is_cut_along_its_dialogues() -> None:
    samples, dropped = list(read_dataset("hazumi1902")), Counter[str]()
    assert (len(samples), len({sample.id.partition("#")[0] for sample in samples})) == (2_514, 30)
    own = [r for sample in samples for r in sample.ratings if r.role == "interlocutor"]
    assert sum(rating.value is None for rating in own) == 26
    parts = along(select_rated_replies(samples, dropped), SampleSelection())
    assert {part: len(found) for part, found in parts.items()} == {"train": 1_982, "dev": 250, "test": 249}
    assert dropped == {"empty_replies": 14, "replies_without_interlocutor_rating": 19}


def test_the_task_of_real_persona_chat_ended_its_dialogues() -> None:
    with pytest.raises(InputError, match="end after exactly 30 turns"):
        continuity(read_dataset("real_persona_chat", subset="human"), SampleSelection())
