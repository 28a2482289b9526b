from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import InputError, Rating, Sample, write
from interloq.learn import ready
from interloq.learn.job import train
from interloq.learn.store import load_model
from interloq.scorers.judge import job
from interloq.scorers.judge.model import JudgeScorer
from interloq.scorers.judge.settings import JudgeSettings
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


def test_the_scorer_of_the_package_is_stored_by_its_name(
    scorer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ready.PACKAGED, "ready", scorer)
    facts = trained(write_sets(tmp_path, 40), tmp_path / "out", Path("ready"))
    assert facts["scorer"]["place"] == "ready"
    assert JudgeScorer.load(tmp_path / "out").scores(rated(4, seed=9), "overall").shape == (4,)
