"""The modules of `interloq.data.records`: convert file, dialogue names, parsers, profiles, read options, sample
fingerprint.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Dialogue, InputError, Rating, Reference, Sample, Score, Turn, evaluate, evaluate_all
from interloq.data.pseudonyms import HASHED, KEPT, Pseudonyms
from interloq.data.records.convert_file import RecordSummary, convert_file, detect_kind
from interloq.data.records.dialogue_names import DialogueFinder, name_dialogues, natural
from interloq.data.records.jsonl import Rejected, header, load, to_json, write
from interloq.data.records.parsers import PARSERS
from interloq.data.records.profiles import read_profiles, write_profiles
from interloq.data.records.read_options import ReadOptions
from interloq.data.records.sample_fingerprint import SampleFingerprint, read_print, sample_print
from interloq.data.records.stored import read_all_stored, read_stored
from interloq.errors import ReadWarning


def test_a_table_becomes_jsonl_and_is_counted(folder: Path) -> None:
    (folder / "a.csv").write_text("id,context,response,system\n1,hi,hello,s\n2,hi,no,t\n")
    facts = convert_file("a.csv", "a.jsonl.gz")
    assert (facts["kind"], facts["records"], facts["systems"]) == ("samples", 2, {"s": 1, "t": 1})
    assert load("a.jsonl.gz")[0] == Sample("1", ["hi"], "hello", (), "s")


def test_the_header_and_the_kind_are_kept(folder: Path) -> None:
    write("scores.jsonl", [Score("1", "bleu", 0.5)], kind="scores", results=[], note="x")
    assert detect_kind("scores.jsonl") == "scores"
    assert convert_file("scores.jsonl", "again.jsonl")["kind"] == "scores"
    assert header("again.jsonl") == header("scores.jsonl")


def test_tables_are_not_written_and_inputs_not_replaced(folder: Path) -> None:
    write("a.jsonl", [Sample("1", ["hi"], "hello")], kind="samples")
    for output, what in (("b.csv", "JSONL"), ("b.tsv.gz", "JSONL"), ("a.jsonl", "also an input")):
        with pytest.raises(InputError, match=what):
            convert_file("a.jsonl", output)
    assert sorted(path.name for path in folder.iterdir()) == ["a.jsonl"]


def test_samples_and_their_ratings_are_counted(samples: list[Sample]) -> None:
    summary = RecordSummary()
    rated = [*samples, Sample("7", (), "x", (), "", [Rating(None), Rating(2, "rater-0", "fluency")])]
    assert list(summary.watch(rated)) == rated
    facts = summary.facts()
    assert (facts["records"], facts["systems"]) == (7, {"bad": 3, "good": 3})
    assert facts["references"] == {"0": 1, "2": 6}
    assert (facts["raters"], facts["ratings"], facts["ratings_without_rater"]) == (3, 20, 1)
    assert facts["aspects"] == {
        "fluency": {"ratings": 1, "not_applicable": 0},
        "overall": {"ratings": 19, "not_applicable": 1},
    }
    assert "metrics" not in facts


def test_scores_and_dialogues_are_counted() -> None:
    summary = RecordSummary()
    for record in (Score("1", "bleu", 0.5, system="a"), Score("2", "bleu", None, "no references")):
        summary.add(record)
    facts = summary.facts()
    assert (facts["metrics"], facts["unscored"], facts["systems"]) == ({"bleu": 2}, 1, {"a": 1})
    other = RecordSummary()
    other.add(Dialogue("1", [Turn("hi", "x"), Turn("hello", "y")], {"x": "a", "y": "b"}))
    assert other.facts()["systems"] == {"a": 1, "b": 1}


def names(samples: Sequence[Sample]) -> list[str]:
    return [sample.dialogue for sample in name_dialogues(samples)]


def test_numbers_in_ids_are_read_as_numbers_and_other_digits_as_text() -> None:
    assert sorted(["o-10", "o-9", "o-1/r-2", "o-1/r-10"], key=natural) == ["o-1/r-2", "o-1/r-10", "o-9", "o-10"]
    assert sorted(["c²", "c10", "c9", "²", "٣"], key=natural) == ["c9", "c10", "c²", "²", "٣"]


TEA = ["tea ?", "yes", "milk ?"]
LONGER = Sample("c", [*TEA, "no", "sugar ?"], "two")
OTHER_REPLY = Sample("a", ["tea ?"], "I am a bot")  # contexts often come from a log, whatever the system replied
GREETINGS = [
    Sample(f"{i}/{turn}", context, reply)
    for i in range(2)
    for turn, context, reply in ((1, ["hi"], "hello"), (2, ["hi", "hello", f"topic {i}"], "I see"))
]
TWO_SYSTEMS = [
    Sample(f"{i}", context, reply, system=system)
    for system in "pq"
    for i, (context, reply) in enumerate([(TEA[:1], "yes"), (TEA, "no")])
]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([Sample("b", TEA, "no"), LONGER, Sample("a", TEA[:1], "yes"), Sample("x", ["coffee ?"], "yes")], "a a a -"),
        ([OTHER_REPLY, Sample("b", TEA, "no")], "a a"),
        ([Sample("a", (), "Hello"), Sample("b", ["Hello", "hi"], "How are you ?")], "a a"),
        (GREETINGS, "0/1 0/1 1/1 1/1"),
        ([Sample("a", TEA, "no"), Sample("b", TEA, "why ?")], "a a"),
        ([Sample("a", ["hi"], "no"), Sample("b", ["hi"], "why ?")], "- -"),
        (TWO_SYSTEMS, "0 0 0 0"),
        ([TWO_SYSTEMS[0], TWO_SYSTEMS[3]], "- -"),
        ([Sample("a", TEA[:1], "yes", dialogue="d"), Sample("b", TEA, "no")], "d -"),
        ([Sample(f"ticket#{i}", [f"question {i}"], "yes") for i in range(3)], "- - -"),
    ],
    ids=[
        "a context with the reply of another continues it",
        "a context may have a reply of somebody else",
        "a dialogue may start with a reply",
        "conversations with the same greeting are not one",
        "replies to the same long context belong together",
        "replies to the same short context do not",
        "systems have dialogues of their own",
        "systems do not continue each other",
        "a named dialogue is kept",
        "ids never count",
    ],
)
def test_replies_that_belong_to_one_dialogue(samples: list[Sample], expected: str) -> None:
    assert " ".join(name or "-" for name in names(samples)) == expected


def test_the_parts_that_samples_come_in_do_not_matter() -> None:
    talk = [Sample("b", ["tea ?", "yes", "milk ?"], "no"), Sample("a", ["tea ?"], "yes")]
    finder = DialogueFinder()
    for sample in talk:
        finder.add([sample])
    assert finder.names() == names(talk) == ["a", "a"]


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


NAMES = Pseudonyms("a key for the tests")


@pytest.mark.parametrize("users", [HASHED, KEPT])
def test_profiles_written_here_keep_their_ids(tmp_path: Path, users: str) -> None:
    write_profiles(tmp_path / "p.json", {"b": "text", "a": ""}, users=users)
    assert read_profiles(tmp_path / "p.json", NAMES) == {"a": "", "b": "text"}


def test_profiles_from_elsewhere_get_pseudonyms_and_are_texts(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"ann": "I cook."}')
    assert read_profiles(tmp_path / "p.json", NAMES) == {NAMES("ann"): "I cook."}
    assert read_profiles(tmp_path / "p.json") == {"ann": "I cook."}
    (tmp_path / "p.json").write_text('{"profiles": {"ann": ["I cook."]}}')
    with pytest.raises(InputError, match=r"p\.json: the profile of 'ann' must be text, got \['I cook\.'\]"):
        read_profiles(tmp_path / "p.json")


def test_columns_are_of_the_main_input_and_bad_lines_of_all_files(folder: Path) -> None:
    (folder / "samples.jsonl").write_text('{"id": "a", "context": ["hi"], "said": "hello"}\nbad\n')
    (folder / "scores.jsonl").write_text('{"id": "a", "metric": "length", "value": 1}\nworse\n')
    rejected: list[Rejected] = []
    reading = ReadOptions(columns={"response": "said"}, on_reject=rejected.append)
    assert [sample.response for sample in reading.read("samples.jsonl")] == ["hello"]
    assert [score.value for score in reading.read_beside(["scores.jsonl"], kind="scores")] == [1.0]
    assert [bad.where for bad in rejected] == ["samples.jsonl:2", "scores.jsonl:2"]


def test_a_bad_line_can_be_an_error(folder: Path) -> None:
    (folder / "scores.jsonl").write_text('{"id": "a", "metric": "length", "value": 1}\nworse\n')
    with pytest.raises(InputError, match="not valid JSON"):
        list(ReadOptions(strict=True).read_beside(["scores.jsonl"], kind="scores"))


def test_the_signature_knows_the_samples(samples: list[Sample]) -> None:
    prints = set()
    changed = [replace(samples[0], references=(Reference("the food was delicious .", 0.9),)), *samples[1:]]
    for variant in (samples, samples[1:], changed, [replace(samples[0], response="x"), *samples[1:]]):
        fingerprint = SampleFingerprint()
        fingerprint.add(variant)
        prints.add(str(fingerprint))
    assert len(prints) == 4
    assert evaluate("bleu", samples).signature.parts["references"] == "2"
    assert evaluate("bleu", changed).signature.parts["references"] == "1-2"


def test_scores_know_their_sample() -> None:
    sample = Sample("1", ["how are you?"], "fine", ["good"], "bot")
    known = sample_print(sample)
    for same in (
        replace(sample, id="2", system=""),
        replace(sample, ratings=(Rating(1.0),)),
        replace(sample, response=" fine\n"),
    ):
        assert sample_print(same) == known
    for part, changed in (
        ("reply", replace(sample, response="bad")),
        ("context", replace(sample, context=(Turn("and you?"),))),
        ("references", replace(sample, references=(Reference("good", 0.5),))),
    ):
        other = sample_print(changed)
        assert [name for name in known._fields if getattr(known, name) != getattr(other, name)] == [part]
    assert sample_print(Sample("1", (), "caf\u00e9")) == sample_print(Sample("1", (), "cafe\u0301"))
    assert sample_print(Sample("1", (), "a"))[1:] == ("", "")
    assert read_print(str(known)) == known
    assert read_print("something else") == ("", "", "")


def test_fingerprints_follow_the_order_of_the_scores() -> None:
    samples = [Sample(str(i), ["a"], f"reply {i}", ["b"], "xy"[i % 2]) for i in (3, 1, 2)]
    result = evaluate_all(["length"], samples, n_bootstrap=0, by_system=True)[0]
    for system in ("", "x", "y"):
        for score in result[system].scores():
            assert score.sample == str(sample_print(next(s for s in samples if s.key == score.key)))


# ---- results read back -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """One field of each type."""

    name: str
    value: float
    ci: tuple[float, float]
    n: int = 0
    known: bool = False
    p: float | None = None
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


MADE = Made("a", math.nan, (1, math.nan), 3, True, None, ("b", "c"), {"d": 1})


STORED = orjson.loads(orjson.dumps(to_json(asdict(MADE))))


def test_a_result_is_read_back() -> None:
    (again,) = read_all_stored(Made, [STORED | {"computed": 9}])
    assert repr(again) == repr(MADE)  # NaN is not equal to itself
    assert read_stored(Made, STORED, name="part").name == "part"


@pytest.mark.parametrize(
    "change",
    [{"name": 3}, {"value": "1"}, {"ci": [1, "x"]}, {"n": None}, {"n": True}, {"known": 1}, {"notes": [1]}, {"p": "x"},
     {"counts": {"d": "1"}}],
)  # fmt: skip
def test_a_value_of_another_type_is_named(change: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(change))):
        read_stored(Made, STORED | change)
