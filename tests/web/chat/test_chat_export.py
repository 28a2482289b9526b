"""Conversations as records that other stages read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq.errors import InputError
from interloq.play.samples import samples
from interloq.play.talk import failures, kind_of
from interloq.rank.rank_file import rank_file
from interloq.rank.rank_options import RankOptions
from interloq.rank.survival import Survival
from interloq.records import INTERLOCUTOR, OUTSIDER
from interloq.scorers.interlocutor.continuity_labels import SampleSelection, continuity
from interloq.scorers.interlocutor.samples_file import SampleSource, continuity_file
from interloq.servers.replies import Reply
from interloq.web.access import people
from interloq.web.admin import collected
from interloq.web.admin.kind_figures import estimate_curves
from interloq.web.admin.monitor import chatter_gap
from interloq.web.chat import conversations as chat
from interloq.web.chat.chat_export import send_to_outsiders
from interloq.web.chat.chat_task import questions_after
from interloq.web.database import Database
from interloq.web.studies.tasks import Stored, get_task
from interloq.web.work import answers, assign
from tests.web.chat.test_conversations import start_chat
from tests.web.conftest import (
    NAMES,
    add_annotators,
    chat_task,
    export,
    finish_item,
    store_chat,
    submit,
    take_item,
)


def talk(study: Database, stored: Stored, person: int, *replies: Reply) -> int:
    """Hold a conversation in which each usable reply is answered, except the last one; return its assignment."""
    number = take_item(study, stored, person).id
    with study.writing() as connection:
        own = (connection, stored.settings, person, number)
        state = chat.get_chat(*own)
        for reply in replies:
            place = len(state.lines)
            if not state.waits:
                place = len(chat.say(*own, place, f"line {place}").lines)
            state = chat.store_reply(*own, place, reply)
    return number


def rate(study: Database, stored: Stored, person: int, number: int, **guesses: int) -> None:
    """End a conversation; rate each reply with 2 and the whole with 5."""
    with study.writing() as connection:
        own = (connection, stored.settings, person, number)
        chat.end(*own)
        asked = questions_after(stored.settings, chat.reply_places(*own))
        given = [
            {"unit": unit, "aspect": one.aspect, "value": guesses.get(one.aspect, 2 if unit else 5)}
            for unit, one in asked
        ]
        answers.submit(*own, "submission", given, "page", asked=asked)


def labels(records: list[Any]) -> list[dict[str, float]]:
    assert {rating.role for record in records for rating in record.ratings} == {INTERLOCUTOR}
    return [{rating.aspect: rating.value for rating in record.ratings} for record in records]


def test_ends_by_people_are_labels_and_ends_by_the_limit_are_not(study: Database, tmp_path: Path) -> None:
    stored, ended, _ = start_chat(study, turns=2, per_item=9)
    limit, left, talking = add_annotators(study, stored, 3)
    number = talk(study, stored, left, Reply("one"))
    with study.writing() as connection:
        assign.return_abandoned(connection, stored, 1e12)
    rate(study, stored, ended, talk(study, stored, ended, Reply("", "timed out"), Reply("one")))
    rate(study, stored, limit, talk(study, stored, limit, Reply("one"), Reply("two")))
    talk(study, stored, talking, Reply("one"))
    dialogues = export(study, stored.id, tmp_path / "dialogues.jsonl")
    assert sorted(labels(dialogues), key=str) == [
        {"continued": 0}, {"overall": 5, "continued": 0}, {"overall": 5, "continued": None},
    ]  # fmt: skip
    judged = continuity(dialogues, SampleSelection(min_conversations=0))
    assert [one.replied for one in judged.judged] == [False, False, True]
    assert judged.dropped == {"unlabelled_ends": 1}
    replies = export(study, stored.id, tmp_path / "replies.jsonl", replies=True)
    found = {sample.id: label for sample, label in zip(replies, labels(replies), strict=True)}
    assert found.pop(f"chat/{number}#1") == {"continued": 0}
    assert sorted(found.values(), key=str) == [
        {"overall": 2, "continued": 0}, {"overall": 2, "continued": 1}, {"overall": 2},
    ]  # fmt: skip


def test_other_stages_read_what_is_exported(study: Database, tmp_path: Path) -> None:
    stored, person, _ = start_chat(study)
    rate(study, stored, person, talk(study, stored, person, Reply("", "timed out"), Reply("a"), Reply("b")))
    (dialogue,) = export(study, stored.id, tmp_path / "dialogues.jsonl")
    with study.reading() as connection:
        hashed = NAMES(people.raters(connection)[person])
    assert [turn.speaker for turn in dialogue.turns] == [hashed, "secret-parrot"] * 2
    assert {rating.rater for rating in dialogue.ratings} == {hashed}
    assert dialogue.systems == {"secret-parrot": "secret-parrot"}
    assert [(who, kind_of(what)) for who, what in failures(dialogue)] == [("secret-parrot", "timed out")]
    replies = export(study, stored.id, tmp_path / "replies.jsonl", replies=True)
    assert [(one.id, one.response) for one in samples([dialogue])] == [(one.id, one.response) for one in replies]
    judged = continuity([dialogue], SampleSelection(min_conversations=0)).judged
    assert [(one.sample().id, one.replied) for one in judged] == [(replies[0].id, True), (replies[1].id, False)]
    with pytest.raises(InputError, match="on their own"):
        export(study, stored.id, tmp_path / "alone.jsonl", alone=True)


def test_curves_of_the_export_are_those_of_the_page(study: Database, tmp_path: Path) -> None:
    bots = {"secret-parrot": "echo", "secret-owl": "eliza"}
    stored, first, _ = start_chat(study, bots=bots, turns=3, per_item=9, options={"replies": []})
    lengths = iter([1, 3, 2, 1, 3, 3, 2, 1])
    for person in (first, *add_annotators(study, stored, 3)):
        for _ in bots:
            replies = [Reply(f"reply {i}") for i in range(next(lengths))]
            rate(study, stored, person, talk(study, stored, person, *replies))
    export(study, stored.id, tmp_path / "talks.jsonl")
    export(study, stored.id, tmp_path / "replies.jsonl", replies=True)
    options = RankOptions(
        dialogues=[tmp_path / "talks.jsonl"], aspect="continued", survival=True, n_bootstrap=0, n_permutations=0
    )
    (ranking,) = rank_file([tmp_path / "replies.jsonl"], options).rankings
    with study.reading() as connection:
        seen = estimate_curves(chat.all_chats(connection, stored.settings, stored.id))
    assert {one.system for one in seen} == set(bots)
    assert [(one.system, _values(one)) for one in ranking.survival] == [(one.system, _values(one)) for one in seen]
    found = continuity_file(
        SampleSource(tmp_path / "talks.jsonl"), tmp_path / "out", SampleSelection(min_conversations=1, by="user")
    )
    assert found["dropped"] == {"unlabelled_ends": 3}
    assert found["user_ids"] == "hashed"


def _values(curve: Survival) -> list[tuple[float, int]]:
    return [(one.value, one.n) for one in curve.turns]


def test_outsiders_rate_conversations_and_the_gap_is_known(study: Database) -> None:
    stored, chatter, _ = start_chat(study)
    with study.writing() as connection, pytest.raises(InputError, match="no conversation is over yet"):
        send_to_outsiders(connection, stored, NAMES)
    rate(study, stored, chatter, talk(study, stored, chatter, Reply("one")))
    with study.writing() as connection:
        task = get_task(connection, send_to_outsiders(connection, stored, NAMES))
        (own,) = collected.pages(connection, stored.id)
        assert own.cluster not in collected.clusters(connection, stored.id)  # a conversation is an item of its own
    (outsider,) = add_annotators(study, task)
    page = take_item(study, task, outsider)
    assert "secret" not in str(page.shown)
    finish_item(study, task, outsider, page, 2)
    with study.reading() as connection:
        gap = chatter_gap(collected.pages(connection, task.id), "overall")
    assert {name: one.value for name, one in gap.items()} == {"secret-parrot": 3}  # the chatter gave 5


def test_outsiders_who_guess_do_not_see_who_is_a_bot(study: Database, tmp_path: Path) -> None:
    options = {"guess": True, "which_bot": {"secret-owl": "The wise one", "secret-parrot": "The chatty one"}}
    bots = {"secret-parrot": "echo", "secret-owl": "eliza"}
    stored, chatter, _ = start_chat(study, bots=bots, options={**options, "replies": []})
    rate(study, stored, chatter, talk(study, stored, chatter, Reply("one")), guessed_human=1, guessed_partner=2)
    with study.writing() as connection:
        task = get_task(connection, send_to_outsiders(connection, stored, NAMES))
    (outsider,) = add_annotators(study, task)
    page = take_item(study, task, outsider)
    assert {key for turn in page.shown["units"][0]["turns"] for key in turn} == {"speaker", "text"}
    values = {"overall": 2, "guessed_human_a": 1, "guessed_human_b": 0, "guessed_partner": 1}
    given = [{"unit": 0, "aspect": aspect, "value": value} for aspect, value in values.items()]
    submit(study, task, outsider, page.id, given)
    (dialogue,) = export(study, task.id, tmp_path / "out.jsonl")
    (bot,) = dialogue.systems
    right = bot == "secret-parrot"
    assert {(rating.role, rating.aspect, rating.system): rating.value for rating in dialogue.ratings} == {
        (INTERLOCUTOR, "overall", ""): 5,
        (INTERLOCUTOR, "guessed_human", ""): 1,
        (INTERLOCUTOR, "guessed_partner", ""): 2,
        (INTERLOCUTOR, "recognised", ""): right,
        (INTERLOCUTOR, "continued", ""): 0,
        (OUTSIDER, "overall", ""): 2,
        (OUTSIDER, "person_guessed_human", ""): 1,
        (OUTSIDER, "guessed_human", bot): 0,
        (OUTSIDER, "guessed_partner", ""): 1,
        (OUTSIDER, "recognised", ""): not right,
    }


def test_only_chats_are_sent_once(study: Database) -> None:
    stored, chatter, _ = start_chat(study)
    rate(study, stored, chatter, talk(study, stored, chatter, Reply("one")))
    with study.writing() as connection:
        task = get_task(connection, send_to_outsiders(connection, stored, NAMES))
        with pytest.raises(InputError, match="already"):
            send_to_outsiders(connection, stored, NAMES)
        with pytest.raises(InputError, match="is not a chat"):
            send_to_outsiders(connection, task, NAMES)


def test_a_given_first_message_counts_as_given(study: Database, tmp_path: Path) -> None:
    stored = store_chat(study, chat_task(options={"first": "line 0"}))
    (person,) = add_annotators(study, stored)
    rate(study, stored, person, talk(study, stored, person, Reply("one")))
    (dialogue,) = export(study, stored.id, tmp_path / "dialogues.jsonl")
    assert (dialogue.given, [turn.text for turn in dialogue.turns]) == (1, ["line 0", "one"])
