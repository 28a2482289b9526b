"""Variants of FED against people: what is read and compared, on made dialogues in the published layouts."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import fed_variants
import numpy as np
import pytest
from fed_follow_ups import BOTH, DIMENSIONS, NEGATIVE, POSITIVE, Floats, Turns
from results import interval_by_unit, load_measured
from scipy.stats import spearmanr

from tests.recipes.test_fed_table import DIALOGUE, TURN

BOTS = ("a", "b", "c")
WORDS = ["we", "saw", "the", "film", "there", "again", "it", "was", "a", "very", "good", "day"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sets with made-up judgments."""
    folder, random = tmp_path_factory.mktemp("data"), Random(0)
    dialogues, annotations = [], []
    for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
        for number in range(4):
            name = f"{first}{second}{number}"
            turns = [{"id": who, "text": _said(random)} for _ in range(3) for who in (first, second)]
            dialogues.append({"_id": {"$oid": name}, "system_type0": first, "system_type1": second, "convo": turns})
            annotations += [{"convo_id": name, **_answers(random)} for _ in range(3)]
    for part, values in (("dialogues", dialogues), ("annotations", annotations)):
        with gzip.open(folder / f"spot_the_bot_convai2.{part}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(value) + "\n" for value in values)
    with lzma.open(folder / "ji2022_part.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(_talk(random, number)) + "\n" for number in range(16))
    items = []
    for number in range(24):
        names = TURN if number < 12 else DIALOGUE
        judged = {name: [random.randint(0, 4) for _ in range(5)] for name in names}
        reply = {"response": f"System: {_said(random)}"} if number < 12 else {}
        items.append({"context": f"User: {_said(random)}", "system": "Meena", "annotations": judged, **reply})
    (folder / "fed").mkdir()
    (folder / "fed" / "fed_data.json").write_text(json.dumps(items))
    return folder


def _said(random: Random) -> str:
    return " ".join(random.sample(WORDS, 6))


def _answers(random: Random) -> dict[str, Any]:
    answers = {}
    for side in range(2):
        answers[f"entity{side}_annotation"] = {
            question: random.choice([True, False]) for question in fed_variants.SPOT_QUESTIONS.values()
        }
    return answers


def _talk(random: Random, number: int) -> dict[str, Any]:
    turns = [{"speaker": who, "text": _said(random)} for _ in range(3) for who in ("person", "bot")]
    asked = ("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic")
    ratings = {question: random.randint(0, 100) for question in asked}
    system = ("a", "b", "c", "QualityControl")[number % 4]
    return {"id": f"t{number}", "worker": f"w{number // 2}", "system": system, "turns": turns, "ratings": ratings}


def _made_score(dialogues: Sequence[Turns]) -> dict[tuple[str, str], Floats]:
    """Scores that depend on the text alone."""
    scores = {}
    for dimension in DIMENSIONS:
        for sets in (BOTH, NEGATIVE, POSITIVE):
            random = [Random(f"{dimension} {sets} {turns}").random() for turns in dialogues]
            scores[dimension, sets] = np.array(random)
    return scores


def test_the_middle_and_the_last_utterance_are_read(data: Path) -> None:
    sides = fed_variants.spot_sides(data, 2)
    assert len(sides) == 3 * 2 * 2
    opener, other = sides[0], sides[1]
    assert (opener.own, opener.read) == ((2, 4), (4,)), "its first utterance answers nothing"
    assert (other.own, other.read) == ((1, 3, 5), (3, 5))
    assert other.contexts() == [other.turns[:4], other.turns[:6]]
    assert set(opener.ratings) == set(DIMENSIONS)


def test_ratings_of_ji_are_turned_and_the_degraded_bot_is_left_out(data: Path) -> None:
    sides = fed_variants.ji_sides(data, 2)
    assert sorted(side.system for side in sides) == ["a", "a", "b", "b", "c", "c"]
    with lzma.open(data / "ji2022_part.jsonl.xz", "rt") as file:
        answers = {talk["id"]: talk["ratings"] for talk in map(json.loads, file)}
    for side in sides:
        given = answers[side.dialogue]
        turned = [100 - value if name in ("robotic", "repetitive") else value for name, value in given.items()]
        assert side.ratings["overall"] == pytest.approx(sum(turned) / 7)
        assert side.ratings["sensibleness"] == given["consistent"]


def test_only_the_last_utterance_is_replaced(data: Path) -> None:
    sides = fed_variants.spot_sides(data, 4)
    endings = fed_variants.replaced_endings(sides, 5)
    assert len({ending.dialogue for ending in endings}) == 5
    for ending in endings:
        before = ending.unchanged[:-1]
        assert ending.repeated[:-1] == ending.foreign[:-1] == before
        assert ending.repeated[-1] in before
        assert ending.foreign[-1] not in ending.unchanged


def test_repeated_bigrams_are_counted() -> None:
    turns = ("how are you", "fine and you", "fine and you", "I see")
    sides = [
        fed_variants.Side("d", "d", "a", {}, turns, (1, 3), (3,)),
        fed_variants.Side("d", "d", "b", {}, turns, (2,), (2,)),
    ]
    assert fed_variants.repetition(sides).tolist() == [0.0, 1.0]


def test_levels_are_reported_apart(data: Path) -> None:
    sides = fed_variants.spot_sides(data, 4)
    scored = fed_variants.score_sides(fed_variants.SPOT, sides, "dialogues", _made_score)
    every = np.arange(len(sides))
    fed, human = scored.fed["overall", BOTH], scored.human["overall"]
    means = {bot: [i for i, side in enumerate(sides) if side.system == bot] for bot in BOTS}
    people = [round(float(human[own].mean()), 9) for own in means.values()]
    by_system = spearmanr(people, [fed[own].mean() for own in means.values()])
    assert fed_variants.agreement(human, fed, every) == pytest.approx(spearmanr(human, fed).statistic)
    over_systems = fed_variants.system_agreement(scored.systems, human, fed, every)
    assert over_systems == pytest.approx(by_system.statistic)


def test_everything_is_reported(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fed_variants, "scorer", lambda *_: _made_score)
    monkeypatch.setattr(fed_variants, "interval_by_unit", partial(interval_by_unit, resamples=10))
    result = tmp_path / "fed_variants.json"
    options = ["--data", str(data), "--work", str(tmp_path), "--measured", str(result), "--replaced", "6"]
    assert fed_variants.main([*options, "--per-pair", "4", "--per-bot", "4"]) == 0
    measured = load_measured(result)
    deciding = [finding for finding in measured.findings if finding.decides]
    assert [finding.item for finding in deciding] == ["002/40", "002/41", "002/30"]
    assert all(finding.data.startswith("Spot the Bot") for finding in deciding)
    assert {"over dialogues", "over systems", "over replies"} <= {
        finding.way.rpartition(", ")[2] for finding in measured.findings
    }
    assert [table.title.rpartition(" ")[2] for table in measured.tables] == [
        *["dialogues", "systems"] * 2,
        "replies",
        "dialogues",
    ]
    table = measured.tables[0]
    assert table.columns == ["FED", "w/o neg", "w/o pos"]
    assert [cell.published for cell in table.rows["Overall"]] == [0.329, -0.367, 0.386]
    assert [cell.ours for cell in measured.tables[2].rows["Specificity"]] == [None] * 3, "Ji et al. did not ask"
