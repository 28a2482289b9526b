from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq import InputError, Rating, Sample, write
from interloq.learn import ready
from interloq.learn.job import train
from interloq.learn.store import load_model, save_model
from interloq.metrics.trained.judge import Judge
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge import job
from interloq.scorers.judge.job import from_log
from interloq.scorers.judge.model import JudgeScorer
from interloq.scorers.judge.settings import JudgeSettings, Network
from interloq.scorers.relevance.model import RelevanceScorer
from tests.made_judge import judge_job, rated, write_sets

SETTINGS = JudgeSettings(least=20)


def trained(files: list[str], folder: Path, scorer: Path, settings: JudgeSettings = SETTINGS, **more: Any) -> Any:
    return train(judge_job(files, scorer, settings), folder, device="cpu", **more)


def tensors(folder: Path) -> dict[str, list[Any]]:
    return {name: tensor.tolist() for name, tensor in load_model(folder, kind="judge")[1].items()}


def test_one_head_per_aspect_with_its_agreement(scorer: Path, tmp_path: Path) -> None:
    files = write_sets(tmp_path, 60, 40, aspects=("overall", "engaging"))
    said: list[str] = []
    facts = trained(files, tmp_path / "out", scorer, report=said.append)
    assert said == ["100 rated replies, 0 samples omitted that lack a reply, a context or ratings"]
    assert [one["aspect"] for one in facts["aspects"]] == ["engaging", "overall"]
    assert all((one["replies"], one["sets"]) == (100, 2) for one in facts["aspects"])
    assert all(one["ci"][0] < one["spearman"] < one["ci"][1] for one in facts["aspects"])
    assert "scorer:relevance-" in facts["signature"]
    shapes = {name: np.shape(value) for name, value in tensors(tmp_path / "out").items()}
    assert shapes == {"weights": (2, 32), "offsets": (2,), "pairs": (100,)}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["model.json", "model.safetensors"]


def test_the_order_of_files_does_not_matter(scorer: Path, tmp_path: Path) -> None:
    files = write_sets(tmp_path, 60, 40)
    first, second = (trained(order, tmp_path / name, scorer) for order, name in ((files, "a"), (files[::-1], "b")))
    assert first == second


def test_killed_it_resumes_after_the_last_batch(scorer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "BATCH", 16)
    files, folder = write_sets(tmp_path, 60, 40), tmp_path / "out"
    whole, states, read = trained(files, tmp_path / "whole", scorer), RelevanceScorer.states, list[int]()

    def dying(self: RelevanceScorer, contexts: Any, replies: Any) -> Any:
        read.append(len(replies))
        if len(read) == 4:
            raise KeyboardInterrupt
        return states(self, contexts, replies)

    monkeypatch.setattr(RelevanceScorer, "states", dying)
    with pytest.raises(KeyboardInterrupt):
        trained(files, folder, scorer)
    with (folder / "work" / job.STATES).open("ab") as file:
        file.write(b"half a row")
    with pytest.raises(InputError, match="contains a job with other settings, another scorer or other ratings"):
        trained(files[:1], folder, scorer)
    assert trained(files, folder, scorer) == whole
    assert sum(read[4:]) == 100 - 3 * 16
    assert tensors(folder) == tensors(tmp_path / "whole")
    assert not (folder / "work").exists()


def test_a_trained_folder_is_kept(scorer: Path, judge: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(judge, tmp_path / "judge")
    files, said = [str(path) for path in sorted(judge.parent.glob("*.jsonl"))], list[str]()
    before = (folder / "model.json").read_bytes()
    assert trained(files, folder, scorer, report=said.append) == json.loads(before)
    assert said == ["judge is already trained"]
    for changed, settings in ((files[:1], SETTINGS), (files, JudgeSettings(least=21))):
        with pytest.raises(InputError, match="contains a job with other settings"):
            trained(changed, folder, scorer, settings)
    assert (folder / "model.json").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and contains other files"):
        trained(files, tmp_path / "mine", scorer)


def test_an_aspect_with_few_ratings_is_skipped(scorer: Path, tmp_path: Path) -> None:
    path = tmp_path / "rated.jsonl"
    few = [Sample(f"few{i}", [f"tea {i} ?"], "tea .", ratings=[Rating(i, aspect="rare")]) for i in range(5)]
    write(path, [*rated(40), *few], kind="samples")
    said = list[str]()
    facts = trained([str(path)], tmp_path / "out", scorer, report=said.append)
    assert [one["aspect"] for one in facts["aspects"]] == ["overall"]
    assert said[1] == "rare is skipped: no set has 20 replies to different contexts with different ratings"


@pytest.mark.parametrize(
    ("samples", "what"),
    [
        ([Sample(str(i), [f"{i} ?"], "tea .") for i in range(60)], "no aspect has enough ratings"),
        ([Sample(str(i), [f"{i} ?"], "tea .", ratings=[3.0]) for i in range(60)], "no aspect has enough ratings"),
        ([Sample(str(i), ["tea ?"], f"tea {i}", ratings=[i]) for i in range(60)], "no aspect has enough ratings"),
        (rated(10), "use more rated replies, or lower --least"),
    ],
    ids=["no ratings", "equal ratings", "one context", "too few"],
)
def test_ratings_that_nothing_can_be_learned_from(
    samples: list[Sample], what: str, scorer: Path, tmp_path: Path
) -> None:
    write(tmp_path / "rated.jsonl", samples, kind="samples")
    with pytest.raises(InputError, match=what):
        trained([str(tmp_path / "rated.jsonl")], tmp_path / "out", scorer)
    assert not (tmp_path / "out" / "work" / job.STATES).exists(), "nothing was encoded, so other settings may follow"


def liking_questions(n: int, seed: int, aspect: str = "overall") -> list[Sample]:
    """Replies that are rated higher if they are questions."""
    samples = []
    for sample in rated(n, seed=seed):
        value = 3 * ("?" in sample.response) + sum(rating.value or 0 for rating in sample.ratings) / 2
        samples.append(replace(sample, ratings=(Rating(value, "me", aspect),)))
    return samples


@pytest.fixture
def packaged(scorer: Path, judge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A judge in place of the one of the package."""
    folder = shutil.copytree(judge, tmp_path / "packaged")
    monkeypatch.setitem(ready.JUDGES, "ready", folder)
    return folder


def test_the_judge_of_the_package_is_corrected_by_ratings(packaged: Path, tmp_path: Path) -> None:
    write(tmp_path / "rated.jsonl", liking_questions(200, seed=5), kind="samples")
    job = from_log(TrainingLog([str(tmp_path / "rated.jsonl")]), Network(), SETTINGS)
    facts = train(job, tmp_path / "mine", device="cpu")
    (aspect,) = facts["aspects"]
    assert aspect["start"]["judge"] == "ready"
    assert aspect["start"]["aspect"] == "overall"
    assert aspect["corrected"]["used"]
    assert aspect["spearman"] == aspect["corrected"]["spearman"] > aspect["start"]["spearman"] + 0.1
    network = JudgeScorer.load(packaged).facts["scorer"]["signature"]
    assert facts["scorer"] == {"place": "ready", "kind": "judge", "signature": network, "from": "ready"}
    mine = JudgeScorer.load(tmp_path / "mine", device="cpu")
    assert mine.place == JudgeScorer.load(packaged).place
    assert mine.origin == "ready"
    samples = liking_questions(100, seed=7)
    values = np.array([sample.ratings[0].value for sample in samples], dtype=float)
    before, after = (
        np.corrcoef(judge.scores(samples, "overall"), values)[0, 1]
        for judge in (JudgeScorer.load("ready", device="cpu"), mine)
    )
    assert after > before + 0.1
    assert Judge(str(tmp_path / "mine")).language == "English"


def test_an_aspect_that_the_judge_lacks_starts_from_overall(packaged: Path, tmp_path: Path) -> None:
    write(tmp_path / "rated.jsonl", liking_questions(60, seed=5, aspect="fun"), kind="samples")
    log = TrainingLog([str(tmp_path / "rated.jsonl")])
    facts = train(from_log(log, Network(), SETTINGS), tmp_path / "mine", device="cpu")
    assert facts["aspects"][0]["aspect"] == "fun"
    assert facts["aspects"][0]["start"]["aspect"] == "overall"


def test_a_judge_starts_from_the_folder_of_another_one(packaged: Path, judge: Path, tmp_path: Path) -> None:
    write(tmp_path / "rated.jsonl", liking_questions(60, seed=5), kind="samples")
    log, lines = TrainingLog([str(tmp_path / "rated.jsonl")]), list[str]()
    first = train(from_log(log, Network(str(judge)), SETTINGS), tmp_path / "first", device="cpu")
    assert first["scorer"]["place"] == str(judge.resolve())
    again = from_log(log, Network(str(tmp_path / "first")), SETTINGS)
    second = train(again, tmp_path / "second", device="cpu", report=lines.append)
    assert second["scorer"] == first["scorer"], "the network stays where it is"
    assert (
        lines[1] == f"60 replies of these were in the training of {tmp_path / 'first'}, whose correlation is overstated"
    )
    assert JudgeScorer.load(tmp_path / "second", device="cpu").scores(rated(4, seed=9), "overall").shape == (4,)


def test_a_judge_with_several_networks_is_no_start(packaged: Path, tmp_path: Path) -> None:
    facts, tensors = load_model(packaged, kind="judge")
    save_model(tmp_path / "both", tensors | {"weights": torch.ones(2, 1)}, facts | {"members": ["ready"]})
    with pytest.raises(InputError, match="has several networks; start from ready or ready-large"):
        trained(write_sets(tmp_path, 40), tmp_path / "out", tmp_path / "both")


def test_the_relevance_scorer_of_the_package_is_stored_by_its_name(
    scorer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ready.PACKAGED, "other", scorer)
    facts = trained(write_sets(tmp_path, 40), tmp_path / "out", Path("other"))
    assert facts["scorer"]["place"] == "other"
    assert JudgeScorer.load(tmp_path / "out").scores(rated(4, seed=9), "overall").shape == (4,)
