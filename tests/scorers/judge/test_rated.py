from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError, Rating, Sample, write
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.model import pair_hash
from interloq.scorers.judge.rated import REPLIES, RatedReplies, RatedSets, choose_held_out
from interloq.scorers.judge.settings import TuneSettings
from interloq.scorers.relevance.model import RelevanceScorer
from tests.made_judge import rated, write_sets


def of_ratings(*sets: list[list[float]], aspect: str = "overall") -> RatedSets:
    """Sets named a, b, … with one context per reply."""
    named = [
        (
            name,
            [
                Sample(f"{name}{i}", [f"{i} ?"], "x", ratings=[Rating(v, "", aspect) for v in own])
                for i, own in enumerate(found)
            ],
        )
        for name, found in zip("abc", sets, strict=False)
    ]
    return RatedSets.of_sets(named)


def test_a_rating_is_the_mean_of_all_raters() -> None:
    found = of_ratings([[1.0, 5.0], [2.0], [4.0, 4.0, 5.0]]).ratings("overall", 2)
    assert found.which.tolist() == [0, 1, 2]
    assert found.targets == pytest.approx([0.0, -2 / 3, 2 / 3])


def test_ranks_are_those_within_a_set() -> None:
    found = of_ratings([[1.0], [2.0]], [[40.0], [30.0]]).ratings("overall", 2)
    assert found.targets == pytest.approx([-0.5, 0.5, 0.5, -0.5])
    assert found.skipped == []


def test_sets_without_enough_ratings_are_named() -> None:
    both, said = of_ratings([[1.0], [2.0], [3.0]], [[3.0], [3.0], [3.0]], [[1.0], [2.0]]), list[str]()
    assert both.ratings_of("overall", 3, said.append).which.tolist() == [0, 1, 2]
    assert said == [
        f"{name} is skipped: it does not have 3 replies to different contexts with different ratings of 'overall'"
        for name in "bc"
    ]


@pytest.mark.parametrize(
    ("aspect", "says"),
    [
        ("fluent", "no set has enough ratings of 'fluent'; --aspect is one of overall"),
        ("overall", "no set has enough ratings of 'overall'; use more rated replies, or lower --least"),
    ],
)
def test_an_aspect_that_no_set_has(aspect: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        of_ratings([[1.0], [2.0]]).ratings_of(aspect, 3, lambda _: None)


def test_no_ratings_at_all() -> None:
    with pytest.raises(InputError, match="use samples with ratings"):
        RatedSets.of_sets([("a", [Sample("1", ["?"], "x")])]).ratings_of("overall", 1, lambda _: None)


def test_samples_that_teach_nothing_are_counted() -> None:
    odd = [
        Sample("a", [], "no context", ratings=[3.0]),
        Sample("b", ["tea ?"], " ", ratings=[3.0]),
        Sample("c", ["tea ?"], "not rated"),
        Sample("d", ["tea ?"], "not applicable", ratings=[Rating(None)]),
    ]
    found = RatedSets.of_sets([("a", [*rated(5), *odd])])
    assert (len(found.samples), found.omitted) == (5, 4)
    assert found.summary == "5 rated replies, 4 samples omitted that lack a reply, a context or ratings"


def test_replies_to_tested_contexts_are_excluded(tmp_path: Path) -> None:
    files = write_sets(tmp_path, 20, 20)
    write(tmp_path / "test.jsonl", [Sample("x", rated(20)[4].context, "another reply")], kind="samples")
    log = TrainingLog(files, [str(tmp_path / "test.jsonl")])
    assert len(RatedSets.of(log).samples) == 38
    assert log.excluded == 2, "two replies to that context"


def test_a_tenth_of_the_contexts_of_each_set_is_held_out_in_all_sets() -> None:
    samples, more = rated(200, seed=1), rated(40, seed=2)
    shared = samples[:20]
    every = [*samples, *more, *shared]
    sets = np.repeat([0, 1, 2], [len(samples), len(more), len(shared)])
    dev = choose_held_out(every, sets)
    contexts: dict[bool, set[tuple[str, ...]]] = {True: set(), False: set()}
    for sample, own in zip(every, dev.tolist(), strict=True):
        contexts[own].add(tuple(turn.text for turn in sample.context))
    assert not contexts[True] & contexts[False]
    assert all(dev[sets == i].any() for i in range(3))
    assert 20 <= dev[sets == 0].sum() <= 24
    assert dev[sets == 1].sum() == 4
    back = choose_held_out(every[::-1], sets[::-1])
    assert back[::-1].tolist() == dev.tolist()


@pytest.fixture(scope="module")
def replies(scorer: Path) -> RatedReplies:
    sets = RatedSets.of_sets([("a", rated(60)), ("b", rated(40, seed=1)), ("few", rated(4, seed=2))])
    loaded = RelevanceScorer.load(scorer, device="cpu")
    return RatedReplies.of(sets, loaded, TuneSettings(least=20), lambda _: None)


def test_replies_are_tokenised_as_the_scorer_reads_them(replies: RatedReplies, scorer: Path) -> None:
    first = rated(60)[7]
    (wanted,) = RelevanceScorer.load(scorer, device="cpu").token_rows(
        [[t.text for t in first.context]], [first.response]
    )
    assert [replies.texts[2 * 7 + i].tolist() for i in range(2)] == [part.tolist() for part in wanted]
    assert replies.hashes[7] == pair_hash(first)
    assert len(replies.texts.lengths) == 2 * len(replies.targets) == 200
    assert np.bincount(replies.sets).tolist() == [60, 40]


def test_they_are_saved_and_loaded(replies: RatedReplies, tmp_path: Path) -> None:
    assert not RatedReplies.written(tmp_path)
    replies.save(tmp_path)
    assert RatedReplies.written(tmp_path)
    found = RatedReplies.load(tmp_path)
    assert all(np.array_equal(getattr(found, item.name), getattr(replies, item.name)) for item in fields(found))
    (tmp_path / REPLIES).write_bytes(b"no archive")
    with pytest.raises(InputError, match=str(tmp_path)):
        RatedReplies.load(tmp_path)
