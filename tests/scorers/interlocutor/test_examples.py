"""Samples to learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import InputError, Rating, Sample, write
from interloq.learn.fit import Part
from interloq.models.pretrained import Subwords
from interloq.records import INTERLOCUTOR, OUTSIDER
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.interlocutor.continuity_labels import CONTINUED, judge_of
from interloq.scorers.interlocutor.examples import (
    ARRAYS,
    InterlocutorExamples,
    LabelledSample,
    LabelledSamples,
    dialogue_of,
    value_of,
    write_examples,
)
from interloq.scorers.interlocutor.reader import SampleReader
from interloq.scorers.interlocutor.settings import Target
from tests.made_relevance import tiny_encoder
from tests.scorers.interlocutor.made_models import judged

CONTINUITY = Target(CONTINUED)


def labelled(
    *samples: Sample, dev: list[Sample] | None = None, target: Target = CONTINUITY, **options: bool
) -> LabelledSamples:
    write("train.jsonl", samples, kind="samples")
    if dev is not None:
        write("dev.jsonl", dev, kind="samples")
    return LabelledSamples(TrainingLog(["train.jsonl"]), "dev.jsonl" if dev is not None else None, target, **options)


def rated(id: str, value: float | None, judge: str = "ann", *, reply: str = "hi", aspect: str = CONTINUED) -> Sample:
    return Sample(id, ["hello"], reply, ratings=[Rating(value, judge, aspect, INTERLOCUTOR)])


def test_values_are_means_of_one_role() -> None:
    ratings = [
        Rating(5, "ann", role=INTERLOCUTOR),
        *(Rating(n, f"o{n}", role=OUTSIDER) for n in (1, 2)),
        Rating(None, "x"),
    ]
    sample = Sample("1", ["hello"], "hi", ratings=ratings)
    assert value_of(sample, Target(role="interlocutor")) == 5
    assert value_of(sample, Target(role="outsider")) == 1.5
    assert value_of(sample, CONTINUITY) is None


def test_a_tenth_of_the_dialogues_is_held_out_whole(folder: Path) -> None:
    found = list(labelled(*judged(40)))
    parts = {flag: {dialogue_of(each.sample) for each in found if each.dev == flag} for flag in (False, True)}
    assert (len(parts[False]), len(parts[True])) == (36, 4)
    again = list(labelled(*reversed(judged(40))))
    assert {each.sample.id for each in again if each.dev} == {each.sample.id for each in found if each.dev}


def test_a_dev_file_is_the_dev_part(folder: Path) -> None:
    samples = labelled(*judged(6), dev=judged(4, seed=1))
    assert samples.survey.samples == {False: 12, True: 8}
    assert {each.judge for each in samples} == {"ann", "bob"}


def test_users_need_enough_samples(folder: Path) -> None:
    survey = labelled(*judged(9), dev=judged(4, seed=1)).survey
    assert survey.judges == {"ann", "bob"}
    assert survey.with_tokens(8) == {"ann": 10, "bob": 8}
    assert survey.with_tokens(10) == {"ann": 10}
    assert survey.with_tokens(1, known=["ann"]) == {"bob": 8}
    with pytest.raises(InputError, match="no user has 11 training samples; the most active one has 10; lower --user"):
        survey.with_tokens(11)
    with pytest.raises(InputError, match="no new user has 1 training sample; no sample names a new user"):
        survey.with_tokens(1, known=["ann", "bob"])


def test_samples_without_names_have_no_judge(folder: Path) -> None:
    survey = labelled(rated("a", 1, ""), rated("b", 0, ""), dev=[rated("c", 1), rated("d", 0)]).survey
    assert not survey.users
    with pytest.raises(InputError, match="no sample names a user as its judge; --personal none needs no users"):
        survey.with_tokens(1)


def test_unrated_and_empty_replies_are_counted(folder: Path) -> None:
    bad = [rated("x", None), rated("y", 1, reply=" "), Sample("z", ["hello"], "hi")]
    samples = labelled(rated("a", 1), rated("b", 0), *bad, dev=[rated("c", 1), rated("d", 0)])
    assert samples.survey.omitted == {"without a rating": 2, "without a reply": 1}
    assert len(list(samples)) == 4


@pytest.mark.parametrize(
    ("train", "dev", "target", "says"),
    [
        ([1, 1], [1, 0], CONTINUITY, "all ratings of the training part are the same: 1; use more samples"),
        ([1, 0], [1], CONTINUITY, "all ratings of the dev part are the same: 1"),
        ([1, 0.5], [1, 0], CONTINUITY, "continuity labels must be 0 or 1, got 0.5"),
        ([1, 0], [1, 0], Target("fun"), "no sample has a rating of 'fun' by the interlocutor; .* ratings of continued"),
    ],
)
def test_what_cannot_be_learned(folder: Path, train: list[float], dev: list[float], target: Target, says: str) -> None:
    parts = [[rated(f"{name}{i}", value) for i, value in enumerate(part)] for name, part in (("t", train), ("d", dev))]
    with pytest.raises(InputError, match=says):
        assert labelled(*parts[0], dev=parts[1], target=target).survey


def test_users_are_added_without_a_dev_part(folder: Path) -> None:
    assert labelled(rated("a", 1), rated("b", 1), split=False).survey.samples == {False: 2}


def written(folder: Path, samples: list[LabelledSample]) -> InterlocutorExamples:
    subwords = Subwords(tiny_encoder(folder / "encoder"), longest=48)
    seen: list[int] = []
    write_examples(samples, folder, SampleReader(subwords, 48, 16, 1000, {}, {}), {"users": []}, seen.append)
    assert sum(seen) == len(samples)
    return InterlocutorExamples.load(folder)


def test_the_order_of_samples_does_not_matter(tmp_path: Path) -> None:
    samples = [LabelledSample(s, judge_of(s), float(i), i % 5 == 0) for i, s in enumerate(judged(20))]
    one, other = written(tmp_path / "one", samples), written(tmp_path / "other", samples[::-1])
    sizes: dict[Part, int] = {"train": 32, "dev": 8}
    for part, n in sizes.items():
        first, second = one.of(part), other.of(part)
        assert len(first) == n
        assert one.values[first].tolist() == other.values[second].tolist()
        assert all(np.array_equal(one.texts[2 * a], other.texts[2 * b]) for a, b in zip(first, second, strict=True))
    assert one.facts == {"users": [], "cut": {"replies": 0}}


def test_damaged_examples_are_named(tmp_path: Path) -> None:
    samples = [LabelledSample(s, "", 1.0, False) for s in judged(2)]
    written(tmp_path, samples)
    assert InterlocutorExamples.written(tmp_path)
    (tmp_path / ARRAYS).write_bytes(b"no")
    with pytest.raises(InputError, match="the saved files are damaged"):
        InterlocutorExamples.load(tmp_path)
