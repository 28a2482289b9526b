"""Loaders of published datasets on tiny files of the same layout, whole and broken."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError, Rating, Reference, Score, Turn
from interloq.data.archives import DataFile
from interloq.data.sets import fed, grade, multiref_dailydialog, predictive_engagement, usr
from interloq.data.sets.items import rows
from interloq.data.sets.registry import DATASETS, dataset, locate, read_dataset, source_fingerprint
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

WRITERS: dict[str, Callable[[Path], Path]] = {
    "grade": write_grade,
    "usr": write_usr,
    "fed": write_fed,
    "multiref_dailydialog": write_gupta,
}


# ---- what each loader makes of its file ------------------------------------------------------------------------------


def test_usr_keeps_every_judgment_and_the_original_reply_as_a_system(tmp_path: Path) -> None:
    samples = list(usr.samples(write_usr(tmp_path), subset="topical"))
    assert [sample.id for sample in samples] == [
        "usr/topical_chat/0/Original-Ground-Truth",
        "usr/topical_chat/0/A-p-0.3",
        "usr/topical_chat/1/Original-Ground-Truth",
        "usr/topical_chat/1/A-p-0.3",
    ]
    first = samples[1]
    assert first.context == (Turn("hi there"), Turn("hello"))
    assert (first.response, first.system) == ("ok .", "A (p = 0.3)")
    assert {sample.references for sample in samples[:2]} == {(Reference("how are you ?", 1.0, "gold"),)}
    assert len(first.ratings) == 6 * 3
    overall = [rating for rating in first.ratings if rating.aspect == "overall"]
    assert overall == [Rating(1.0, "ann"), Rating(2.0, "ben"), Rating(3.0, "cat")]
    assert "maintains context" in {rating.aspect for rating in first.ratings}
    assert "fact" not in str(samples)
    assert samples[3].response == "see  you soon", "white space inside a reply is the author's"


def test_usr_reads_both_subsets_under_any_published_name(tmp_path: Path) -> None:
    write_usr(tmp_path)
    (tmp_path / "usr_percona_chat.json").rename(tmp_path / "pc_usr_data.json")
    ids = [sample.id for sample in usr.samples(tmp_path)]
    assert len(ids) == len(set(ids)) == 6
    assert {id.split("/")[1] for id in ids} == {"topical_chat", "persona_chat"}
    assert {sample.id for sample in usr.samples(tmp_path, subset="persona")} == {i for i in ids if "persona" in i}


def test_usr_file_of_another_name_needs_its_subset(tmp_path: Path) -> None:
    path = write_json(tmp_path / "mine.json", [usr_item("hi", {usr.GROUND_TRUTH: ("hello", [5, 4, 3])})])
    with pytest.raises(InputError, match="which subset"):
        list(usr.samples(path))
    assert next(usr.samples(path, subset="persona")).id == "usr/persona_chat/0/Original-Ground-Truth"


def test_grade_joins_scores_and_references_cell_by_cell(tmp_path: Path) -> None:
    samples = {sample.id: sample for sample in grade.samples(write_grade(tmp_path))}
    assert list(samples) == [
        "grade/dailydialog/0/ranker",
        "grade/convai2/1/ranker",
        "grade/dailydialog/2/ranker",
        "grade/dailydialog/3/generator",
    ]
    for number, sample in enumerate(samples.values()):
        assert sample.references == (Reference(f"reference {number} ."),)
    sample = samples["grade/dailydialog/2/ranker"]
    assert sample.context == (Turn("question 2"), Turn("answer 2"))
    assert sample.ratings == (Rating(5.0), Rating(5.0))
    assert sample.system == "ranker"


def test_grade_subset_keeps_ids_and_references(tmp_path: Path) -> None:
    write_grade(tmp_path)
    part = list(grade.samples(tmp_path, subset="dailydialog"))
    assert part == [sample for sample in grade.samples(tmp_path) if sample.id.startswith("grade/dailydialog/")]
    assert len(part) == 3


def test_grade_judgements_named_alone_bring_their_references(tmp_path: Path) -> None:
    path = write_grade(tmp_path / "grade") / "human_score/human_judgement.json"
    assert list(grade.samples(path)) == list(grade.samples(tmp_path / "grade"))
    alone = tmp_path / "human_judgement.json"
    path.rename(alone)
    assert [sample.references for sample in grade.samples(alone)] == [()] * 4


def test_fed_turns_and_dialogues(tmp_path: Path) -> None:
    (sample,) = fed.samples(write_fed(tmp_path))
    assert sample.id == "fed/turn/0/Meena"
    assert sample.context == (
        Turn("Hi!", "User"),
        Turn("Hi! What's up?", "System"),
        Turn("Not much: tired", "User"),
    )
    assert (sample.response, sample.system, sample.references) == ("Sleep: it helps.", "Meena", ())
    appropriate = [rating.value for rating in sample.ratings if rating.aspect == "semantically appropriate"]
    assert appropriate == [1.0, None]
    (dialogue,) = fed.dialogues(tmp_path)
    assert dialogue.id == "fed/dialogue/1/Mitsuku"
    assert dialogue.turns == (Turn("Hi", "User"), Turn("Hello.", "System"))
    assert dialogue.systems == {"System": "Mitsuku"}
    assert Rating(None, aspect="error recovery") in dialogue.ratings
    assert {rating.rater for rating in dialogue.ratings} == {""}


def test_gupta_tells_the_original_reply_from_other_references(tmp_path: Path) -> None:
    samples = list(multiref_dailydialog.samples(write_gupta(tmp_path)))
    assert [sample.id for sample in samples] == ["multiref_dailydialog/73_4/hredf", "multiref_dailydialog/73_4/human"]
    sample = samples[0]
    assert sample.references == (
        Reference("tell me more .", source="gold"),
        Reference("okay .", source="human"),
        Reference("did you bring it ?", source="human"),
    )
    assert sample.context == (Turn("may i come in ?"), Turn("yes , please ."))
    assert sample.ratings == (Rating(2.4),)


def test_predictive_engagement_joins_the_rows_of_a_pair(tmp_path: Path) -> None:
    first, second = predictive_engagement.samples(write_engagement(tmp_path))
    assert (first.id, first.context, first.response) == (
        "predictive_engagement/0",
        (Turn("how long ?"),),
        "Not really .",
    )
    assert first.ratings == (Rating(2.0), Rating(1.0))
    assert second.ratings == (Rating(5.0), Rating(4.0))


def test_predictive_engagement_gives_its_stored_scores(tmp_path: Path) -> None:
    scores = list(predictive_engagement.scores(write_engagement(tmp_path)))
    assert len(scores) == 2 * 4
    assert Score("predictive_engagement/1", "stored:Ruber_Unref_Score", 8e-06) in scores


# ---- where the files lie ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.xz", ".tgz", ".tar"])
def test_folder_and_archive_are_the_same(tmp_path: Path, name: str, suffix: str) -> None:
    folder = WRITERS[name](tmp_path / name)
    archive = packed(folder, suffix)
    expected = list(read_dataset(name, folder))
    assert list(read_dataset(name, archive)) == expected
    assert list(read_dataset(name, tmp_path / name / "..")) == expected, "one level up is found too"
    assert source_fingerprint(name, archive) == source_fingerprint(name, folder)


def test_a_lone_file_may_be_compressed(tmp_path: Path) -> None:
    plain = write_fed(tmp_path) / "fed_data.json"
    (tmp_path / "fed_data.json.gz").write_bytes(gzip.compress(plain.read_bytes()))
    assert list(fed.samples(tmp_path / "fed_data.json.gz")) == list(fed.samples(plain)) == list(fed.samples(tmp_path))


def test_archives_are_not_unpacked_and_links_not_followed(tmp_path: Path) -> None:
    secret = write_json(tmp_path / "secret.json", FED)
    path = tmp_path / "in" / "fed.tar"
    path.parent.mkdir()
    with tarfile.open(path, "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            link = tarfile.TarInfo("fed/fed_data.json")
            link.type, link.linkname = kind, str(secret)
            archive.addfile(link)
    with pytest.raises(InputError, match=r"found none of fed_data\.json"):
        list(fed.samples(path))
    with tarfile.open(path, "w") as archive:
        data = json.dumps(FED).encode()
        member = tarfile.TarInfo("../../evil/fed_data.json")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    assert len(list(fed.samples(path))) == 1, "a member is read whatever its path says"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["fed.tar", "in", "secret.json"]


def test_a_dataset_is_found_in_the_folder_of_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLOQ_DATA", raising=False)
    with pytest.raises(InputError, match="INTERLOQ_DATA"):
        list(read_dataset("fed"))
    monkeypatch.setenv("INTERLOQ_DATA", str(tmp_path))
    with pytest.raises(InputError, match="no fed in"):
        list(read_dataset("fed"))
    packed(write_fed(tmp_path / "elsewhere" / "fed")).rename(tmp_path / "fed.tar.gz")
    write_engagement(tmp_path)
    assert locate("fed") == tmp_path / "fed.tar.gz"
    assert next(read_dataset("fed")).id == "fed/turn/0/Meena"
    assert next(read_dataset("fed", subset="dialogue")).id == "fed/dialogue/1/Mitsuku"
    assert next(read_dataset("predictive_engagement", subset="scores")).metric == "stored:Ruber_Unref_Score"


def test_aliases_and_unknown_names() -> None:
    assert dataset("gupta") is DATASETS["multiref_dailydialog"]
    with pytest.raises(InputError, match="did you mean 'grade'"):
        dataset("graed")
    with pytest.raises(InputError, match="did you mean 'topical'"):
        next(read_dataset("usr", "nowhere", subset="topicla"))


# ---- what is wrong is said with file and item ------------------------------------------------------------------------


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
        ("[]", "'HumanScores' must hold a list of numbers, got []"),
        ("7", "'HumanScores' must hold a list of numbers, got 7"),
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
    yield grade.samples(folder), "human_judgement.json:1: eval_data/convai2/ranker has no reply and reference number 1"


def broken_fed(folder: Path) -> Iterator[tuple[Any, str]]:
    for change, message in (
        ({"context": "User: Hi\nno speaker here"}, "a line of 'context' names no speaker: 'no speaker here'"),
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


def test_damaged_archives_and_files(tmp_path: Path) -> None:
    archive = packed(write_grade(tmp_path / "grade"))
    archive.write_bytes(archive.read_bytes()[:200])
    with pytest.raises(InputError, match="cannot read the archive"):
        list(grade.samples(archive))
    (tmp_path / "fed.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(InputError, match="cannot read the archive"):
        list(fed.samples(tmp_path / "fed.tar.gz"))
    (tmp_path / "fed_data.json").write_bytes(b'[{"context": "\xff"}]')
    with pytest.raises(InputError, match="byte 15 is not valid UTF-8"):
        list(fed.samples(tmp_path / "fed_data.json"))
    with pytest.raises(InputError, match="no file or folder"):
        list(fed.samples(tmp_path / "nowhere"))


def test_duplicates_are_refused(tmp_path: Path) -> None:
    write_grade(tmp_path / "grade", [GRADE[0], GRADE[0]])
    with pytest.raises(InputError, match="grade/dailydialog/0/ranker is there twice"):
        list(read_dataset("grade", tmp_path / "grade"))
    write_fed(tmp_path / "one")
    write_fed(tmp_path / "two")
    with pytest.raises(InputError, match=r"fed_data\.json is there twice"):
        list(fed.samples(tmp_path))


def test_a_table_that_is_none_is_named() -> None:
    with pytest.raises(InputError, match=r"x\.csv: not a table: unexpected end of data"):
        list(rows(DataFile("x.csv", "x.csv", b'"a,b'), ["a"]))
