"""Items from records: blind, and grouped so that nobody judges two versions of one answer apart."""

from __future__ import annotations

import pytest

from interloq import Sample
from interloq.errors import InputError
from interloq.records import Dialogue, Score, Turn
from interloq.web.studies.items import blind, compare_items, disagreement, list_compared_ids, rate_items, with_scores
from tests.web.conftest import replies


def test_nothing_shown_names_a_system_or_an_id() -> None:
    dialogue = Dialogue("secret-id", [Turn("Hi", "secret-owl"), Turn("Hello", "ann")], {"secret-owl": "secret-owl"})
    for item in [*rate_items(replies()), *compare_items(replies()), *rate_items([dialogue])]:
        assert "secret" not in str(item.shown)
        assert "secret" in str(item.hidden)


def test_replies_to_one_context_share_a_page_or_at_least_an_answer_key() -> None:
    together = rate_items(replies(2))
    assert [len(item.shown["units"]) for item in together] == [2, 2]
    apart = rate_items(replies(2), together=False)
    assert [len(item.shown["units"]) for item in apart] == [1, 1, 1, 1]
    assert len({item.answer_key for item in apart}) == 2


def test_every_two_systems_are_compared() -> None:
    items = compare_items(replies(2, ("a", "b", "c")))
    pairs = [tuple(unit["system"] for unit in item.hidden["units"]) for item in items]
    assert pairs == [("a", "b"), ("a", "c"), ("b", "c")] * 2
    assert len({item.answer_key for item in items}) == 2


def test_without_shared_ids_replies_to_one_context_are_compared() -> None:
    items = compare_items([Sample(f"1/{name}", ["Hi"], name, system=name) for name in "abc"])
    assert {item.hidden["item"] for item in items} == {"1/a"}  # intervals count a context once
    assert list_compared_ids("1/a", items[2].hidden["units"]) == ("1/b", "1/c")


def test_dialogues_on_one_occasion_are_compared_by_one_person_once() -> None:
    dialogues = [Dialogue(f"d{n}", ["Hi"], {"x": n}, occasion="tea") for n in "abc"]
    items = compare_items(dialogues)
    assert len(items) == 3
    assert len({item.answer_key for item in items}) == 1
    assert {item.hidden["item"] for item in items} == {"tea"}


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([Sample("1", ["Hi"], "x", system="a")], "nothing to compare"),
        ([Sample("1", ["Hi"], "x", system=str(i)) for i in range(500)], "124,750 pairs"),
        ([Sample("1", ["Hi"], "x", system="a"), Sample("1", ["Hi"], "y")], "has no system"),
        ([Sample("1", ["Hi"], "x", system="a"), Sample("1", ["Ho"], "y", system="b")], "different contexts"),
    ],
)
def test_pairs_that_cannot_be_compared_are_refused(samples: list[Sample], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_items(samples)


def test_a_page_has_a_limit() -> None:
    with pytest.raises(InputError, match="21 replies to one context"):
        rate_items(replies(1, [str(n) for n in range(21)]))


def test_speakers_are_renamed_in_order_of_appearance() -> None:
    turns = blind([Turn("1", "zoe"), Turn("2", "bot"), Turn("3", "zoe")], {"bot": "gpt"})
    assert [(turn["speaker"], turn["bot"]) for turn in turns] == [("A", False), ("B", True), ("A", False)]
    assert [turn["speaker"] for turn in blind([Turn("1"), Turn("2"), Turn("3")])] == ["A", "B", "A"]


def test_percentiles_far_apart_are_a_disagreement() -> None:
    a, b, c = ("1", ""), ("2", ""), ("3", "")
    found = disagreement({"x": {a: 0.1, b: 0.2}, "y": {a: 5.0, b: 3.0}, "z": {c: 1.0}})
    assert found == {a: 50.0, b: 50.0}


def test_items_on_which_metrics_disagree_come_first() -> None:
    items = rate_items(replies(3, ["owl"]))
    bleu = [Score(f"secret-id-{i}", "bleu", value) for i, value in enumerate((0.9, 0.5, 0.1))]
    other = [Score(f"secret-id-{i}", "chrf", value) for i, value in enumerate((0.8, 0.1, 0.2))]
    unscored = Score("secret-id-0", "third", None)
    found = with_scores(items, [*bleu, *other, unscored, Score("elsewhere", "chrf", 1.0)])  # found by their ids
    assert found[0].hidden["units"][0]["scores"] == {"bleu": 0.9, "chrf": 0.8, "third": None}
    assert [round(item.priority, 3) for item in found] == [0.0, 33.333, 33.333]


def test_a_metric_of_whole_sets_disagrees_with_none() -> None:
    items = rate_items(replies(3, ["owl"]))
    scores = [Score(f"secret-id-{i}", "distinct", float(i)) for i in range(3)]
    scores += [Score(f"secret-id-{i}", "judge(model='ready')", -float(i)) for i in range(3)]
    assert [item.priority for item in with_scores(items, scores)] == [0, 0, 0]


def test_one_metric_alone_is_watched_without_priorities() -> None:
    items = rate_items(replies(1))
    (found,) = with_scores(items, [Score("secret-id-0", "bleu", 1.0, system="secret-owl")])
    assert found.priority == 0
    assert [unit["scores"] for unit in found.hidden["units"]] == [{}, {"bleu": 1.0}]


def test_scores_of_other_samples_or_of_dialogues_are_refused() -> None:
    with pytest.raises(InputError, match="no sample of the task has a score"):
        with_scores(rate_items(replies(1)), [Score("elsewhere", "bleu", 1.0)])
    with pytest.raises(InputError, match="not of dialogues"):
        with_scores(rate_items([Dialogue("d", ["Hi"])]), [])


def reply_to(speaker: str, system: str = "bot") -> Sample:
    return Sample("s1", [Turn("Hello", "bot"), Turn("Hi", speaker)], "Fine", system=system)


def test_items_of_interlocutors_are_apart_and_mark_their_turns() -> None:
    records = [reply_to("ann"), reply_to("ben"), reply_to("ann", "other")]
    for_ann, for_ben = rate_items(records, by_interlocutor=True)
    assert (for_ann.owner, len(for_ann.hidden["units"]), for_ben.owner) == ("ann", 2, "ben")
    assert [turn["own"] for turn in for_ann.shown["context"]] == [False, True]
    assert "ann" not in str(for_ann.shown)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Sample("s1", ["Hi"], "Fine"), "sample 's1' does not name the speaker"),
        (Sample("s1", [], "Fine"), "does not name the speaker"),
        (reply_to("bot"), "follows a turn of its own system, 'bot'"),
        (Dialogue("d1", ["Hi"]), "not dialogues"),
    ],
)
def test_an_unknown_interlocutor_is_refused(record: Sample | Dialogue, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rate_items([record], by_interlocutor=True)
