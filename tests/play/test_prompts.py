"""Prompts: contexts from samples, from files without replies, and from lines of text."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Rating, Reference, RejectedWarning, Sample, Turn
from interloq.play.prompts import count_repeated_contexts, group_prompts, prompts_fingerprint, read_prompts
from interloq.play.prompts import repeat_prompts as repeat
from tests.made_files import put


@pytest.mark.filterwarnings("ignore::interloq.errors.ReadWarning")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.jsonl", '{"id":"7","prompt":"hi","expected":"hello","topic":"sea"}\n'),
        (
            "p.jsonl",
            '{"kind":"samples","schema":1}\n{"id":"7","context":["hi"],"references":["hello"],"topic":"sea"}\n',
        ),
        ("p.jsonl", '{"id":"7","context":["hi"],"response":null,"references":["hello"],"topic":"sea"}\n'),
        ("p.jsonl", '[{"id":"7","messages":[{"role":"user","content":"hi"}],"target":"hello","topic":"sea"}]'),
        ("p.csv", "id,context,reference,topic\n7,hi,hello,sea\n"),
        ("p.csv", "id,context,response,reference,topic\n7,hi,,hello,sea\n"),
    ],
)
def test_a_context_needs_no_reply(tmp_path: Path, name: str, text: str) -> None:
    (prompt,) = read_prompts(put(tmp_path / name, text))
    sample = prompt.sample
    assert (sample.id, [turn.text for turn in sample.context], sample.response) == ("7", ["hi"], "")
    assert sample.references == (Reference("hello"),)
    assert sample.fields == {"topic": "sea"}
    assert prompt.given == ()


def test_lines_of_text_have_tabs_between_turns(tmp_path: Path) -> None:
    prompts = read_prompts(put(tmp_path / "p.txt", "hi\thello\n\nhow are you?\n"))
    assert [(p.sample.id, [turn.text for turn in p.sample.context]) for p in prompts] == [
        ("1", ["hi", "hello"]),
        ("3", ["how are you?"]),
    ]
    with pytest.raises(InputError, match="no prompt in the file"):
        read_prompts(put(tmp_path / "empty.txt", "\n \n"))
    with pytest.raises(InputError, match=r"bad.txt:2: .*UTF-8"):
        read_prompts(put(tmp_path / "bad.txt", b"hi\n\xff\n"))


def test_a_record_without_a_context_is_a_bad_line(tmp_path: Path) -> None:
    path = put(tmp_path / "p.jsonl", '{"id":"1","context":["hi"]}\n{"id":"2","response":"no context"}\n')
    with pytest.warns(RejectedWarning, match="no context to reply to; the record has 'id', 'response'"):
        assert [prompt.sample.id for prompt in read_prompts(path)] == ["1"]


def test_rows_of_several_systems_are_one_prompt() -> None:
    shared = {"topic": "sea"}
    rows = [
        Sample("1", ["hi"], "x", ["r", "s"], "a", [4], fields={**shared, "seconds": 3}),
        Sample("1", ["hi"], "y", ["r", "t"], "b", fields={**shared, "seconds": 5}),
        Sample("1", ["hi"], "", ["r"], "silent", fields=shared),
        Sample("2", ["hi"], ""),
    ]
    first, second = group_prompts(rows)
    assert first.sample == Sample("1", ["hi"], "", ["r", "s", "t"], fields=shared)
    assert first.given == tuple(rows[:3]), "an empty reply of a named system was given"
    assert first.given[0].ratings == (Rating(4.0, "1"),)
    assert second.given == ()
    assert count_repeated_contexts([first, second]) == 1
    with pytest.raises(InputError, match=r"'1' has different contexts for the systems 'a' and '\(none\)'"):
        group_prompts([rows[0], Sample("1", ["ho"], "z")])
    with pytest.raises(InputError, match="different contexts"):
        group_prompts([rows[0], Sample("1", [Turn("hi", "ann")], "z", system="c")])


def test_repeats_have_ids_of_their_own_and_one_dialogue() -> None:
    talk = ["a", "b", "c", "d"]
    prompts = group_prompts(
        [Sample("1", talk[:2]), Sample("2", talk), Sample("3", ["z"]), Sample("4", ["y"], dialogue="d")]
    )
    once = repeat(prompts, 1)
    assert [(sample.id, sample.dialogue) for sample in once] == [("1", ""), ("2", ""), ("3", ""), ("4", "d")]
    twice = repeat(prompts, 2)
    assert [sample.id for sample in twice] == [
        "1",
        "1/repeat-2",
        "2",
        "2/repeat-2",
        "3",
        "3/repeat-2",
        "4",
        "4/repeat-2",
    ]
    assert [sample.dialogue for sample in twice[::2]] == ["1", "1", "3", "d"], "2 continues 1"
    assert [sample.dialogue for sample in twice[1::2]] == ["1", "1", "3", "d"]
    with pytest.raises(InputError, match="two replies would have the id '3/repeat-2'"):
        repeat(group_prompts([Sample("3", ["x"]), Sample("3/repeat-2", ["y"])]), 2)


def test_the_fingerprint_is_of_ids_and_contexts_only() -> None:
    prompts = group_prompts([Sample("1", ["a"], "x", ["r"], "s")])
    assert prompts_fingerprint(prompts) == prompts_fingerprint(group_prompts([Sample("1", ["a"])]))
    for other in (Sample("2", ["a"]), Sample("1", ["b"]), Sample("1", [Turn("a", "ann")]), Sample("1", ["a", ""])):
        assert prompts_fingerprint(prompts) != prompts_fingerprint(group_prompts([other]))
