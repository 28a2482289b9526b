"""A metric as a rater: what it is asked, what its scores weigh, and how they are calibrated."""

from __future__ import annotations

import dataclasses
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from interloq import InputError, Reference, Sample, SpecError, create, evaluate, load, spec, write
from interloq.metrics.metric import Array, Direction, Metric, score_rows
from interloq.metrics.network_metric import ContextReply
from interloq.metrics.trained.relevance import Relevance
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.score.by import PAIRS, By, calibrate, scores_of
from tests.made_rater import said, topic_log
from tests.made_relevance import small_scorer, talks

BY = "by(relevance(model='rel'))"
FIRST, SECOND = Reference("they like tea .", source="retrieved:p1"), Reference("the cats !", source="retrieved:p2")
PARROT, GOLD = Reference("we like the tea ?", source="parrot"), Reference("i never like tea .")
SAMPLE = Sample("1", ["tea today ?", "we like the tea ?"], "so so", [PARROT, FIRST, GOLD, SECOND], "bot")
ASKED: list[list[Sample]] = []


@dataclasses.dataclass(frozen=True)
class Noted(ContextReply):
    """P grows with the number of words; what it is asked is noted."""

    model: str = "none"

    def network_scores(self, samples: Sequence[Sample]) -> Array:
        ASKED.append(list(samples))
        return np.array([len(sample.response.split()) / 10 for sample in samples])

    def built_with(self) -> str:
        return "noted"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("by")
    shutil.copytree(small_scorer(folder / "work", epochs=3), folder / "rel")
    pairs = [Pair(f"p{i}", a, b) for i, (a, b, *_) in enumerate(talks(120, seed=5))]
    write(folder / "pairs.jsonl", pairs, kind="pairs")
    spoken = [Sample(f"s{i}", turns[:2], turns[2], turns[3:]) for i, turns in enumerate(talks(20, seed=9))]
    odd = [Sample("no context", (), "tea", ["tea ."]), Sample("no gold", ["we like tea ?"], "tea ."), Sample("bare")]
    write(folder / "samples.jsonl", [*spoken, *odd], kind="samples")
    return folder


@pytest.fixture
def here(made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(made)
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path / "cache"))
    return made


def weights(rater: By, *samples: Sample) -> list[list[float]]:
    return [[reference.weight for reference in sample.references] for sample in rater.rate(samples)]


# ---- what is asked, and what it weighs -------------------------------------------------------------------------------


def test_the_weight_is_that_of_the_reference_as_a_reply(here: Path) -> None:
    replies = [Sample(f"{i}", SAMPLE.context, r.text) for i, r in enumerate(SAMPLE.references)]
    p = list(evaluate(Relevance("rel"), replies).by_sample.values())
    expected = [2 * chance - 1 for chance in p]
    assert weights(By(Relevance("rel"), gold="rated"), SAMPLE)[0] == pytest.approx(expected, abs=1e-5)
    expected[2] = 1.0
    assert weights(By(Relevance("rel")), SAMPLE)[0] == pytest.approx(expected, abs=1e-5)
    (rated,) = By(Relevance("rel")).rate([SAMPLE])
    unweighed = [dataclasses.replace(r, weight=1.0) for r in rated.references]
    assert dataclasses.replace(rated, references=tuple(unweighed)) == SAMPLE


def test_each_distinct_question_is_asked_once_and_the_gold_reply_is_not_asked_about() -> None:
    other = dataclasses.replace(SAMPLE, id="2", system="other", response="else")
    ASKED.clear()
    assert weights(By(Noted()), SAMPLE, other) == [[0.0, pytest.approx(-0.2), 1.0, pytest.approx(-0.4)]] * 2
    assert [[(s.context, s.response, s.references) for s in asked] for asked in ASKED] == [
        [(SAMPLE.context, r.text, ()) for r in (PARROT, FIRST, SECOND)]
    ]


def test_what_cannot_be_scored_has_weight_0() -> None:
    blank = dataclasses.replace(SAMPLE, context=())
    free = dataclasses.replace(SAMPLE, references=(PARROT, FIRST))
    empty = Reference("", source="retrieved:x")
    assert weights(By(Noted()), blank, free, Sample("bare")) == [[0.0] * 4, [0.0, pytest.approx(-0.2)], []]
    assert weights(By(Noted()), dataclasses.replace(SAMPLE, references=(GOLD, empty))) == [[1.0, -1.0]]  # P is 0
    assert By(Noted()).rate([]) == []


def test_other_samples_change_nothing(here: Path) -> None:
    rater, samples = By(Relevance("rel")), load("samples.jsonl")
    together = rater.rate(samples)
    alone = [one for sample in reversed(samples) for one in rater.rate([sample])][::-1]
    for one, other in zip(together, alone, strict=True):
        assert [r.weight for r in one.references] == pytest.approx([r.weight for r in other.references], abs=1e-5)


def test_scores_without_bounds_are_calibrated_on_a_log(here: Path) -> None:
    rater = By(Shared(), "pairs.jsonl")
    found = weights(rater, SAMPLE)[0]
    assert found[2] == 1.0
    assert found[0] > found[1] > found[3] > -1
    assert weights(By(Shared(times=100), "pairs.jsonl"), SAMPLE)[0] == pytest.approx(found, abs=1e-6)
    empty = dataclasses.replace(SAMPLE, references=(Reference("", source="retrieved:x"), GOLD))
    assert weights(rater, empty) == [[0.0, 1.0]]  # unscored
    assert (found[0] > 0) != (found[3] > 0)


# ---- the component ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [BY, "by(relevance(model='rel',turns=2),gold='rated')", "by(perplexity(model='lm'),pairs='pairs.jsonl')"],
)
def test_specs_round_trip(text: str) -> None:
    rater = create(text, kind="rater")
    assert create(spec(rater), kind="rater") == create(full_spec(rater), kind="rater") == rater
    assert create(text.replace("by(", "by(scorer=", 1), kind="rater") == rater
    metric = f"vbleu(index='index',rater={text},parrot=False,best=5,weigh=False)"
    assert create(spec(create(metric))) == create(metric)


def test_the_signature_names_the_metric_and_the_log_by_content(here: Path, tmp_path: Path) -> None:
    signature = create(BY).signature()
    assert str(signature).startswith(
        "by(scorer=relevance(model='',turns=None,any_language=False),pairs='',gold='one')|scorer:relevance-"
    )
    assert {"torch", "transformers"} <= signature.parts.keys()
    assert "pairs" not in signature.parts
    shutil.copytree("rel", tmp_path / "moved")
    assert By(Relevance(str(tmp_path / "moved"))).signature() == signature
    shutil.copyfile("pairs.jsonl", tmp_path / "log.jsonl")
    calibrated = By(Shared(), "pairs.jsonl").signature()
    assert calibrated.parts["pairs"]
    assert By(Shared(), str(tmp_path / "log.jsonl")).signature() == calibrated
    assert By(Relevance("rel"), gold="rated").signature() != signature


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("by(bleu)", "by: bleu needs references itself"),
        ("by(ruber(bleu,relevance(model='rel')))", "by: ruber needs references itself"),
        ("by(vbleu(index='index',rater=by(relevance(model='rel'))))", "by: vbleu needs references itself"),
        ("by(length)", "by: length does not say whether higher or lower is better"),
        ("by(distinct)", "by: distinct scores sets of replies, not single ones"),
        ("by(pmi(model='lm'))", "scores of pmi are not probabilities; give a log to calibrate them on: pairs="),
        ("by(ruber_unreferenced(model='r'))", "scores of ruber_unreferenced are not probabilities"),
        ("by", "by needs scorer"),
        ("by(bm25)", "scorer must be a metric"),
        ("by(relevance(model='rel'),gold='two')", "gold must be one of"),
    ],
)
def test_metrics_that_cannot_rate_are_refused(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        create(text, kind="rater")


# ---- calibration -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shared(Metric):
    """How many words the reply shares with the context, times and plus something: an unbounded metric."""

    times: float = 1.0
    plus: float = 0.0
    cubed: bool = False
    direction: ClassVar[Direction] = "higher"

    def unscorable(self, sample: Sample) -> str | None:
        return None if sample.response.strip() else "empty reply"

    def stats(self, samples: Sequence[Sample]) -> Array:
        shared = [len({*s.response.split()} & {*s.context[-1].text.split()}) for s in samples]
        return score_rows(self.times * np.array(shared, float) ** (3 if self.cubed else 1) + self.plus)


@dataclass(frozen=True)
class Strange(Shared):
    """The fewer words are shared, the lower: lower is better of minus the shared words."""

    direction: ClassVar[Direction] = "lower"

    def stats(self, samples: Sequence[Sample]) -> Array:
        return np.asarray(super().stats(samples) * np.array([-1, 1]))


@pytest.fixture
def log(folder: Path) -> str:
    write("pairs.jsonl", topic_log(300, 1), kind="pairs")
    return "pairs.jsonl"


SCORES = np.arange(8.0)


def test_p_rises_with_the_score_and_half_of_all_examples_are_true(log: str) -> None:
    found = calibrate(Shared(), log)
    chances = found.chances(SCORES)
    assert (np.diff(chances) >= 0).all()
    assert chances[0] < 0.4
    assert chances[4] > 0.6
    replies = [pair.response for pair in topic_log(300, 1)]
    drawn = random.Random(1)
    asked = [Sample("", [p.utterance], p.response) for p in topic_log(300, 1)]
    asked += [Sample("", [s.context[-1].text], drawn.choice(replies)) for s in asked]
    assert found.chances(scores_of(Shared(), asked)).mean() == pytest.approx(0.5, abs=0.05)
    assert np.isnan(found.chances(np.array([np.nan]))).all()
    assert found.chances(np.array([-1e9, 1e9, np.inf])).tolist() == [chances[0], *[found.probabilities[-1]] * 2]


def test_the_unit_of_scores_and_their_direction_do_not_matter(log: str) -> None:
    expected = calibrate(Shared(), log).chances(SCORES)
    assert calibrate(Shared(times=1000, plus=-3), log).chances(1000 * SCORES - 3) == pytest.approx(expected, abs=1e-6)
    cubed = calibrate(Shared(cubed=True), log).chances(SCORES**3)
    assert cubed == pytest.approx(expected, abs=1e-6)
    assert calibrate(Strange(), log).chances(SCORES) == pytest.approx(expected, abs=1e-6)
    assert scores_of(Strange(), [Sample("", ["a b"], "b a"), Sample("", ["a"], "")])[0] == 2


def test_only_some_pairs_of_a_long_log_are_asked_about(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(0)
    pairs = [Pair(f"{i}", f"tea {i}", said("tea", drawn) + f" {i}") for i in range(3 * PAIRS)]
    write("long.jsonl", pairs, kind="pairs")
    asked: list[Sample] = []

    def noting(self: Shared, samples: Sequence[Sample]) -> Array:
        asked.extend(samples)
        return score_rows(np.random.default_rng(0).normal(0, 1, len(samples)) + (len(asked) <= PAIRS))

    monkeypatch.setattr(Shared, "stats", noting)
    first = calibrate(Shared(), "long.jsonl")
    once = asked[:]
    assert len(once) == 2 * PAIRS
    numbers = [int(sample.context[0].text.split()[1]) for sample in once[:PAIRS]]
    assert max(numbers) > 2 * PAIRS
    assert len(set(numbers)) == PAIRS
    asked.clear()
    assert calibrate(Shared(), "long.jsonl").chances(SCORES).tolist() == first.chances(SCORES).tolist()
    assert asked == once


def test_a_metric_that_tells_nothing_or_the_wrong_thing_is_refused(log: str) -> None:
    for metric in (Shared(times=0), Shared(times=-1)):
        with pytest.raises(InputError, match="does not score true replies above replies from elsewhere"):
            calibrate(metric, log)


def test_logs_that_cannot_serve_are_refused(folder: Path) -> None:
    write("few.jsonl", topic_log(15, 1), kind="pairs")
    with pytest.raises(InputError, match=r"few.jsonl: .* pairs with replies that Shared can score, 20 are needed"):
        calibrate(Shared(), "few.jsonl")
    write("same.jsonl", [Pair(f"{i}", f"tea {i}", "yes") for i in range(50)], kind="pairs")
    with pytest.raises(InputError, match="0 pairs with"):
        calibrate(Shared(), "same.jsonl")
    with pytest.raises(InputError, match=r"none\.jsonl"):
        calibrate(Shared(), "none.jsonl")
    Path("bad.jsonl").write_text('{"id": 1\n')
    with pytest.raises(InputError, match=r"bad\.jsonl:1"):
        calibrate(Shared(), "bad.jsonl")


def test_the_weights_of_a_packaged_judge_are_its_scores() -> None:
    judge = create("judge(model='ready')")
    context = ["What do you like to do at the weekend?"]
    texts = ["I like to read a book in the garden.", "zebra zebra zebra", "What do you like to do at the weekend?"]
    references = [Reference(text, source=f"retrieved:{i}") for i, text in enumerate(texts)]
    (rated,) = By(judge).rate([Sample("1", context, "so so", references)])
    scores = scores_of(judge, [Sample("", context, text) for text in texts])
    assert [reference.weight for reference in rated.references] == pytest.approx(scores.tolist())
    assert min(scores) < 0 < max(scores)
    assert judge.scale == (-1, 1)
    assert create("judge(model='trained')").scale is None
