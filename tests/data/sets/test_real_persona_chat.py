"""The corpus RealPersonaChat."""

from __future__ import annotations

from pathlib import Path

from interloq.data.sets.real_persona_chat import profiles
from interloq.records import Rating, Turn
from tests.data.sets.made_sets import both
from tests.published_layouts import write_json


def test_real_persona_chat(tmp_path: Path) -> None:
    folder = tmp_path / "real_persona_chat"
    said = [{"utterance_id": 0, "interlocutor_id": "AA", "text": "こんにちは", "timestamp": "2022-08-06T14:51:18"}]
    judged = [{"interlocutor_id": "AB", "informativeness": 5, "satisfaction": 3}]
    human = {"dialogue_id": 99, "interlocutors": ["AA", "AB"], "utterances": said, "evaluations": judged}
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
