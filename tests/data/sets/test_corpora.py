"""Published dialogue corpora, from tiny files in their layouts."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from interloq.data.sets import chatterbot
from interloq.data.sets.pairs import pairs
from interloq.data.sets.registry import CORPORA, corpus, locate, read_dataset, read_parts
from interloq.errors import InputError
from interloq.records import Dialogue, Rating, Turn
from tests.published_layouts import packed, write_json


def write_text(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def both(folder: Path, name: str) -> list[tuple[str, Dialogue]]:
    """The dialogues of a folder, which must be those of its archive."""
    found = list(read_parts(name, folder))
    assert found == list(read_parts(name, packed(folder)))
    return found


def test_dailydialog(tmp_path: Path) -> None:
    folder = tmp_path / "dailydialog"
    for theirs in ("train", "validation", "test"):
        write_text(folder / theirs / f"dialogues_{theirs}.txt", f" Hi {theirs} . __eou__ Hello ! __eou__ Bye __eou__\n")
    found = both(folder, "dailydialog")
    assert sorted(part for part, _ in found) == ["dev", "test", "train"]
    dialogue = dict(found)["dev"]
    assert list(read_dataset("dailydialog", folder, subset="dev")) == [dialogue]
    assert dialogue.id == "dailydialog/dev/0"
    assert dialogue.turns == (Turn("Hi validation .", "A"), Turn("Hello !", "B"), Turn("Bye", "A"))
    write_text(folder / "train" / "dialogues_train.txt", "no mark at all\n")
    with pytest.raises(InputError, match=r"dialogues_train\.txt:1: no dialogue: 'no mark at all'"):
        list(read_parts("dailydialog", folder))


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


def test_real_persona_chat(tmp_path: Path) -> None:
    folder = tmp_path / "real_persona_chat"
    said = [{"utterance_id": 0, "interlocutor_id": "AA", "text": "こんにちは", "timestamp": "2022-08-06T14:51:18"}]
    judged = [{"interlocutor_id": "AB", "informativeness": 5, "satisfaction": 3}]
    human = {"dialogue_id": 99, "interlocutors": ["AA", "AB"], "utterances": said, "evaluations": judged}
    write_json(folder / "real_persona_chat" / "dialogues" / "00012.json", human)
    write_json(folder / "real_persona_chat" / "interlocutors.json", {"AA": {}})
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
    assert found["system"].systems == {"system": "GPT-4"}
    assert [turn.speaker for turn in found["system"].turns] == ["FQ", "system"]
    assert found["system"].ratings == (Rating(4.0, "FQ", "coherence", "interlocutor"),)


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
    write_text(folder / "english" / "greetings.yml", YAML)
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
    said = YAML.replace("- question with its dash missing\n  - '22'\n", "").replace("- alone\n", "")
    # the base loader makes texts of everything, so that "Yes" stays one
    value = yaml.load(said, Loader=yaml.BaseLoader)
    expected = [[" ".join(turn.split()) for turn in turns if turn] for turns in value["conversations"]]
    assert chatterbot.conversations(said, "x") == expected


def test_where_corpora_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLOQ_DATA", raising=False)
    with pytest.raises(InputError, match="for kdconv; name its folder, archive or file, or set INTERLOQ_DATA"):
        locate("kdconv")
    monkeypatch.setenv("INTERLOQ_DATA", str(tmp_path))
    with pytest.raises(InputError, match="no kdconv in"):
        locate("kdconv")
    (tmp_path / "kdconv.tar.xz").write_bytes(b"")
    assert locate("kdconv") == tmp_path / "kdconv.tar.xz"
    (tmp_path / "kdconv").mkdir()
    assert locate("kdconv") == tmp_path / "kdconv"
    monkeypatch.setattr(chatterbot, "installed", lambda: tmp_path / "package")
    assert locate("chatterbot") == tmp_path / "package"


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown dataset 'dailydialogue'; did you mean 'dailydialog'"):
        corpus("dailydialogue")
    with pytest.raises(InputError, match=r"usr is not a corpus of dialogues; .*: interloq data import usr"):
        corpus("usr")
    write_json(
        tmp_path / "data" / "topic1.json", [{"dialogue_id": 1, "utterances": []}, {"dialogue_id": 1, "utterances": []}]
    )
    with pytest.raises(InputError, match="japanese_daily_dialogue/topic1/1 is there twice"):
        list(read_parts("japanese_daily_dialogue", tmp_path))
    write_json(tmp_path / "data" / "topic1.json", [{"utterances": []}])
    with pytest.raises(InputError, match=r"topic1\.json:0: 'dialogue_id' must be a number"):
        list(read_parts("japanese_daily_dialogue", tmp_path))


# counted from the published files with json and split, without this package
PUBLISHED: dict[str, dict[str, tuple[int, int]]] = {
    "dailydialog": {"train": (11_118, 87_170), "dev": (1_000, 8_069), "test": (1_000, 7_740)},
    "japanese_daily_dialogue": {"all": (5_256, 41_737)},
    "kdconv": {"dev": (450, 9_321), "test": (450, 9_737)},
    "real_persona_chat": {"human": (13_583, 408_619), "system": (150, 3_000)},
}


@pytest.mark.skipif(not os.environ.get("INTERLOQ_DATA"), reason="INTERLOQ_DATA names no folder with the corpora")
@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_corpora(name: str) -> None:
    dialogues: Counter[str] = Counter()
    turns: Counter[str] = Counter()
    for part, dialogue in read_parts(name):
        dialogues[part] += 1
        turns[part] += len(dialogue.turns)
        assert all(turn.text for turn in dialogue.turns) or name == "real_persona_chat"
    assert {part: (dialogues[part], turns[part]) for part in dialogues} == PUBLISHED[name]


def test_every_corpus_has_a_loader() -> None:
    for found in CORPORA:
        assert found.module().FILES
        assert callable(found.module().dialogues)
