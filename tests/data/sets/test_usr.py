"""The data set USR."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Rating, Reference, Turn
from interloq.data.sets import usr
from tests.published_layouts import (
    usr_item,
    write_json,
    write_usr,
)


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
