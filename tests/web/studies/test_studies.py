"""The modules of `interloq.web.studies`: label studio tasks, tasks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from interloq import Dialogue, InputError, Sample, Turn
from interloq.data.records.jsonl import write
from interloq.web.database import Database
from interloq.web.studies import tasks
from interloq.web.studies.items import compare_items, rate_items
from interloq.web.studies.label_studio_tasks import LabelStudioOptions, label_studio_file, labeling_config
from interloq.web.studies.tasks import Workload, workload
from tests.web.conftest import add_annotators, choice_task, likert_task, replies, store_task
from tests.web.work.test_assign import finish_items


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


def test_tasks_are_stored_found_listed_and_closed(study: Database) -> None:
    first = store_task(study, likert_task("first", instructions="<b>評価</b> ' \" \\ \0"), replies(2))
    second = store_task(study, choice_task("second"), replies(3))
    with study.writing() as connection:
        assert tasks.find_task(connection, "first") == first
        assert tasks.all_tasks(connection) == [first, second]
        assert tasks.number_of_items(connection, second.id) == 3
        tasks.close_task(connection, first.id)
        assert [one.closed for one in tasks.all_tasks(connection)] == [True, False]
        with pytest.raises(InputError, match="did you mean 'second'"):
            tasks.find_task(connection, "secnd")


def test_a_refused_task_leaves_nothing(study: Database) -> None:
    store_task(study, likert_task(), replies(2))
    with pytest.raises(InputError, match="has a task 'likert' already"):
        store_task(study, likert_task(), replies(3))
    with pytest.raises(InputError, match="nothing to show"), study.writing() as connection:
        tasks.add_task(connection, likert_task("empty"), [], {})
    with study.reading() as connection:
        (left,) = tasks.all_tasks(connection)
        assert tasks.number_of_items(connection, left.id) == 2


def test_large_tasks_are_stored_whole(study: Database) -> None:
    with study.writing() as connection:
        items = rate_items(replies(tasks.BATCH + 1))
        assert tasks.number_of_items(connection, tasks.add_task(connection, likert_task(), items, {})) == len(items)


def test_formulas() -> None:
    """Three pairs of systems per context: 3 · 2 people, each with one page per context."""
    assert workload(choice_task(per_item=2), {"a": 3, "b": 3}, 6) == Workload(6, 2, 2)
    assert workload(likert_task(per_item=3), {"a": 1, "b": 1, "c": 1}, 12) == Workload(3, 3, 12)
    assert workload(likert_task(per_item=3, most_items=2), {"a": 1, "b": 1, "c": 1}) == Workload(5, 2)
    assert workload(likert_task(), {}) == Workload(0, 0)


def test_words() -> None:
    assert str(Workload(6, 1, 2)) == "at least 6 people, each with up to 1 page (2 answers)"
    assert str(Workload(1, 20)) == "at least 1 person with up to 20 pages"


def test_exactly_so_many_people_finish_everything(sqlite_study: Database) -> None:
    records = replies(4, ["owl", "parrot", "crow"])
    task = store_task(sqlite_study, choice_task(per_item=2), records)
    needed = workload(task.settings, Counter(item.answer_key for item in compare_items(records)))
    finished = [
        len(finish_items(sqlite_study, task, person)) for person in add_annotators(sqlite_study, task, needed.people)
    ]
    assert finished == [needed.pages] * needed.people
    assert sum(finished) == 4 * 3 * 2
