"""Units from scores and records."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from interloq import InputError, Rating, Sample, Score
from interloq.compare.compare_options import Ratings
from interloq.compare.version_units import (
    common_scale,
    dialogue_units,
    find_played_dialogue,
    mean_ratings,
    sample_units,
)
from tests.made_dialogues import made_dialogues

SAMPLES = [
    Sample("1", ["hi"], "hello", system="bot", ratings=[4, 5]),
    Sample("2", ["hi", "you"], "yes", (), "bot", [Rating(1, aspect="fluency")], fields={"topic": "food", "year": 2}),
    Sample("d#3", (), "no", system="bot", dialogue="d"),
    Sample("d#4", (), "no", system="bot"),
]


def scored(id: str, value: float | None, metric: str = "chrf", reason: str = "") -> Score:
    return Score(id, metric, value, reason, "bot")


def test_samples_become_units_with_texts_ratings_and_fields() -> None:
    scores = [scored("1", 0.5), scored("1", None, "bleu", reason="too short"), scored("2", 1.0), scored("d#3", 2.0)]
    scores.append(scored("d#4", 2.0))
    one, two, three, four = sample_units(scores, SAMPLES)
    assert (one.values["chrf"], one.rating, one.prompt, one.text) == (0.5, 4.5, "hi", "hello")
    assert math.isnan(one.values["bleu"])
    assert one.reasons == {"bleu": "too short"}
    assert two.fields == {"topic": "food", "year": "2"}
    assert math.isnan(two.rating)
    assert one.keys["context"] != two.keys["context"]
    assert (three.dialogue, three.keys) == ("d", {"id": "d#3"})
    assert four.dialogue == ""  # never from the id
    (unit,) = sample_units([Score("a", "chrf", 1.0, dialogue="d")])  # scores alone have ids and dialogues
    assert (unit.keys, unit.dialogue, unit.prompt, unit.text) == ({"id": "a"}, "d", "", "")


def test_played_utterances_become_dialogues() -> None:
    _, scores = made_dialogues({"a": 1.0}, openings=2)
    assert all(map(find_played_dialogue, scores))
    units = sample_units(scores)
    assert len(units) == 4
    first = units[0]
    assert (first.keys, first.fields) == ({"occasion": "p/opening-0/repeat-1"}, {"partner": "p"})
    assert first.values["made"] == pytest.approx(sum(s.value or 0 for s in scores[:2]) / 2)


def test_dialogues_are_paired_by_partner_and_opening() -> None:
    units = {}
    for name in ("a", "b"):
        dialogues, scores = made_dialogues({name: 1.0}, openings=2)
        dialogues[0] = replace(dialogues[0], fields={"topic": "t"})
        units[name] = dialogue_units(scores, dialogues)
    first, second = units["a"][0], units["b"][0]
    assert first.keys["occasion"] == second.keys["occasion"]
    assert first.fields == {"partner": "p", "topic": "t"}
    assert first.prompt == "opening 0\ntell me more"
    assert first.text.startswith("a: I am a\np: ok")


def test_a_sample_scored_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"chrf scored '1' of 'bot' twice: 0.5 and 0.6"):
        sample_units([scored("1", 0.5), scored("1", 0.6)])


def test_ratings_are_of_one_aspect() -> None:
    assert mean_ratings(SAMPLES) == {("1", "bot"): 4.5}
    assert mean_ratings(SAMPLES, Ratings("fluency")) == {("2", "bot"): 1.0}
    assert mean_ratings(SAMPLES[1:]) == mean_ratings(SAMPLES[2:]) == {}
    with pytest.raises(InputError, match="no ratings of aspect 'wit'"):
        mean_ratings(SAMPLES, Ratings("wit"))


def version(**values: list[float]) -> list[Sample]:
    n = max(map(len, values.values()))
    return [
        Sample(str(i), [], "reply", ratings=[Rating(own[i], rater) for rater, own in values.items() if i < len(own)])
        for i in range(n)
    ]


def means(records: dict[str, list[Sample]], **options: str) -> list[float]:
    found, _ = common_scale(records, Ratings(**options))  # type: ignore[arg-type]
    rated = [mean_ratings(own) for own in found.values()]
    return [sum(own.values()) / len(own) if own else 0.0 for own in rated]


def test_raters_are_normalised_over_both_versions() -> None:
    """Normalised within each version, every difference would vanish."""
    records = {"old": version(ann=[1, 2, 3], dan=[20, 40, 60]), "new": version(ann=[3, 4, 5], dan=[60, 80, 100])}
    old, new = means(records, normalise="z")
    assert new - old == pytest.approx(2 / 1.2909944)  # in standard deviations of 1, 2, 3, 3, 4, 5
    assert old == pytest.approx(-new)
    old, new = means(records)
    assert new - old == pytest.approx(21.0)


def test_raters_of_one_version_say_nothing_about_the_difference() -> None:
    records = {"old": version(ann=[1, 2, 3, 1], eve=[5, 4, 5, 4, 4]), "new": version(ann=[3, 4, 5, 5])}
    found, notes = common_scale(records, Ratings(normalise="rank"))
    raters = {rating.rater for own in found.values() for sample in own for rating in sample.ratings}
    assert raters == {"ann"}
    assert "5 of 13 ratings left out, by raters of one version only" in " ".join(notes)
    with pytest.raises(InputError, match="no rater of 'overall' rated both versions"):
        common_scale({"old": records["old"], "new": version(fay=[1, 2, 3, 4, 5])}, Ratings(normalise="z"))


def test_different_scales_are_noted() -> None:
    records = {"old": version(ann=[1, 2, 3, 4, 5]), "new": version(dan=[20, 40, 60, 80, 100])}
    found, notes = common_scale(records, Ratings())
    assert found == records
    assert "different scales" in " ".join(notes)
