"""Samples from columns, dicts and data frames: by position, with missing values missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from interloq import InputError, Rating, Reference, Sample, Turn, evaluate, evaluate_all, from_columns
from interloq.errors import ReadWarning

REPLIES = ["the cat sat down", "green tea for me", "see you on monday"]
NUMBER: Any = 3
TEXT: Any = "samples.jsonl"
TEXTS: Any = ["reply"]
GAP: Any = ["a", float("nan")]
WITHOUT: Any = [{"response": None}]
OWN = [["the cat sat"], ["green tea", "tea"], ["on monday then"]]
SAMPLES = [Sample(str(i + 1), (), reply, own) for i, (reply, own) in enumerate(zip(REPLIES, OWN, strict=True))]


@pytest.mark.parametrize(
    "made",
    [list, tuple, iter, lambda values: (value for value in values), pd.Series, lambda v: pd.Series(v, index=[2, 0, 1])],
    ids=["list", "tuple", "iterator", "generator", "series", "labelled series"],
)
def test_any_column_is_taken_by_position(made: Callable[[list[Any]], Iterable[Any]]) -> None:
    assert from_columns(made(REPLIES), made(OWN)) == SAMPLES


def test_numpy_columns() -> None:
    samples = from_columns(np.array(REPLIES), np.array([own[:1] for own in OWN]), ids=np.arange(3))
    assert [(s.id, s.response, s.references[0].text) for s in samples] == [
        (str(i), reply, own[0]) for i, (reply, own) in enumerate(zip(REPLIES, OWN, strict=True))
    ]
    assert all(type(s.response) is str for s in samples)


def test_a_shuffled_or_filtered_frame_keeps_replies_and_references_together() -> None:
    frame = pd.DataFrame({"response": REPLIES, "references": OWN})
    of_reply = dict(zip(REPLIES, OWN, strict=True))
    for part in (frame.sample(frac=1, random_state=3), frame[frame.response != REPLIES[0]]):
        for samples in (from_columns(part.response, part.references), from_columns(part)):
            assert [s.response for s in samples] == list(part.response)
            assert all(s.references == tuple(map(Reference, of_reply[s.response])) for s in samples)


FRAME = {
    "id": [7, 8],
    "context": ["hi ||| how are you?", None],
    "response": ["fine", "ok"],
    "system": ["bot", None],
    "rating:fluent:ann": [4, None],
}
FIRST = Sample("7", ["hi", "how are you?"], "fine", ["good", "well"], "bot", [Rating(4.0, "ann", "fluent")])
SECOND = Sample("8", (), "ok", (), "", [Rating(None, "ann", "fluent")])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(FRAME | {"reference": ["good", float("nan")], "reference_2": ["well", pd.NA]}),
        pl.DataFrame(FRAME | {"references": [["good", "well"], None]}),
    ],
    ids=["pandas", "polars"],
)
def test_frames_have_the_columns_of_csv_files(frame: Any) -> None:
    assert from_columns(frame) == [FIRST, SECOND]
    assert from_columns(frame[::-1]) == [SECOND, FIRST]
    assert from_columns(frame["response"], ids=frame["id"]) == [Sample("7", (), "fine"), Sample("8", (), "ok")]
    result = evaluate("bleu(order=1)", frame)
    assert (result.n, result.unscored) == (1, 1), "a missing reference is missing, not the text 'nan'"


def test_dicts_and_frames_are_evaluated_like_samples() -> None:
    dicts = [{"id": s.id, "response": s.response, "references": [r.text for r in s.references]} for s in SAMPLES]
    frame = pd.DataFrame(dicts)
    expected = evaluate("bleu(order=1)", SAMPLES)
    given: list[Any] = [dicts, (row for row in dicts), tuple(dicts), frame]
    for rows in given:
        result = evaluate("bleu(order=1)", rows)
        assert (result.value, result.n, result.signature) == (expected.value, expected.n, expected.signature)
    assert evaluate_all(["distinct", "chrf"], frame)[0][""].value == evaluate("distinct", SAMPLES).value


def test_a_lazy_frame_has_no_rows_yet() -> None:
    frame: Any = pl.LazyFrame({"response": ["fine"]})
    for function in (from_columns, partial(evaluate, "length")):
        with pytest.raises(InputError, match=r"must be a list.* LazyFrame.*collect\(\)"):
            function(frame)


def test_a_system_that_is_a_number_is_not_lost() -> None:
    numbers: Any = [0, 1]
    with pytest.raises(InputError, match="system must be text, got int 0"):
        from_columns(["a", "b"], systems=numbers)


def test_a_frame_of_references_has_one_row_per_reply() -> None:
    table = pd.DataFrame({"a": ["x", "y"], "b": ["z", float("nan")]}, index=[5, 3])
    assert [s.references for s in from_columns(["one", "two"], table)] == [
        (Reference("x"), Reference("z")),
        (Reference("y"),),
    ]


def test_rich_entries_survive() -> None:
    (sample,) = from_columns(["r"], [[Reference("a", 0.5)]], contexts=[[Turn("c", "ann")]])
    assert (sample.references, sample.context) == ((Reference("a", 0.5),), (Turn("c", "ann"),))


def test_other_names_are_accepted_and_said() -> None:
    with pytest.warns(ReadWarning, match="'reply' is read as 'response'"):
        assert from_columns([{"reply": "fine"}]) == [Sample("1", (), "fine")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: from_columns(GAP, ["x", "y"]), r"responses\[1\] is missing \(nan\)"),
        (lambda: from_columns("abc", ["x", "y", "z"]), "responses must be a list"),
        (lambda: from_columns(["a", "b", "c"], OWN, systems="bot"), "systems must be a list"),
        (lambda: from_columns(["a"], {"x": 1}), "references must be a list"),
        (lambda: from_columns(["a"], {"x"}), "references must be a list"),
        (lambda: from_columns([{"response": "a"}], ["x"]), "a whole table and also references"),
        (lambda: from_columns(WITHOUT), "row 1: response is missing"),
        (lambda: from_columns(pd.DataFrame({"response": ["a"], "referense": ["b"]})), "unknown column 'referense'"),
        (lambda: from_columns([{"response": "a", "ratings": [10**400]}]), "must be finite"),
        (lambda: from_columns(pd.DataFrame({"reference": ["b"]})), "the data frame: no column 'response'"),
        (lambda: evaluate("bleu", TEXT), r"read a file with load\(path\)"),
        (lambda: evaluate("bleu", NUMBER), "samples must be a list, got int 3"),
        (lambda: from_columns(pd.DataFrame({"response": ["a", None]})), "row 2: response is missing: it is null"),
        (lambda: evaluate("bleu", TEXTS), "row 1 must be a sample or a dict, got str 'reply'"),
    ],
)
def test_what_is_wrong_is_named(given: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        given()


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        (pd.DataFrame({"response": ["a"], "raitings": [3]}), None, r"unknown column 'raitings'; did you mean 'rating'"),
        (pd.DataFrame({"my words": ["a"]}), None, r'or map it: columns={"response": "my words"}$'),
        (pd.DataFrame({"id": ["a"]}), None, r'or map it: columns={"response": "NAME"}$'),
        ([{"my reponse": "a"}], None, r'or map it: columns={"response": "my reponse"}$'),
        ([{"reply": "a", "answer": "b"}], None, r'say which: columns={"response": "reply"}$'),
        ([{"response": "a"}], {"id": "key"}, "no record has 'key', named by columns;"),
    ],
)
def test_hints_are_in_terms_of_python(table: Any, columns: dict[str, str] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_columns(table, columns=columns)


def test_columns_of_a_frame_can_be_mapped() -> None:
    frame = pd.DataFrame({"Text": REPLIES, "golds": OWN})
    assert from_columns(frame, columns={"response": "Text", "references": "golds"}) == SAMPLES
    assert from_columns(frame.to_dict("records"), columns={"response": "Text", "references": "golds"}) == SAMPLES
    for table in (frame, frame.to_dict("records")):
        with pytest.raises(InputError, match="'absent'"):
            from_columns(table, columns={"response": "Text", "references": "absent"})
    with pytest.raises(InputError, match="cannot map 'reply'"):
        from_columns(frame, columns={"reply": "Text"})
    with pytest.raises(InputError, match="without a table"):
        from_columns(REPLIES, columns={"response": "Text"})


def test_dialogues_are_a_column() -> None:
    assert [s.dialogue for s in from_columns(REPLIES, dialogues=np.array([1.0, 1.0, 2.0]))] == ["1", "1", "2"]
    frame = pd.DataFrame({"response": REPLIES, "conversation_id": [1, 1, None], "topic": ["a", None, "b"]})
    with pytest.warns(ReadWarning, match="'conversation_id' is read as 'dialogue'"):
        samples = from_columns(frame)
    assert [(s.dialogue, s.fields) for s in samples] == [("1", {"topic": "a"}), ("1", {}), ("", {"topic": "b"})]
