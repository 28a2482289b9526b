"""Differences between versions: intervals, tests, slices, losses."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest
from scipy import stats

from interloq import InputError
from interloq.compare.compare import compare, human_means
from interloq.compare.compare_options import CompareOptions
from interloq.compare.comparison import Comparison, HumanMean
from interloq.compare.comparison_file import read_comparison
from interloq.compare.comparison_notes import write_notes
from interloq.compare.gate.gate import Gate, gate
from interloq.compare.match_versions import Unit, Version, match_units
from interloq.compare.repeats import Noise
from interloq.compare.slices import LEAST, slices, thirds_of
from interloq.data.records.jsonl import to_json
from interloq.records import ILLUSTRATIVE
from interloq.statistics.clustered import Clustered
from tests.made_versions import METRIC, drawn, version


def test_a_paired_difference_is_the_t_interval_and_the_sign_flip_test() -> None:
    old, new = drawn(), drawn(0.05, seed=2)
    (change,) = compare(version("old", old), version("new", new), slice_by=[], n_permutations=2000).changes
    assert change.ci
    expected = stats.ttest_rel(new, old)
    ci = expected.confidence_interval()
    assert change.ci == pytest.approx((ci.low, ci.high), abs=0.1 * (ci.high - ci.low))
    assert change.ci[0] < ci.low  # wider on this side, because differences are skewed
    assert change.ci[1] == pytest.approx(ci.high)
    assert change.p == pytest.approx(expected.pvalue, abs=0.03)
    assert change.p_adjusted == change.p
    assert (change.old.n, change.clusters) == (40, 40)


def test_without_common_ids_the_versions_are_independent() -> None:
    old, new = version("old", drawn()), version("new", drawn(0.3, seed=2), prefix="other ")
    (change,) = (found := compare(old, new, slice_by=[], n_permutations=2000)).changes
    expected = stats.ttest_ind(drawn(0.3, seed=2), drawn(), equal_var=False)
    assert found.pairing == "none"
    assert change.p == pytest.approx(expected.pvalue, abs=0.03)
    assert change.detectable > 0.5
    assert found.worse == ()
    assert found.notes[0].startswith("not paired")
    assert found.unpaired == {"old": 0, "new": 0}  # all units are used


def test_pairing_finds_what_independent_samples_cannot() -> None:
    paired = compare(version("old", drawn()), version("new", drawn(0.2, seed=2))).changes[0]
    assert paired.verdict == "better"
    assert paired.detectable < 0.1


def test_dialogues_are_swapped_as_a_whole() -> None:
    """Ten replies in each of four dialogues are four independent observations, of which nothing is significant."""
    shift = np.repeat([0.5, 0.6, 0.4, 0.7], 10)
    old, new = version("old", np.zeros(40), dialogue=10), version("new", shift, dialogue=10)
    (change,) = (found := compare(old, new, slice_by=[])).changes
    assert change.p == pytest.approx(2 / 16, abs=0.01)
    assert change.clusters == 4
    assert "only 4 independent units: intervals and tests are rough below 10" in found.notes


def test_slices_are_a_family_of_their_own() -> None:
    topics = ["food", "films"]
    new = [v + (0.5 if i % 2 else 0.0) for i, v in enumerate(drawn(seed=2))]
    old = version("old", drawn(), topics=topics)
    made = version("new", new, topics=topics)
    found = compare(old, made, slice_by=["topic"])
    whole, films, food = found.changes
    assert [c.slice for c in found.changes] == ["", "topic: films", "topic: food"]
    assert (food.verdict, films.verdict) == ("not shown", "better")
    assert films.p is not None
    assert films.p_adjusted == pytest.approx(2 * films.p)
    assert (whole,) == compare(old, made, slice_by=[]).changes
    assert whole.p_adjusted == whole.p
    assert films.difference - food.difference == pytest.approx(2 * (whole.difference - food.difference))


def test_slices_are_exploratory_unless_they_were_planned() -> None:
    old, new = (version(side, drawn(seed=seed), topics=["food", "films"]) for side, seed in (("old", 1), ("new", 2)))
    for options, exploratory in (({}, True), ({"slice_by": ["topic"]}, False), ({"planned": True}, False)):
        found = compare(old, new, **options)
        assert {change.exploratory for change in found.changes if change.slice} == {exploratory}
        assert any("exploratory" in note for note in found.notes) == exploratory
        assert not any(change.exploratory for change in found.overall())


def test_no_difference_is_rarely_significant() -> None:
    rng = np.random.default_rng(5)
    p_values = [
        compare(
            version("old", rng.normal(size=20)),
            version("new", rng.normal(size=20), prefix=prefix),
            slice_by=[],
            n_permutations=99,
        ).changes[0].p
        for prefix in ("", "x")
        for _ in range(150)
    ]  # fmt: skip
    assert np.mean([p is not None and p < 0.05 for p in p_values]) == pytest.approx(0.05, abs=0.04)


def test_losses_are_sorted_and_follow_the_direction() -> None:
    old, new = version("old", [1, 2, 3, 4]), version("new", [1, 1, 0, 9])
    assert [(w.id, w.old, w.new) for w in compare(old, new).worse] == [("2", 3, 0), ("1", 2, 1)]
    old, new = version("old", [1, 2, 3, 4], metric="perplexity"), version("new", [1, 1, 0, 9], metric="perplexity")
    (worst,) = compare(old, new, worst=1).worse
    assert (worst.id, worst.prompt, worst.old_text, worst.new_text) == ("3", "prompt 3", "old 3", "new 3")
    assert compare(version("o", [1, 2], metric="length"), version("n", [0, 1], metric="length")).worse == ()
    both = [
        replace(v, units=tuple(replace(u, values={"length": 0.0, **u.values}) for u in v.units)) for v in (old, new)
    ]
    assert [loss.metric for loss in compare(*both, worst=1).worse] == ["perplexity"]  # length has no better side


def test_unscored_units_are_counted_and_their_pairs_not_used() -> None:
    found = compare(version("old", [1, math.nan, 3, 4]), version("new", [1, 2, 3, math.nan]), slice_by=[])
    assert found.changes[0].old.n == found.changes[0].new.n == 2
    assert found.unscored == {METRIC: {"old": 1, "new": 1}}
    assert f"{METRIC}: 1 of 4 samples of the old version unscored" in found.notes


def test_nothing_to_compare_is_refused() -> None:
    one = version("old", [1.0, 2.0])
    for other, message in (
        (version("new", [1.0], metric="bleu"), "no metric scored both versions: chrf and bleu"),
        (version("new", [math.nan, math.nan]), "no unit of both versions has a score"),
    ):
        with pytest.raises(InputError, match=message):
            compare(one, other)
    with pytest.raises(InputError, match="which scores sets of replies"):
        compare(version("old", [1.0], metric="distinct"), version("new", [1.0], metric="distinct"))


def test_the_signature_depends_on_the_scores_and_not_on_their_order() -> None:
    old, new = version("old", drawn()), version("new", drawn(seed=2))
    first = compare(old, new, n_permutations=0)
    assert first.changes[0].p is None
    turned = replace(new, units=new.units[::-1])
    assert compare(old, turned, n_permutations=0).signature == first.signature
    assert compare(new, old, n_permutations=0).signature != first.signature
    clustered = replace(old, units=tuple(replace(unit, dialogue="d") for unit in old.units))
    assert compare(clustered, new, n_permutations=0).signature != first.signature


def test_the_direction_of_an_unknown_metric_is_asked_for() -> None:
    old, new = (version(name, drawn(shift), metric="toxicity") for name, shift in (("old", 0.0), ("new", 3.0)))
    found = compare(old, new, slice_by=[])
    assert [change.verdict for change in found.changes] == ["changed"]
    assert any("toxicity" in note and "--lower-is-better" in note for note in found.notes)
    (change,) = compare(old, new, slice_by=[], lower_is_better=True).changes
    assert change.verdict == "worse"


def test_an_option_does_not_turn_a_metric_that_knows_its_direction() -> None:
    old, new = (version(name, drawn(shift)) for name, shift in (("old", 0.0), ("new", 3.0)))
    (change,) = compare(old, new, slice_by=[], lower_is_better=True).changes
    assert (change.direction, change.verdict) == ("higher", "better")


def test_labels_alone_and_with_scores() -> None:
    rng = np.random.default_rng(0)
    quality = drawn(n=200)
    ratings = [3 + q + 0.3 * rng.normal() for q in quality[:30]]
    old, new = version("old", quality, ratings=ratings), version("new", quality, ratings=[r + 1 for r in ratings])
    found = {(h.which, h.metric): h for h in human_means(old, new, match_units(old, new), [METRIC])}
    assert len(found) == 6
    alone, powered = found["old", ""], found["old", METRIC]
    assert alone.value == pytest.approx(np.mean(ratings))
    assert (alone.labels, alone.scored, powered.labels, powered.scored) == (30, 0, 30, 200)
    assert alone.ci
    assert powered.ci
    assert powered.ci[1] - powered.ci[0] < 0.6 * (alone.ci[1] - alone.ci[0])
    assert found["difference", METRIC].value == pytest.approx(1.0)
    assert found["difference", METRIC].ci == pytest.approx((1.0, 1.0))  # equal scores: the pairs cancel all noise


def test_labels_alone_come_once_and_the_difference_tells_whether_they_were_selected() -> None:
    def means(rated: slice) -> list[HumanMean]:
        sides = []
        for name, seed in (("old", 1), ("new", 2)):
            made = version(name, sorted(drawn(n=100, seed=seed)))
            ratings = [math.nan] * 100
            ratings[rated] = drawn(n=100)[rated]
            units = [
                replace(unit, rating=rating, values={**unit.values, "length": float(i % 3)})
                for i, (unit, rating) in enumerate(zip(made.units, ratings, strict=True))
            ]
            sides.append(replace(made, units=tuple(units)))
        old, new = sides
        return list(human_means(old, new, match_units(old, new), [METRIC, "length"]))

    found = means(slice(0, 100, 4))
    names = [(mean.which, mean.metric) for mean in found]
    assert names == [(which, metric) for metric in ("", METRIC, "length") for which in ("old", "new", "difference")]
    assert [mean.scored for mean in found] == [0, 0, 0, 100, 100, 200, 100, 100, 200]
    assert not any(mean.selected for mean in found)
    lowest = [(mean.which, mean.metric) for mean in means(slice(0, 25)) if mean.selected]
    assert lowest == [("difference", METRIC)]


def test_ratings_of_one_version_or_of_none() -> None:
    old, new = version("old", drawn(), ratings=[1, 2, 3]), version("new", drawn())
    assert [h.which for h in human_means(old, new, match_units(old, new), [METRIC])] == ["old"]
    few, whole = version("old", drawn(), ratings=drawn()[:9]), version("new", drawn(), ratings=drawn())
    found = [(h.which, h.metric) for h in human_means(few, whole, match_units(few, whole), [METRIC])]
    assert found[3:] == [("old", METRIC), ("difference", METRIC)]  # all units of the new version are rated
    assert list(human_means(new, new, match_units(new, new), [METRIC])) == []


def test_verdicts_need_significance_and_a_direction() -> None:
    (change,) = compare(version("old", drawn()), version("new", drawn(0.2, seed=2)), slice_by=[]).changes
    assert change.verdict == "better"
    assert replace(change, direction="lower").verdict == "worse"
    assert replace(change, direction="neither").verdict == "changed"
    assert replace(change, p_adjusted=0.05).verdict == replace(change, p_adjusted=None).verdict == "not shown"


def test_a_comparison_is_shown_as_a_table() -> None:
    pytest.importorskip("pandas")
    found = compare(version("june", drawn()), version("july", drawn(0.2, seed=2)), slice_by=[])
    assert repr(found).startswith("Comparison: june → july\nmetric")
    assert "note: 40 samples paired by id" in repr(found)
    assert list(found.to_frame()["verdict"]) == ["better"]


def test_length_is_compared_beside_a_judge_unless_metrics_are_named() -> None:
    assert CompareOptions().scoring_metrics == ()
    assert CompareOptions(judge="llm_judge()").scoring_metrics == ("length",)
    assert CompareOptions(judge="llm_judge()", metrics=["chrf"]).scoring_metrics == ["chrf"]


def test_repeats_have_the_system_of_the_new_version() -> None:
    options = CompareOptions(old_system="june", new_system="july")
    assert [options.system(side) for side in ("old", "new", "repeat 1")] == ["june", "july", "july"]


OLD, NEW, EQUAL = version("old", drawn()), version("new", drawn()), version("equal", [0.0] * 20)
IN_DIALOGUES, BLEU = version("new", drawn(), dialogue=2), version("new", drawn(), metric="bleu")
OTHER_ASPECTS = replace(OLD, other_aspects=("wit", "tone"))
RATED = replace(version("old", drawn(), ratings=[1.0]), other_aspects=("wit", "tone"))
LOW_RATED = version("old", sorted(drawn()), ratings=[3.0] * 15)
ILLUSTRATED = replace(NEW, roles=frozenset({ILLUSTRATIVE}))


@pytest.mark.parametrize(
    ("old", "new", "note", "is_noted"),
    [
        (OLD, version("new", drawn()[:30]), "30 samples paired by id; 10 samples only in the old version", True),
        (IN_DIALOGUES, IN_DIALOGUES, "40 samples paired by id, in 20 clusters", True),
        (BLEU, version("new", drawn(), metric="distinct"), "not compared: bleu, which scored only one version", True),
        (BLEU, version("new", drawn(), metric="distinct"), "not compared: distinct, which scores sets", True),
        (BLEU, BLEU, "bleu: means of sample scores, which may differ from the value of the whole set", True),
        (OTHER_ASPECTS, NEW, "no ratings of the aspect overall", True),
        (RATED, NEW, "no ratings of the aspect overall", False),
        (EQUAL, EQUAL, f"{METRIC}: every sample of both versions has the score 0, so it cannot tell them apart", True),
        (EQUAL, NEW, f"{METRIC}: every sample of both versions has the score 0", False),
        (OLD, ILLUSTRATED, "ratings are illustrative: no person gave them", True),
        (OLD, NEW, "ratings are illustrative: no person gave them", False),
        (LOW_RATED, NEW, f"{METRIC}, old version: rated units score differently", True),
        (LOW_RATED, version("new", drawn(), ratings=[3.0] * 15), f"{METRIC}, new version: rated units", False),
    ],
)
def test_notes(old: Version, new: Version, note: str, is_noted: bool) -> None:
    units = match_units(old, new)
    metrics = [metric for metric in old.metrics if metric in new.metrics]
    notes = list(write_notes(old, new, units, dict.fromkeys(metrics, units)))
    assert any(line.startswith(note) for line in notes) == is_noted


FOUND = compare(
    version("june", drawn(), topics=["food", "films"], ratings=[3.0] * 9),
    version("july", drawn(-0.2, seed=2), topics=["food", "films"], ratings=[4.0] * 9),
)
GATE = gate(FOUND, 0.05, noise=[Noise("chrf", 1.0, 2.0, None, (1.0, 0.0))])
SLOPE = Clustered(2.0, 80, 78, {"": 0.2})
CONVERTED = gate(FOUND, 0.05, slopes={"chrf": SLOPE}, slices="no-regression")


@pytest.mark.parametrize("found", [FOUND, GATE, CONVERTED])
def test_a_printed_comparison_is_read_back(folder: Path, found: Comparison | Gate) -> None:
    (folder / "found.json").write_bytes(orjson.dumps(to_json(found.facts())))
    again = read_comparison("found.json")
    assert repr(again) == repr(found)  # NaN is not equal to itself
    assert orjson.dumps(to_json(again.facts())) == orjson.dumps(to_json(found.facts()))


@pytest.mark.parametrize(
    ("place", "value"),
    [("changes", [{}]), ("old", 3), ("people", [{"which": "old", "ci": [1]}]), ("worse", [[]]), ("signature", None)],
)
def test_other_files_are_refused(folder: Path, place: str, value: object) -> None:
    (folder / "found.json").write_bytes(orjson.dumps({**to_json(FOUND.facts()), place: value}))
    with pytest.raises(InputError, match=r"found\.json|signature"):
        read_comparison("found.json")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"comparison": {}, "outcome": "fine"}'])
def test_a_hint_says_how_to_make_one(folder: Path, content: str) -> None:
    (folder / "found.json").write_text(content)
    with pytest.raises(InputError, match=r"found\.json.*interloq gate -o FILE"):
        read_comparison("found.json")


UNITS = [
    Unit(str(i), {}, {}, fields={"topic": "food" if i % 2 else "films"}, prompt="x" * (1 + i)) for i in range(3 * LEAST)
]


def test_units_are_grouped_by_fields_and_length() -> None:
    found, notes = slices(UNITS, None, thirds_of(UNITS))
    assert list(found) == [
        "topic: films",
        "topic: food",
        "prompt length: long",
        "prompt length: medium",
        "prompt length: short",
    ]
    assert found["topic: food"].tolist() == [i % 2 == 1 for i in range(3 * LEAST)]
    assert found["prompt length: short"].sum() == LEAST
    assert notes == []


def test_small_slices_are_counted_and_unknown_fields_refused() -> None:
    odd = [*UNITS, Unit("odd", {}, {}, fields={"topic": "sport"})]
    found, notes = slices(odd, ["topic"], (0.0, 0.0))
    assert list(found) == ["topic: films", "topic: food"]
    assert notes == ["1 value of topic not tested: fewer than 10 units, or not among the 20 largest"]
    with pytest.raises(InputError, match="no record has a field 'topics' to slice by; did you mean 'topic'"):
        slices(UNITS, ["topics"], (0.0, 0.0))
    assert slices(UNITS, [], (0.0, 0.0)) == ({}, [])


def test_a_named_language_is_kept_and_others_are_detected() -> None:
    german = "Ich habe keine Zeit, weil ich heute nicht zu Hause bin."
    units = [Unit(str(i), {}, {}, fields={"language": "Swiss"}, prompt=german) for i in range(LEAST)]
    units += [Unit(f"d{i}", {}, {}, prompt=german) for i in range(LEAST)]
    assert list(slices(units, ["language"], (0.0, 0.0))[0]) == ["language: German", "language: Swiss"]
    assert thirds_of([]) == (0.0, 0.0)
