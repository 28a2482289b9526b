"""Items of data sets: what is malformed is named."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError
from interloq.data.files.archives import DataFile
from interloq.data.sets import fed, grade, multiref_dailydialog, predictive_engagement, usr
from interloq.data.sets.items import DatasetItem, rows
from interloq.data.sets.registry import read_dataset
from tests.published_layouts import (
    ENGAGEMENT,
    FED,
    GRADE,
    GUPTA,
    engagement,
    grade_item,
    packed,
    usr_item,
    write_csv,
    write_engagement,
    write_fed,
    write_grade,
    write_gupta,
    write_json,
    write_usr,
)


def broken_usr(folder: Path) -> Iterator[tuple[Any, str]]:
    good = usr_item("hi", {usr.GROUND_TRUTH: ("hello", [5, 4, 3])})
    short = usr_item("hi", {usr.GROUND_TRUTH: ("hello", [5, 4])})
    words = usr_item("hi", {usr.GROUND_TRUTH: ("hello", [5, 4, "good"])})
    for item, message in (
        ({**good, "context": 3}, "'context' must be text, got 3"),
        ({k: v for k, v in good.items() if k != "annotators"}, "'annotators' is missing"),
        ({**good, "responses": ["hello"]}, "expected an object, got 'hello'"),
        ({**good, "responses": []}, "expected one reply of 'Original Ground Truth', found 0"),
        (short, "'Overall' has 2 scores for 3 annotators"),
        (words, "'Overall' must be a number, got 'good'"),
        ("text", "expected an object, got 'text'"),
    ):
        write_usr(folder, topical=[good, item])
        yield usr.samples(folder, subset="topical"), f"usr_topical_chat.json:1: {message}"


def broken_grade(folder: Path) -> Iterator[tuple[Any, str]]:
    good = grade_item(0, "convai2", "ranker", "yes .", [1, 2])
    for scores, message in (
        ("__import__('os')", "not valid JSON"),
        ("[1, 2", "not valid JSON"),
        ("[]", "'HumanScores' must be a list of numbers, got []"),
        ("7", "'HumanScores' must be a list of numbers, got 7"),
        ('[1, "2"]', "'HumanScores' must be a number, got '2'"),
        ("[1, true]", "'HumanScores' must be a number, got True"),
    ):
        write_grade(folder, [good, grade_item(1, "convai2", "ranker", "no .", scores)])
        yield grade.samples(folder), f"human_judgement.json:1: {message}"
    write_grade(folder, [good, grade_item(1, "convai2", "ranker", "no .", [1])])
    (folder / "eval_data/convai2/ranker/human_hyp.txt").write_text("yes .\nperhaps .\n")
    yield (
        grade.samples(folder),
        "human_judgement.json:1: reply 1 of eval_data/convai2/ranker/human_hyp.txt is 'perhaps .'",
    )
    (folder / "eval_data/convai2/ranker/human_ref.txt").write_text("only one\n")
    yield (grade.samples(folder), "human_judgement.json:1: eval_data/convai2/ranker has no reply and reference 1")


def broken_fed(folder: Path) -> Iterator[tuple[Any, str]]:
    for change, message in (
        ({"context": "User: Hi\nno speaker here"}, "a line of 'context' has no speaker: 'no speaker here'"),
        ({"annotations": [1]}, "'annotations' must be an object, got [1]"),
        ({"annotations": {"Overall": 3}}, "'Overall' must be a list, got 3"),
        ({"annotations": {"Overall": ["unsure"]}}, "'Overall' must be a number, got 'unsure'"),
        ({"annotations": {"Overall": [None]}}, "'Overall' must be a number, got None"),
        ({"system": None}, "'system' must be text, got None"),
    ):
        write_fed(folder, [FED[0], FED[0] | change])
        yield fed.samples(folder), f"fed_data.json:1: {message}"
    for text, message in (("{", "not valid JSON"), ('{"a": 1}', "expected a JSON list of items, got dict")):
        write_fed(folder, text)
        yield fed.dialogues(folder), f"fed_data.json: {message}"


def broken_gupta(folder: Path) -> Iterator[tuple[Any, str]]:
    for change, message in (
        ({"human_average_rating": "high"}, "'human_average_rating' must be a number, got 'high'"),
        ({"human_average_rating": "nan"}, "'human_average_rating' must be a number, got nan"),
        ({"prevgt": "never said"}, "'prevgt' is not among 'all_references'"),
    ):
        write_gupta(folder, [GUPTA, GUPTA | change])
        yield multiref_dailydialog.samples(folder), f"mturk_rating_processed_output.csv:1: {message}"
    write_csv(folder / "mturk_rating_processed_output.csv", [{k: v for k, v in GUPTA.items() if k != "prevgt"}])
    yield multiref_dailydialog.samples(folder), "mturk_rating_processed_output.csv: no column 'prevgt'"


def broken_engagement(folder: Path) -> Iterator[tuple[Any, str]]:
    path = write_engagement(folder, [*ENGAGEMENT, engagement("q", "r", "")])
    yield predictive_engagement.samples(path), "predictive_engagement.csv:4: 'human_score' must be a number, got ''"
    path = write_engagement(folder, [*ENGAGEMENT, engagement("soup ?", "Yes , please .", "4", "0.5\n")])
    yield predictive_engagement.scores(path), "predictive_engagement.csv:4: 'Ruber_Unref_Score' is 0.5, but 8e-06"
    path.write_text(path.read_text() + '"never closed,1')
    yield predictive_engagement.samples(path), "predictive_engagement.csv:5: not a valid row"


@pytest.mark.parametrize("broken", [broken_usr, broken_grade, broken_fed, broken_gupta, broken_engagement])
def test_malformed_items_are_named(tmp_path: Path, broken: Callable[[Path], Iterator[tuple[Any, str]]]) -> None:
    for number, (records, message) in enumerate(broken(tmp_path)):
        with pytest.raises(InputError) as caught:
            list(records)
        assert message in str(caught.value), f"case {number}"
        assert str(caught.value).startswith(str(tmp_path)), f"case {number} says where"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_whatever_stands_in_an_item_only_an_input_error_comes_out(data: st.DataObject) -> None:
    """One field of a good item, at any depth, is replaced by any JSON value."""
    name, good = data.draw(st.sampled_from([("usr", USR_ITEM), ("grade", GRADE[0]), ("fed", FED[0]), ("fed", FED[1])]))
    item = json.loads(json.dumps(good))
    place: Any = item
    while True:
        key = data.draw(st.sampled_from(list(range(len(place)) if isinstance(place, list) else place)))
        if not place[key] or not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(JSON)
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(Path(folder) / "file.json", [good, item])
        for subset in SUBSETS_TO_READ[name]:
            with contextlib.suppress(InputError):
                assert len(list(read_dataset(name, path, subset=subset))) <= 4


USR_ITEM = usr_item("hi", {usr.GROUND_TRUTH: ("hello", [5, 4, 3]), "B": ("hey", [1, 2, 3])})
SUBSETS_TO_READ = {"usr": ["topical"], "grade": [""], "fed": ["turn", "dialogue"]}


def test_malformed_items_in_an_archive_are_named_too(tmp_path: Path) -> None:
    archive = packed(write_fed(tmp_path / "fed", [FED[0], {**FED[0], "system": 1}]))
    with pytest.raises(InputError, match=r"fed\.tar\.gz/fed/fed_data\.json:1: 'system' must be text"):
        list(fed.samples(archive))


def test_duplicates_are_refused(tmp_path: Path) -> None:
    write_grade(tmp_path / "grade", [GRADE[0], GRADE[0]])
    with pytest.raises(InputError, match="grade/dailydialog/0/ranker was found twice"):
        list(read_dataset("grade", tmp_path / "grade"))
    write_fed(tmp_path / "one")
    write_fed(tmp_path / "two")
    with pytest.raises(InputError, match=r"fed_data\.json was found twice"):
        list(fed.samples(tmp_path))


def test_a_table_that_is_none_is_named() -> None:
    with pytest.raises(InputError, match=r"x\.csv: not a table: unexpected end of data"):
        list(rows(DataFile("x.csv", "x.csv", b'"a,b'), ["a"]))


def test_a_misspelt_field_is_named_with_the_expected_one() -> None:
    with pytest.raises(InputError, match=r"^a\.json:3: expected a field 'response', found 'respons'; compare"):
        DatasetItem({"id": "1", "respons": "Hi"}, "a.json:3").text("response")
    with pytest.raises(InputError, match="'response' is missing; found 'id'"):
        DatasetItem({"id": "1"}, "a.json:3").text("response")
