"""Choosing a metric from a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import Dialogue, InputError, Rating, Sample, Turn, write
from interloq.choose.choice import Choice
from interloq.choose.choose_file import choose_file
from interloq.choose.choose_options import ChooseOptions
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions

REFERENCE = "we had a very good time there today"
CHRF = ChooseOptions(metrics=["chrf"])


def choose_fast(path: str, metrics: Sequence[str], output: str | None = None, **options: Any) -> Choice:
    return choose_file(path, output, ChooseOptions(metrics=metrics, n_bootstrap=0, n_permutations=20, **options))


def rated(n: int = 30) -> Iterator[Sample]:
    """The more words of the reference a reply has, the better it was rated."""
    rng = np.random.default_rng(0)
    words = REFERENCE.split()
    for i in range(n):
        kept = int(rng.integers(1, len(words)))
        reply = " ".join([*words[:kept], *["blah"] * int(rng.integers(8))])
        ratings = [Rating(float(kept + rng.normal()), rater) for rater in ("ann", "bob")]
        yield Sample(f"{i:02d}", f"context {i}", reply, [REFERENCE], "bot", [*ratings, Rating(1.0, "ann", "other")])


@pytest.fixture
def files(folder: Path) -> Path:
    write("rated.jsonl", [*rated(), Sample("unrated", "hm", "no", [REFERENCE])], kind="samples")
    return folder


def test_the_chosen_metric_can_be_scored(files: Path) -> None:
    choice = choose_fast("rated.jsonl", ["chrf,rouge_l", "distinct"], "chosen.json")
    assert {row.name for row in choice.rows} >= {"chrf", "rouge_l", "length"}
    assert choice.samples == 30
    assert choice.excluded == {"distinct": "it scores sets of replies, not single ones"}
    assert json.loads((files / "chosen.json").read_text())["metrics"] == [f"chosen={choice.spec}"]
    scored = score_file("rated.jsonl", ["@chosen.json", "length"], options=ScoreOptions(n_bootstrap=0))
    assert [by_system[""].metric for by_system in scored.results] == [f"chosen={choice.spec}", "length"]


def test_enough_ratings_to_learn_from(files: Path) -> None:
    assert choose_fast("rated.jsonl", ["chrf"]).next_steps == ()
    english = (Turn("how was it for you?"), Turn("and what did you do there?"))
    write("more.jsonl", [replace(sample, context=(*english, *sample.context)) for sample in rated(60)], kind="samples")
    (step,) = choose_fast("more.jsonl", ["chrf"]).next_steps
    assert step.endswith("interloq train judge more.jsonl -o mine")


def test_systems_are_excluded_and_leaks_are_noted(files: Path) -> None:
    copies = [Sample(f"c{i}", f"context {i}", REFERENCE, [REFERENCE], "human", [5.0]) for i in range(9)]
    write("rated.jsonl", [*rated(), *copies], kind="samples")
    noted = choose_fast("rated.jsonl", ["chrf"])
    assert any("among their own references" in note for note in noted.notes)
    without = choose_fast("rated.jsonl", ["chrf"], without=["human"])
    assert (noted.samples, without.samples) == (39, 30)
    assert not any("among their own references" in note for note in without.notes)
    assert without.signature.parts["without"] == "human"


def test_a_labelled_metric_keeps_its_name(files: Path) -> None:
    choice = choose_fast("rated.jsonl", ["mine=chrf"], blend=False)
    assert (choice.chosen, choice.spec) == ("mine=chrf", "chrf")


def test_dialogues_are_compared_with_their_number_of_turns(folder: Path) -> None:
    rng = np.random.default_rng(1)
    dialogues = []
    for i in range(24):
        turns = [Turn("well " * int(rng.integers(1, 9)), "us"[j % 2]) for j in range(2 * int(rng.integers(1, 6)))]
        dialogues.append(Dialogue(f"d{i}", turns, {"s": "bot"}, [Rating(float(len(turns) + rng.normal()), "ann")]))
    write("dialogues.jsonl", dialogues, kind="dialogues")
    metric = "ruber(referenced=length(tokenizer='char'),unreferenced=length)"
    choice = choose_fast("dialogues.jsonl", [metric])
    kinds = {row.name: row.kind for row in choice.rows}
    assert kinds["turns"] == kinds["length"] == "baseline"
    assert set(choice.best.over) == {"turns", "length"}
    assert choice.best.over["turns"].value < 0
    assert (choice.unit, choice.samples) == ("dialogue", 24)
    with pytest.raises(InputError, match="for samples only"):
        choose_fast("dialogues.jsonl", [metric], without=["bot"])


def test_mistakes_are_named(files: Path) -> None:
    with pytest.raises(InputError, match="no ratings of aspect 'fun'; rated aspects: other, overall"):
        choose_file("rated.jsonl", options=replace(CHRF, aspect="fun"))
    with pytest.raises(InputError, match="by people in role 'outsider'"):
        choose_file("rated.jsonl", options=replace(CHRF, role="outsider"))
    with pytest.raises(InputError, match="all mean judgments are equal"):
        choose_file("rated.jsonl", options=replace(CHRF, aspect="other"))
    with pytest.raises(InputError, match=r"mine\.py:f cannot be chosen.*; score the samples with it"):
        choose_file("rated.jsonl", options=ChooseOptions(metrics=["chrf,mine.py:f"]))
    with pytest.raises(InputError, match=r"rated\.jsonl"):
        choose_file("rated.jsonl", "rated.jsonl", CHRF)
