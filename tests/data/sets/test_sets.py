"""Public data sets, from tiny files in their layouts."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interloq import InputError, Rating, Reference, Score, Turn
from interloq.data.sets import byu_chitchat, chatterbot, fed, grade, multiref_dailydialog, predictive_engagement, usr
from interloq.data.sets.hazumi import transcript
from interloq.data.sets.imports import pairs
from interloq.data.sets.real_persona_chat import profiles
from interloq.data.sets.registry import locate, read_dataset, read_parts
from interloq.records import Dialogue
from tests.data.sets.made_sets import TIERS, both, write_hazumi
from tests.made_files import put
from tests.published_layouts import (
    packed,
    usr_item,
    write_engagement,
    write_fed,
    write_grade,
    write_gupta,
    write_json,
    write_usr,
)


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


def test_fed_turns_and_dialogues(tmp_path: Path) -> None:
    (sample,) = fed.samples(write_fed(tmp_path))
    assert sample.id == "fed/turn/0/Meena"
    assert sample.context == (Turn("Hi!", "User"), Turn("Hi! What's up?", "System"), Turn("Not much: tired", "User"))
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


def test_dailydialog(tmp_path: Path) -> None:
    folder = tmp_path / "dailydialog"
    for theirs in ("train", "validation", "test"):
        put(folder / theirs / f"dialogues_{theirs}.txt", f" Hi {theirs} . __eou__ Hello ! __eou__ Bye __eou__\n")
    found = both(folder, "dailydialog")
    assert sorted(part for part, _ in found) == ["dev", "test", "train"]
    dialogue = dict(found)["dev"]
    assert list(read_dataset("dailydialog", folder, subset="dev")) == [dialogue]
    assert dialogue.id == "dailydialog/dev/0"
    assert dialogue.turns == (Turn("Hi validation .", "A"), Turn("Hello !", "B"), Turn("Bye", "A"))
    put(folder / "train" / "dialogues_train.txt", "no mark at all\n")
    with pytest.raises(InputError, match=r"dialogues_train\.txt:1: not a dialogue: 'no mark at all'"):
        list(read_parts("dailydialog", folder))


def test_real_persona_chat(tmp_path: Path) -> None:
    folder = tmp_path / "real_persona_chat"
    utterances = [
        {"utterance_id": 0, "interlocutor_id": "AA", "text": "こんにちは", "timestamp": "2022-08-06T14:51:18"}
    ]
    judged = [{"interlocutor_id": "AB", "informativeness": 5, "satisfaction": 3}]
    human = {"dialogue_id": 99, "interlocutors": ["AA", "AB"], "utterances": utterances, "evaluations": judged}
    write_json(folder / "real_persona_chat" / "dialogues" / "00012.json", human)
    people = {"AA": {"persona": ["私は学生である。", "猫が好き。"]}}
    write_json(folder / "real_persona_chat" / "interlocutors.json", people)
    talk = [{"interlocutor": "user", "text": "やあ"}, {"interlocutor": "system", "text": "はい"}]
    system = {"dialogue_id": 1, "system_id": "GPT-4", "interlocutor_id": "FQ", "utterances": talk}
    write_json(folder / "llm_dialogue_system" / "GPT-4.json", [system | {"evaluation": {"coherence": 4}}])
    write_json(folder / "llm_dialogue_system" / "prompts.json", {})
    found = dict(both(folder, "real_persona_chat"))
    assert found["human"].id == "real_persona_chat/12"  # the file's number: the one inside may be wrong
    assert found["human"].turns == (Turn("こんにちは", "AA", "2022-08-06T14:51:18"),)
    assert found["human"].ratings == (
        Rating(5.0, "AB", "informativeness", "interlocutor"),
        Rating(3.0, "AB", "satisfaction", "interlocutor"),
    )
    assert profiles(folder) == {"AA": "私は学生である。 猫が好き。"}
    assert found["system"].systems == {"system": "GPT-4"}
    assert [turn.speaker for turn in found["system"].turns] == ["FQ", "system"]
    assert found["system"].ratings == (Rating(4.0, "FQ", "coherence", "interlocutor"),)


REVIEW = {
    "evaluation_id": 10,
    "evaluation_created_at": "2020-03-08T16:37:00",
    "client_id": 3,
    "counselor_id": 7,
    "score": 72,
    "felt_respected": 3,
    "gained_new_insights": None,
    "harmful_due_to_ignorance": None,
    "unwilling_to_continue": "チェックあり",
}
TURNS = [{"speaker": "B", "text": "こんにちは。"}, {"speaker": "A", "text": "よろしく。"}]


def write_kokorochat(folder: Path, **change: Any) -> Path:
    value = {"id": "10", "turns": TURNS, "review_by_client_en": REVIEW} | change
    (folder / "kokorochat_ja.jsonl").write_text(json.dumps(value, ensure_ascii=False) + "\n\n", encoding="utf-8")
    return folder


def test_a_session_of_kokorochat(tmp_path: Path) -> None:
    (found,) = read_dataset("kokorochat", write_kokorochat(tmp_path))
    assert found.id == "kokorochat/10"
    assert found.turns == (Turn("こんにちは。", "counselor7"), Turn("よろしく。", "client3", "2020-03-08T16:37:00"))
    assert found.ratings == (
        Rating(72, "client3", "score", "interlocutor"),
        Rating(3, "client3", "felt_respected", "interlocutor"),
        Rating(None, "client3", "gained_new_insights", "interlocutor"),
        Rating(0, "client3", "harmful_due_to_ignorance", "interlocutor"),
        Rating(1, "client3", "unwilling_to_continue", "interlocutor"),
    )


def test_mistakes_in_kokorochat_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"kokorochat_ja\.jsonl:0: the speaker must be one of A, B, got 'C'"):
        list(read_dataset("kokorochat", write_kokorochat(tmp_path, turns=[{"speaker": "C", "text": "x"}])))
    with pytest.raises(InputError, match="'client_id' must be a number"):
        list(read_dataset("kokorochat", write_kokorochat(tmp_path, review_by_client_en=REVIEW | {"client_id": None})))
    (tmp_path / "kokorochat_ja.jsonl").write_text("{}\n{broken\n")
    with pytest.raises(InputError, match="'review_by_client_en' is missing"):
        list(read_dataset("kokorochat", tmp_path))


def test_japanese_daily_dialogue(tmp_path: Path) -> None:
    folder = tmp_path / "japanese_daily_dialogue"
    turns = [{"turn_num": i + 1, "speaker": "AB"[i], "utterance": text} for i, text in enumerate(["おはよう", "はい"])]
    write_json(folder / "data" / "topic3.json", [{"dialogue_id": 7, "utterances": turns}])
    expected = Dialogue("japanese_daily_dialogue/topic3/7", [Turn("おはよう", "A"), Turn("はい", "B")])
    assert both(folder, "japanese_daily_dialogue") == [("all", expected)]


def test_kdconv(tmp_path: Path) -> None:
    folder = tmp_path / "kdconv"
    for part in ("dev", "test"):
        write_json(
            folder / "data" / "film" / f"{part}.json", [{"messages": [{"message": "知道吗？"}, {"message": "嗯"}]}]
        )
    write_json(folder / "data" / "film" / "kb_film.json", {"not": "dialogues"})
    found = both(folder, "kdconv")
    assert [(part, dialogue.id) for part, dialogue in found] == [
        ("dev", "kdconv/film/dev/0"),
        ("test", "kdconv/film/test/0"),
    ]
    assert found[0][1].turns == (Turn("知道吗？", "A"), Turn("嗯", "B"))


# ---- Hazumi ----------------------------------------------------------------------------------------------------------


def test_exchanges_of_hazumi(tmp_path: Path) -> None:
    folder = write_hazumi(tmp_path / "hazumi1902")
    first, second, third = read_dataset("hazumi", folder)
    assert [first, second, third] == list(read_dataset("hazumi", packed(folder)))
    assert (first.id, first.context, first.response, first.system) == ("hazumi/1902F2001#0", (), "始めます。", "wizard")
    assert first.ratings == (
        Rating(4, "F1", "topic_continuance", "outsider"),
        Rating(5, "F1", "impression", "outsider"),
        Rating(3, "M2", "impression", "outsider"),
        Rating(6, "1902F2001", "impression", "interlocutor"),
    )
    assert second.context == (Turn("始めます。", "wizard"), Turn("はい そうです", "1902F2001"))
    assert [rating.value for rating in second.ratings] == [5, None, 4, None]
    assert (third.response, len(third.context)) == ("", 3), "a silent Wizard and an empty turn of the participant"
    assert [rating.value for rating in third.ratings] == [None, None, 6, None]


def test_siblings_are_found_by_their_names(tmp_path: Path) -> None:
    write_hazumi(tmp_path / "hazumi1902")
    write_hazumi(tmp_path / "hazumi1911", name="1911M1")
    assert locate("hazumi", tmp_path).name == locate("hazumi1902", tmp_path).name == "hazumi1902"
    assert locate("hazumi1911", tmp_path).name == "hazumi1911"


def test_marks_of_the_transcription() -> None:
    assert transcript("(F (D え)えーと)|三十分 (? かな)") == "えーと 三十分 かな"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"UI_self": ["8", "1", "1"]}, "UI_self must be a number from 1 to 7, got '8'"),
        ({"UI_self": ["1"]}, "UI_self has 1 values only"),
        ({"user_utterance": ["x"]}, "3 utterances of the system and 1 of the user"),
        ({"sys_utterance": []}, "0 utterances of the system"),
    ],
)
def test_mistakes_in_hazumi_are_named(tmp_path: Path, change: dict[str, list[str]], message: str) -> None:
    write_hazumi(tmp_path, TIERS | change)
    with pytest.raises(InputError, match=message):
        list(read_dataset("hazumi", tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [("<TIER>", "not valid XML"), ('<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>', "declares no document type")],
)
def test_files_that_are_not_elan(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path / "elan" / "x.eaf", text)
    with pytest.raises(InputError, match=message):
        list(read_dataset("hazumi", tmp_path))


# ---- BYU chit-chat ---------------------------------------------------------------------------------------------------


BYU_MESSAGES = [
    [
        {"text": "Hello", "timestamp": "2018-05-02T19:38:15Z", "sender": "u0"},
        {"text": "How are you?", "timestamp": "2018-05-02T19:38:20Z", "sender": "u0"},
    ],
    [],
    [{"text": "good", "timestamp": "2018-05-02T19:38:29Z", "sender": "u1"}],
]


BYU_TURNS = [
    {"speaker": "u0", "text": "Hello How are you?", "time": "2018-05-02T19:38:15Z", "end": "2018-05-02T19:38:20Z"},
    {"speaker": "u1", "text": "good", "time": "2018-05-02T19:38:29Z"},
]


BYU_RATINGS = {"witty": 10, "upbeat": 8}


BYU_EXPECTED = Dialogue(
    "byu_chitchat/7",
    [Turn("Hello How are you?", "u0", "2018-05-02T19:38:15Z"), Turn("good", "u1", "2018-05-02T19:38:29Z")],
    ratings=[Rating(10, aspect="witty"), Rating(8, aspect="upbeat")],
)


def test_both_layouts_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(
        tmp_path / "dataset.json", {"7": {"messages": BYU_MESSAGES, "ratings": BYU_RATINGS, "start": "2018-05-02"}}
    )
    (tmp_path / "data" / "logs").mkdir(parents=True)
    line = json.dumps({"id": "7", "turns": BYU_TURNS, "ratings": BYU_RATINGS}).encode()
    (tmp_path / "data" / "logs" / "byu_chitchat.jsonl.xz").write_bytes(lzma.compress(line + b"\n"))
    monkeypatch.setenv("INTERLOQ_DATA", str(tmp_path / "data"))
    assert list(read_dataset("byu_chitchat")) == [BYU_EXPECTED]
    assert list(read_dataset("byu_chitchat", tmp_path)) == [BYU_EXPECTED]
    monkeypatch.setenv("INTERLOQ_DATA", str(tmp_path))
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(byu_chitchat, "find_spec", lambda _: spec)
    assert list(read_dataset("byu_chitchat", locate("byu_chitchat"))) == [BYU_EXPECTED]


def test_conversations_may_be_unrated(tmp_path: Path) -> None:
    write_json(
        tmp_path / "dataset.json", {"7": {"messages": BYU_MESSAGES}, "8": {"messages": BYU_MESSAGES, "ratings": None}}
    )
    assert [dialogue.ratings for dialogue in read_dataset("byu_chitchat", tmp_path)] == [(), ()]


def test_mistakes_in_byu_chitchat_are_named(tmp_path: Path) -> None:
    write_json(tmp_path / "dataset.json", {"7": {"messages": ["hi"]}})
    with pytest.raises(InputError, match=r"dataset\.json:7: a turn must be a list of messages, got 'hi'"):
        list(read_dataset("byu_chitchat", tmp_path))
    write_json(tmp_path / "dataset.json", {"7": {"messages": BYU_MESSAGES, "ratings": {"witty": "ten"}}})
    with pytest.raises(InputError, match="'witty' must be a number, got 'ten'"):
        list(read_dataset("byu_chitchat", tmp_path))


# ---- ChatterBot ------------------------------------------------------------------------------------------------------


YAML = """\
categories:
- greetings
conversations:
- - Hi, how is it
    going?
  - 'It''s "good"'
- - Hi, how is it going?
  - "Say \\"fine\\"."
# a comment
- - Hi, how is it going?
  -
  - Yes
- question with its dash missing
  - '22'
- - write a script
  - |
    Here:
    - one
    # two
- alone
"""


def test_chatterbot(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    put(folder / "english" / "greetings.yml", YAML)
    found = [dialogue for _, dialogue in both(folder, "chatterbot")]
    assert [[turn.text for turn in dialogue.turns] for dialogue in found] == [
        ["Hi, how is it going?", 'It\'s "good"'],
        ["Hi, how is it going?", 'Say "fine".'],
        ["Hi, how is it going?", "Yes"],
        ["question with its dash missing", "22"],
        ["write a script", "Here: - one # two"],
        ["alone"],
    ]
    assert found[0].id == "chatterbot/english/greetings/0"
    single, groups = pairs("chatterbot", found)
    assert len(single) == 5
    assert [pair.response for pair in groups] == ['It\'s "good"', 'Say "fine".', "Yes"]
    assert {pair.to for pair in groups} == {"chatterbot/english/greetings/0/0"}
    assert pairs("dailydialog", found)[1] == []
    with pytest.raises(InputError, match="no list of conversations"):
        chatterbot.conversations("categories:\n- x\n", "x.yml")


def test_plain_files_are_read_as_yaml_reads_them() -> None:
    yaml = pytest.importorskip("yaml")
    plain = YAML.replace("- question with its dash missing\n  - '22'\n", "").replace("- alone\n", "")
    # the base loader makes texts of everything, so that "Yes" stays one
    value = yaml.load(plain, Loader=yaml.BaseLoader)
    expected = [[" ".join(turn.split()) for turn in turns if turn] for turns in value["conversations"]]
    assert chatterbot.conversations(plain, "x") == expected
