"""Fields under other names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import InputError, Sample, load
from interloq.data.synonyms import read_columns
from interloq.errors import ReadWarning


@pytest.mark.parametrize("text", ["response", "response=", "=reply", "id=a,id=b", "response=a,system=a", ""])
def test_a_mapping_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InputError, match=r"write response=reply,system=model|map each name once"):
        read_columns(text)


@pytest.mark.parametrize("name", ["reply", "answer", "output", "hypothesis"])
def test_a_field_under_another_name_is_read_and_said(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({name: "fine", "reference": "good", "model": "bot"}) + "\n")
    with pytest.warns(ReadWarning, match=f"'{name}' is read as 'response'; 'reference' is read as 'references'"):
        assert load(path) == [Sample("1", (), "fine", ["good"], "bot")]


def test_between_two_names_nobody_guesses(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"reply": "a", "answer": "b"}\n')
    said = "'reply' and 'answer' could both be the response; say which: --map response=reply"
    with pytest.raises(InputError, match=said):
        load(path)
    assert load(path, columns={"response": "answer"}) == [Sample("1", (), "b")]


def test_a_mapping_is_taken_at_its_word(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "a", "reference": "b"}\n')
    assert load(path, columns={"response": "reference", "references": "response"}) == [Sample("1", (), "b", ["a"])]
    with pytest.raises(InputError, match=r"cannot map 'respons' of samples; did you mean 'response'\?"):
        load(path, columns={"respons": "reference"})
    with pytest.raises(InputError, match="no record has 'bott', named by --map"):
        load(path, columns={"system": "bott"})
