"""People rate references: items from samples, the page in a real browser, and what the export gives other verbs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import Reference, Sample, write
from interloq.errors import InputError
from interloq.rate.human import Human
from interloq.records import Turn
from interloq.web.database import Database
from interloq.web.references.rating_task import PER_ITEM, make_rating_items
from interloq.web.serve_options import TaskFileOptions
from interloq.web.studies.export import export_study
from interloq.web.studies.questions import Question, StudyTask
from interloq.web.studies.task_file import add_to_study, read_settings
from interloq.web.studies.tasks import get_task
from tests.web.conftest import People, Served, add_annotators, export, finish_item, store_task, submit, take_item

FIVE = Question("overall", "Does it fit?", low=-1, high=1, step=0.5, labels=("no", "yes"))
TEA, WALK = "Do you want tea?", "A walk?"
GOOD, BAD = Reference("Yes, please."), Reference("The bus is late.", source="retrieved:secret-id-7")
MILK, PARROT = Reference("With milk.", source="retrieved:secret-id-8"), Reference(WALK, source="parrot")
SAMPLES = [
    Sample("secret-id-0", [TEA], "Tea.", [GOOD, BAD, MILK], "secret-owl"),
    Sample("secret-id-1", [WALK], "No.", [], "secret-owl"),
    Sample(
        "secret-id-0", [TEA], "With milk.", [GOOD, BAD, Reference("Yes, please. ", source="human")], "secret-parrot"
    ),
    Sample("secret-id-2", [Turn(WALK, "secret-owl")], "No.", [PARROT, Reference(" ")], "secret-owl"),
]


def rating_task(name: str = "refs", **settings: Any) -> StudyTask:
    return StudyTask("references-rating", name, settings.pop("questions", (FIVE,)), **settings)


def rate_by_text(study: Database, task: int, values: dict[str, float], *, people: int = 1) -> None:
    """Let people give each text its value, less half a point per earlier person."""
    with study.reading() as connection:
        stored = get_task(connection, task)
    for number, person in enumerate(add_annotators(study, stored, people)):
        for _ in range(2):
            assigned = take_item(study, stored, person)
            given = []
            for unit, place in enumerate(assigned.order):
                value = values[assigned.shown["units"][place]["text"]] - number / 2
                given.append({"unit": unit, "aspect": "overall", "value": value})
            submit(study, stored, person, assigned.id, given)


def test_each_text_of_a_context_is_shown_once_without_source() -> None:
    tea, walk = make_rating_items(SAMPLES)
    assert tea.shown == {
        "context": [{"speaker": "A", "text": TEA}],
        "units": [{"text": "Yes, please."}, {"text": "The bus is late."}, {"text": "With milk."}],
    }
    assert [unit["system"] for unit in tea.hidden["units"]] == ["gold", "retrieved", "retrieved"]
    assert [unit["places"] for unit in tea.hidden["units"]] == [
        [("secret-id-0/0", ""), ("secret-id-0/2", "secret-parrot")],
        [("secret-id-0/1", "")],
        [("secret-id-0/2", "secret-owl")],
    ]
    assert walk.shown["units"] == [{"text": WALK}]
    assert [unit["place"] for unit in (*tea.hidden["samples"], *walk.hidden["samples"])] == [0, 2, 1, 3]
    assert "secret" not in str((tea.shown, walk.shown))


def test_samples_without_a_context_are_rated_apart() -> None:
    first, second = make_rating_items([Sample(name, [], "x", [GOOD]) for name in ("a", "b")])
    assert first.answer_key != second.answer_key
    assert [unit["places"] for unit in second.hidden["units"]] == [[("b/0", "")]]


def test_one_reference_per_page_if_asked_or_if_there_are_too_many() -> None:
    many = [replace(SAMPLES[0], references=tuple(Reference(f"reply {i}") for i in range(21)))]
    with pytest.raises(InputError, match="21 references of sample 'secret-id-0': a page shows at most 20") as refused:
        make_rating_items(many)
    assert "--alone" in str(refused.value)
    pages = make_rating_items(many, together=False)
    assert len(pages) == 21
    assert len({page.answer_key for page in pages}) == 1
    assert [len(page.hidden["samples"]) for page in pages] == [1] + [0] * 20
    with pytest.raises(InputError, match="no sample has references"):
        make_rating_items(SAMPLES[1:2])


def test_the_export_gives_human_weights_of_every_copy(sqlite_study: Database, tmp_path: Path) -> None:
    task = store_task(sqlite_study, rating_task(), SAMPLES).id
    values = {GOOD.text: 1.0, BAD.text: -0.5, MILK.text: 0.0, WALK: -0.5}
    rate_by_text(sqlite_study, task, values, people=2)
    ratings = export(sqlite_study, task, tmp_path / "ratings.jsonl")
    assert len(ratings) == 2 * (3 + 1 + 1)  # the gold reply is at two places
    assert {rating.role for rating in ratings} == {"outsider"}
    human = Human(ratings=str(tmp_path / "ratings.jsonl"), low=-1, high=1)
    weights = [[reference.weight for reference in sample.references] for sample in human.rate(SAMPLES)]
    assert weights == [[0.75, -0.75, -0.25], [], [0.75, -0.75, 0.75], [-0.75, 1]]  # blank gold replies are not shown
    table = tmp_path / "ratings.csv"
    export_study(tmp_path / "study.db", "refs", table)
    assert len(table.read_text().splitlines()) == 1 + len(ratings)


def test_references_above_a_threshold_are_exported_with_their_samples(sqlite_study: Database, tmp_path: Path) -> None:
    scale = Question("overall", "Does it fit?")
    task = store_task(sqlite_study, rating_task(questions=(scale,)), SAMPLES).id
    rate_by_text(sqlite_study, task, {GOOD.text: 5, BAD.text: 2, MILK.text: 4, WALK: 1})
    clean = export(sqlite_study, task, tmp_path / "clean.jsonl", above=4)
    assert [sample.key for sample in clean] == [sample.key for sample in SAMPLES]  # in the order of the file
    assert [sample.references for sample in clean] == [(GOOD,), (), (GOOD, SAMPLES[2].references[2]), ()]
    assert export(sqlite_study, task, tmp_path / "fair.jsonl", above=3.9)[0].references == (GOOD, MILK)
    rated = store_task(sqlite_study, StudyTask("rate", "rate"), SAMPLES).id
    with pytest.raises(InputError, match="'rate' cannot be exported as samples with good references"):
        export(sqlite_study, rated, tmp_path / "no.jsonl", above=4)


def test_a_file_becomes_a_task_in_one_step(tmp_path: Path) -> None:
    write(tmp_path / "extended.jsonl", SAMPLES, kind="samples")
    settings = read_settings(None, kind="references-rating", default_name="extended", language="ja")
    assert settings.task.per_item == PER_ITEM == 4
    assert settings.task.questions[0].labels == ("まったく合わない", "とても合う")
    facts = add_to_study(tmp_path / "study.db", tmp_path / "extended.jsonl", settings)
    assert facts["needs"] == {"people": 4, "pages": 2, "answers": 4}
    with pytest.raises(InputError, match="scores are of replies"):
        add_to_study(
            tmp_path / "study.db", tmp_path / "extended.jsonl", settings, TaskFileOptions(scores=tmp_path / "s.jsonl")
        )
    (tmp_path / "task.json").write_text('{"options": {"guess": true}}')
    with pytest.raises(InputError, match="has no options"):
        read_settings(tmp_path / "task.json", kind="references-rating", name="x")
    check = {"context": ["Choose 5."], "response": "x", "correct": {"overall": 5}}
    (tmp_path / "task.json").write_text(f'{{"checks": [{str(check).replace(chr(39), chr(34))}]}}')
    assert len(read_settings(tmp_path / "task.json", kind="references-rating", name="x").checks) == 1


def test_answers_to_checks_are_not_exported(sqlite_study: Database, tmp_path: Path) -> None:
    items = make_rating_items(SAMPLES[:1])
    stored = store_task(sqlite_study, rating_task(questions=(Question(),)), SAMPLES[:1])
    (person,) = add_annotators(sqlite_study, stored)
    finish_item(sqlite_study, stored, person, take_item(sqlite_study, stored, person))
    assert len(export(sqlite_study, stored.id, tmp_path / "out.jsonl")) == len(items[0].shown["units"])


def test_rate_references_with_the_keyboard_from_invitation_to_export(
    served: Served, person: People, tmp_path: Path
) -> None:
    task = served.add(rating_task(completion="CODE-7"), SAMPLES[:1])
    one = person()
    page = one.open(served.invite(task))
    shown = page.locator(".reply").all_inner_texts()
    assert sorted(shown) == sorted(reference.text for reference in SAMPLES[0].references)
    assert "gold" not in page.content()
    keys = {GOOD.text: "5", BAD.text: "1", MILK.text: "3"}
    for text in shown:
        one.press(keys[text])
    one.submit()
    assert page.locator("code").inner_text() == "CODE-7"
    rated = {rating.item: rating.value for rating in export(served.database, task, tmp_path / "out.jsonl")}
    assert rated == {"secret-id-0/0": 1, "secret-id-0/1": -1, "secret-id-0/2": 0}


@pytest.mark.parametrize(("scheme", "width", "language"), [("light", 1280, "en"), ("dark", 390, "ja")])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    served: Served, person: People, scheme: str, width: int, language: str
) -> None:
    one = person(color_scheme=scheme, viewport={"width": width, "height": 844}, reduced_motion="reduce")
    one.open(served.invite(served.add(rating_task(language=language, instructions="Read."), SAMPLES[:1])))
    one.check_page()
    one.press("4", "Control+Enter")  # with problems shown
    one.check_page()
