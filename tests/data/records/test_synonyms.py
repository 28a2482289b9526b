"""Fields under other names."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from interloq import InputError, Sample, load
from interloq.data.records.synonyms import read_columns
from interloq.errors import ReadWarning
from tests.made_files import put


@pytest.mark.parametrize("text", ["response", "response=", "=reply", "id=a,id=b", "response=a,system=a", ""])
def test_a_mapping_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InputError, match=r"write response=reply,system=model|map each name once"):
        read_columns(text)


@pytest.mark.parametrize("name", ["reply", "answer", "output", "hypothesis"])
def test_a_field_under_another_name_is_read_and_said(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / "a.jsonl", json.dumps({name: "fine", "reference": "good", "model": "bot"}) + "\n")
    with pytest.warns(ReadWarning, match=f"'{name}' is read as 'response'; 'reference' is read as 'references'"):
        assert load(path) == [Sample("1", (), "fine", ["good"], "bot")]


def test_between_two_names_nobody_guesses(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"reply": "a", "answer": "b"}\n')
    message = "'reply' and 'answer' could both be the response; say which: --map response=reply"
    with pytest.raises(InputError, match=message):
        load(path)
    assert load(path, columns={"response": "answer"}) == [Sample("1", (), "b", fields={"reply": "a"})]


def test_a_mapping_is_taken_at_its_word(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"response": "a", "reference": "b"}\n')
    assert load(path, columns={"response": "reference", "references": "response"}) == [Sample("1", (), "b", ["a"])]
    with pytest.raises(InputError, match=r"cannot map 'respons' of samples; did you mean 'response'\?"):
        load(path, columns={"respons": "reference"})
    with pytest.raises(InputError, match="no record has 'bott', named by --map"):
        load(path, columns={"system": "bott"})


@pytest.mark.parametrize("name", ["dialogue", "dialogue_id", "conversation_id", "session", "session_id", "thread"])
def test_the_dialogue_of_a_sample_has_many_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"response": "a", name: 7}) + "\n" + json.dumps({"response": "b", name: "x"}) + "\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [sample.dialogue for sample in load(path)] == ["7", "x"]
    assert [f"{name!r} is read as 'dialogue'" in str(warning.message) for warning in caught] == [True] * (
        name != "dialogue"
    )
    table = put(tmp_path / "a.csv", f"response,{name}\na,7\nb,x\n")
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert [sample.dialogue for sample in load(table)] == ["7", "x"]


def test_of_several_names_of_a_dialogue_the_closest_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "a", "session_id": "s", "conversation_id": "c", "thread": ["a turn"]}\n')
    with pytest.warns(ReadWarning, match="'conversation_id' is read as 'dialogue'"):
        assert load(path)[0].dialogue == "c"
    assert load(path, columns={"dialogue": "session_id"})[0].dialogue == "s"


def test_turns_are_not_the_name_of_a_dialogue(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"response": "a", "dialogue": ["b", "c"]}\n')
    assert load(path) == [Sample("1", (), "a")]
    with pytest.raises(InputError, match="dialogue must be text"):
        load(path, columns={"dialogue": "dialogue"})


def test_each_sample_may_be_said_to_be_a_dialogue_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "a", "id": "x", "session": "s"}\n{"response": "b", "session": "s"}\n')
    assert [(s.id, s.dialogue) for s in load(path, columns={"dialogue": "id"})] == [("x", "x"), ("2", "2")]


def test_a_name_with_dots_finds_a_field_within_an_object(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record = {"outputs": {"answer": "fine"}, "choices": [{"text": "a"}, {"text": "b"}], "a.b": "bot"}
    path.write_text(json.dumps(record) + "\n")
    columns = {"response": "outputs.answer", "references": "choices.1.text", "system": "a.b"}
    assert load(path, columns=columns) == [Sample("1", (), "fine", ["b"], "bot")]
    with pytest.raises(InputError, match="response"):
        load(path, columns={"response": "outputs.reply"})
