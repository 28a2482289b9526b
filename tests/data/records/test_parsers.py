"""Records from JSON."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError, Rating, Reference, Sample, Score, Turn, load, write
from interloq.data.records.jsonl import to_json
from interloq.data.records.parsers import PARSERS
from interloq.errors import ReadWarning

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
sample_records = st.builds(
    Sample,
    id=texts,
    context=st.lists(st.builds(Turn, texts, texts, texts), max_size=3),
    response=texts,
    references=st.lists(st.builds(Reference, texts, st.floats(-1, 1), texts), max_size=3),
    system=texts,
    ratings=st.lists(st.builds(Rating, st.none() | st.floats(-9, 9), texts, texts, texts, texts), max_size=3),
    dialogue=texts,
    fields=st.dictionaries(st.sampled_from(["topic", "", "näme"]), texts | st.integers(-9, 9) | st.booleans()),
)


@given(sample_records)
def test_every_sample_survives_json(sample: Sample) -> None:
    assert PARSERS["samples"](orjson.loads(orjson.dumps(to_json(sample))), "1") == sample


def test_unscored_is_null_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    score = Score("1", "bleu", None, "no references", "bot")
    write(path, [score], kind="scores")
    assert json.loads(path.read_text().splitlines()[1]) == {
        "id": "1", "metric": "bleu", "value": None, "reason": "no references", "system": "bot",
    }  # fmt: skip
    assert load(path, kind="scores") == [score]


def test_the_annotator_of_a_rating(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "a", "ratings": [{"annotator": "ann", "score": 4, "dimension": "fluent"}]}\n')
    with pytest.warns(ReadWarning):
        assert load(path)[0].ratings == (Rating(4.0, "ann", "fluent"),)


def test_details_of_a_score_are_read_and_omitted_if_empty() -> None:
    written = {"id": "s", "metric": "m", "value": 0.5, "details": {"low": 0.25, "helps": {"text": "t"}}}
    score = PARSERS["scores"](written, "1")
    assert to_json(score) == written
    assert "details" not in to_json(PARSERS["scores"]({"id": "s", "metric": "m", "value": 1}, "1"))
    assert hash(score)


def test_a_field_within_an_object_is_proposed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"outputs": {"answer": "fine"}, "meta": {"model": "x"}}\n')
    with pytest.raises(InputError, match=r"--map response=outputs\.answer"):
        load(path)


@pytest.mark.parametrize("value", [1e308, -1e51, 10**400])
def test_numbers_whose_squares_no_float_can_hold_are_refused(value: float) -> None:
    with pytest.raises(InputError, match="between -1e\\+50 and 1e\\+50"):
        PARSERS["scores"]({"id": "1", "metric": "mine", "value": value}, "1")
    with pytest.raises(InputError, match="between"):
        PARSERS["samples"]({"id": "1", "context": ["hi"], "response": "yes", "ratings": [value]}, "1")
