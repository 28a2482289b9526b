"""Which samples belong to one dialogue."""

from __future__ import annotations

from collections.abc import Sequence

from interloq import Sample
from interloq.data.records.dialogue_names import DialogueFinder, name_dialogues, natural


def names(samples: Sequence[Sample]) -> list[str]:
    return [sample.dialogue for sample in name_dialogues(samples)]


def test_numbers_in_ids_are_read_as_numbers() -> None:
    assert sorted(["o-10", "o-9", "o-1/r-2", "o-1/r-10"], key=natural) == ["o-1/r-2", "o-1/r-10", "o-9", "o-10"]


def test_other_digits_are_text() -> None:
    assert sorted(["c²", "c10", "c9", "²", "٣"], key=natural) == ["c9", "c10", "c²", "²", "٣"]


def test_a_context_that_contains_the_reply_of_another_continues_it() -> None:
    talk = [
        Sample("b", ["tea ?", "yes", "milk ?"], "no"),
        Sample("c", ["tea ?", "yes", "milk ?", "no", "sugar ?"], "two"),
        Sample("a", ["tea ?"], "yes"),
        Sample("x", ["coffee ?"], "yes"),
    ]
    assert names(talk) == ["a", "a", "a", ""]


def test_a_context_may_contain_the_reply_of_somebody_else() -> None:
    """Contexts of a test set often come from a log, whatever the system replied before."""
    assert names([Sample("a", ["tea ?"], "I am a bot"), Sample("b", ["tea ?", "yes", "milk ?"], "no")]) == ["a", "a"]


def test_a_dialogue_may_start_with_a_reply() -> None:
    assert names([Sample("a", (), "Hello"), Sample("b", ["Hello", "hi"], "How are you ?")]) == ["a", "a"]


def test_conversations_with_the_same_greeting_are_not_one() -> None:
    talk = []
    for i in range(3):
        talk += [Sample(f"{i}/1", ["hi"], "hello"), Sample(f"{i}/2", ["hi", "hello", f"topic {i}"], "I see")]
    assert names(talk) == ["0/1", "0/1", "1/1", "1/1", "2/1", "2/1"]


def test_replies_to_the_same_long_context_belong_together() -> None:
    same = [Sample(id, ["tea ?", "yes", "milk ?"], reply) for id, reply in (("a", "no"), ("b", "why ?"))]
    assert names(same) == ["a", "a"]
    assert names([Sample("a", ["hi"], "no"), Sample("b", ["hi"], "why ?")]) == ["", ""]


def test_systems_do_not_continue_each_other() -> None:
    talk = [
        Sample(f"{n}", context, reply, system=system)
        for system in "pq"
        for n, (context, reply) in enumerate([(["tea ?"], "yes"), (["tea ?", "yes", "milk ?"], "no")])
    ]
    assert names(talk) == ["0", "0", "0", "0"]
    assert names([talk[0], talk[3]]) == ["", ""]


def test_a_named_dialogue_is_kept_and_ids_never_count() -> None:
    assert names([Sample("a", ["tea ?"], "yes", dialogue="d"), Sample("b", ["tea ?", "yes", "milk ?"], "no")]) == [
        "d",
        "",
    ]
    assert names([Sample(f"ticket#{i}", [f"question {i}"], "yes") for i in range(3)]) == ["", "", ""]


def test_the_parts_that_samples_come_in_do_not_matter() -> None:
    talk = [Sample("b", ["tea ?", "yes", "milk ?"], "no"), Sample("a", ["tea ?"], "yes")]
    finder = DialogueFinder()
    for sample in talk:
        finder.add([sample])
    assert finder.names() == names(talk) == ["a", "a"]
