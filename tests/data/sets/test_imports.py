"""Data sets written as records."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Dialogue, Turn
from interloq.data.pseudonyms import UserIdOptions
from interloq.data.records.jsonl import header, load
from interloq.data.records.profiles import read_profiles
from interloq.data.sets.imports import import_corpus, import_dataset, import_names, pairs
from tests.data.sets.made_sets import write_hazumi
from tests.made_files import put
from tests.published_layouts import write_json, write_usr


def test_a_rated_set_is_written_and_counted(tmp_path: Path) -> None:
    facts = import_dataset("usr", tmp_path / "a.jsonl", path=write_usr(tmp_path / "usr"), subset="topical")
    assert (facts["dataset"], facts["subset"], facts["kind"], facts["records"]) == ("usr", "topical", "samples", 4)
    assert len(load(tmp_path / "a.jsonl")) == 4
    told = header(tmp_path / "a.jsonl")
    assert (told["dataset"], told["source"]) == ("usr", facts["source"])


@pytest.mark.parametrize(("compress", "suffix"), [("zst", ".jsonl.zst"), ("none", ".jsonl")])
def test_a_corpus_is_written_with_pairs_and_groups(tmp_path: Path, compress: str, suffix: str) -> None:
    yaml = "conversations:\n- - Hi\n  - Hello\n- - Hi\n  - Hey\n- - Bye\n  - Ciao\n"
    put(tmp_path / "data" / "english" / "greetings.yml", yaml)
    facts = import_corpus("chatterbot", tmp_path / "out", path=tmp_path / "data", compress=compress)
    ((part, counts),) = facts["parts"].items()
    assert counts == {"dialogues": 3, "turns": 6, "pairs": 3, "group_pairs": 2}
    folder = tmp_path / "out" / ("" if part == "all" else part)
    assert len(load(folder / f"groups{suffix}", kind="pairs")) == 2
    assert header(folder / f"pairs{suffix}")["corpus"] == "chatterbot"


def test_people_get_pseudonyms(tmp_path: Path) -> None:
    names = import_names("hazumi", UserIdOptions(user_key=str(tmp_path / "key")))
    facts = import_dataset("hazumi", tmp_path / "a.jsonl", path=write_hazumi(tmp_path / "hazumi"), names=names)
    key = (tmp_path / "key").read_text().strip()
    written = (tmp_path / "a.jsonl").read_text()
    assert "1902F2001" not in written
    assert key not in written
    assert facts["users"] == header(tmp_path / "a.jsonl")["users"] == "hashed"
    again = import_names("hazumi", UserIdOptions(user_key=str(tmp_path / "key")))
    assert again
    assert load(tmp_path / "a.jsonl")[0].id == f"hazumi/{again('1902F2001')}#0"
    import_dataset("hazumi", tmp_path / "b.jsonl", path=tmp_path / "hazumi")
    assert header(tmp_path / "b.jsonl")["users"] == "kept"
    assert "1902F2001" in (tmp_path / "b.jsonl").read_text()


def test_no_key_is_made_for_sets_without_people(tmp_path: Path) -> None:
    assert import_names("usr", UserIdOptions(user_key=str(tmp_path / "key"))) is None
    assert not (tmp_path / "key").exists()


def test_profiles_are_written_with_a_corpus(tmp_path: Path) -> None:
    folder = tmp_path / "rpc"
    utterances = [{"interlocutor_id": who, "text": "やあ", "timestamp": "2022-08-06"} for who in ("AA", "AB")]
    write_json(folder / "dialogues" / "00001.json", {"utterances": utterances, "evaluations": []})
    write_json(folder / "interlocutors.json", {"AA": {"persona": ["猫が好き。"]}})
    names = import_names("real_persona_chat", UserIdOptions(user_key=str(tmp_path / "key")))
    assert names
    facts = import_corpus("real_persona_chat", tmp_path / "out", path=folder, compress="none", names=names)
    assert (facts["profiles"], facts["users"]) == (1, "hashed")
    assert read_profiles(tmp_path / "out" / "profiles.json") == {names("AA"): "猫が好き。"}
    (dialogue,) = load(tmp_path / "out" / "human" / "dialogues.jsonl", kind="dialogues")
    assert [turn.speaker for turn in dialogue.turns] == [names("AA"), names("AB")]


# ---- pairs -----------------------------------------------------------------------------------------------------------


def talk(id: str, *texts: str) -> Dialogue:
    return Dialogue(id, [Turn(text, "ab"[i % 2]) for i, text in enumerate(texts)])


def test_dialogues_have_pairs_and_no_groups() -> None:
    found, groups = pairs("dailydialog", [talk("d/1", "a", "b", "c"), talk("d/2", "a", "z")])
    assert [(pair.utterance, pair.response) for pair in found] == [("a", "b"), ("b", "c"), ("a", "z")]
    assert groups == []


def test_answers_to_one_question_of_one_language_are_a_group() -> None:
    made = [("en/x/0", "hi", "hello"), ("en/x/1", "hi", "hey"), ("de/x/0", "hi", "hallo"), ("en/x/2", "bye", "ciao")]
    found, groups = pairs("chatterbot", [talk(f"chatterbot/{id}", *texts) for id, *texts in made])
    assert len(found) == 4
    assert [pair.response for pair in groups] == ["hello", "hey"]
    assert len({pair.to for pair in groups}) == 1
