"""Samples and dialogues as Label Studio tasks."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from interloq import Dialogue, InputError, Sample, Turn
from interloq.data.records.jsonl import write
from interloq.web.studies.label_studio_tasks import LabelStudioOptions, label_studio_file, labeling_config


@pytest.mark.parametrize("compare", [False, True])
def test_tasks_show_all_that_the_configuration_names_but_no_system(folder: Path, compare: bool) -> None:
    samples = [Sample(f"id-{i}", ["hi"], f"reply {i}", system=name) for i in (1, 2) for name in ("GoodBot", "BadBot")]
    write("samples.jsonl", samples, kind="samples")
    facts = label_studio_file(
        "samples.jsonl", "tasks.json", LabelStudioOptions(aspects=["overall", 'a "b" <c>'], compare=compare)
    )
    text = Path("tasks.json").read_text()
    assert "Bot" not in text
    assert "id-" not in text
    tasks = json.loads(text)
    assert len(tasks) == facts["tasks"] == (2 if compare else 4)
    view = ET.parse("tasks.xml").getroot()  # noqa: S314 (written above)
    shown = [tag for tag in view if tag.tag in ("Text", "Paragraphs")]
    assert {tag.attrib["value"].removeprefix("$") for tag in shown} == tasks[0]["data"].keys() - {"interloq_key"}
    asked = [tag for tag in view if tag.tag == ("Choices" if compare else "Rating")]
    assert [tag.attrib["name"] for tag in asked] == ["overall", 'a "b" <c>']
    assert {tag.attrib["toName"] for tag in asked} <= {tag.attrib["name"] for tag in shown}


def test_the_same_records_give_the_same_tasks_and_others_give_others(folder: Path) -> None:
    def written(*, seed: int = 0, ids: str = "id") -> list[str]:
        samples = [Sample(f"{ids}{i}", ["hi"], f"reply {i} {name}", system=name) for i in range(8) for name in "ab"]
        write("samples.jsonl", samples, kind="samples")
        label_studio_file("samples.jsonl", "tasks.json", LabelStudioOptions(compare=True, seed=seed))
        return [Path(name).read_text() for name in ("tasks.json", "tasks.key.json")]

    first = written()
    assert first == written()
    assert first != written(seed=1)
    keys, keys_of_others = ({*json.loads(hidden)["tasks"]} for _, hidden in (first, written(ids="x")))
    assert len(keys) == 8
    assert not keys & keys_of_others, "keys cannot be told from what annotators see"
    sides = {task["data"]["left"][-1] for task in json.loads(first[0])}
    assert sides == {"a", "b"}


def test_speakers_of_dialogues_are_renamed(folder: Path) -> None:
    turns = [Turn("hi", "ann"), Turn("hello", "GoodBot")]
    write("dialogues.jsonl", [Dialogue("d", turns, {"GoodBot": "GoodBot"})], kind="dialogues")
    label_studio_file("dialogues.jsonl", "tasks.json")
    (task,) = json.loads(Path("tasks.json").read_text())
    assert task["data"]["reply"] == [{"author": "A", "text": "hi"}, {"author": "B", "text": "hello"}]
    assert 'Paragraphs name="shown_reply"' in Path("tasks.xml").read_text()


def test_bad_settings_are_refused(folder: Path) -> None:
    write("samples.jsonl", [Sample("1", ["hi"], "a")], kind="samples")
    with pytest.raises(InputError, match="cannot write tasks to"):
        label_studio_file("samples.jsonl", "tasks.jsonl")
    for aspects in (["reason"], [""], ["a", "a"]):
        with pytest.raises(InputError, match="an aspect cannot be named"):
            labeling_config("samples", LabelStudioOptions(aspects=aspects))
    with pytest.raises(InputError, match="at least 2, got 1"):
        labeling_config("samples", LabelStudioOptions(aspects=["a"], max_rating=1))
