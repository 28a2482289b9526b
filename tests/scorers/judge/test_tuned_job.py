from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import InputError, Rating, Sample, write
from interloq.learn.job import train
from interloq.learn.settings import LowRank
from interloq.metrics.trained.judge import Judge
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.model import JudgeScorer
from interloq.scorers.judge.settings import TUNING, Network, TuneSettings
from interloq.scorers.judge.tuned_job import from_log
from interloq.scorers.relevance.model import RelevanceScorer
from tests.made_judge import rated, write_sets
from tests.made_relevance import exchanges, scorer_job, stored, talks

SETTINGS = TuneSettings(least=20, replies=96)
ALL = LowRank()
QUICK = replace(TUNING, epochs=2, learning_rate=3e-3)
LONGER = replace(QUICK, epochs=4)


def tuned(files: list[str], folder: Path, scorer: Path | str, *, low_rank: LowRank = ALL, **more: Any) -> Any:
    settings, loop = more.pop("settings", SETTINGS), more.pop("training", QUICK)
    job = from_log(TrainingLog(files), Network(str(scorer), tune=True), settings, loop, low_rank)
    return train(job, folder, device="cpu", **more)


@pytest.fixture(scope="module")
def trained(scorer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge that learned to like questions."""
    folder = tmp_path_factory.mktemp("tuned")
    files = [str(folder / f"{seed}.jsonl") for seed in range(2)]
    for seed, path in enumerate(files):
        write(path, questions(240 - 80 * seed, seed), kind="samples")
    tuned(files, folder / "judge", scorer, training=LONGER)
    return folder / "judge"


def questions(n: int, seed: int) -> list[Sample]:
    """Replies that are rated 5 if they are questions, else 1."""
    return [replace(one, ratings=(Rating(5 if "?" in one.response else 1),)) for one in rated(n, seed=seed)]


def agreement(scores: Any, samples: list[Sample]) -> float:
    return float(np.corrcoef(scores, ["?" in sample.response for sample in samples])[0, 1])


def test_it_agrees_with_people_more_than_the_network_did(trained: Path, scorer: Path) -> None:
    samples = questions(200, 9)
    texts = [[turn.text for turn in sample.context] for sample in samples], [sample.response for sample in samples]
    before = agreement(RelevanceScorer.load(scorer, device="cpu").scores(*texts), samples)
    judge = JudgeScorer.load(trained, device="cpu")
    scores = judge.scores(samples, "overall")
    assert agreement(scores, samples) > max(0.8, before + 0.2)
    assert (np.abs(scores) <= 1).all()
    (one,) = judge.facts["aspects"]
    assert (one["aspect"], one["sets"], one["replies"] + one["held_out"]) == ("overall", 2, 400)
    assert one["ci"][0] <= one["spearman"] <= one["ci"][1]
    assert judge.trained_on(rated(240)) == 240


def test_its_network_is_a_relevance_scorer(trained: Path) -> None:
    samples = rated(30, seed=9)
    texts = [[turn.text for turn in sample.context] for sample in samples], [sample.response for sample in samples]
    network = RelevanceScorer.load(trained / "scorer", device="cpu")
    judge = JudgeScorer.load(trained, device="cpu")
    assert judge.facts["scorer"]["signature"] == network.signature()
    assert np.argsort(network.scores(*texts)).tolist() == np.argsort(judge.scores(samples, "overall")).tolist()


def test_another_training_in_its_network_is_refused(trained: Path, tmp_path: Path) -> None:
    stored(tmp_path, exchanges(talks(10)))
    with pytest.raises(InputError, match="contains a job with other settings"):
        train(scorer_job(tmp_path), trained / "scorer", device="cpu")


def test_the_folder_may_move(trained: Path, scorer: Path, tmp_path: Path) -> None:
    moved, samples = shutil.copytree(trained, tmp_path / "moved"), rated(5, seed=9)
    found = JudgeScorer.load(moved, device="cpu")
    assert found.place == str(moved / "scorer")
    assert found.origin == str(scorer)
    assert found.scores(samples, "overall") == pytest.approx(JudgeScorer.load(trained).scores(samples, "overall"))
    shutil.rmtree(moved / "scorer")
    with pytest.raises(InputError, match="no model in the folder"):
        JudgeScorer.load(moved).signature()


def test_low_rank_updates_name_their_base(scorer: Path, tmp_path: Path) -> None:
    start = shutil.copytree(scorer, tmp_path / "start")
    tuned(write_sets(tmp_path, 60), tmp_path / "judge", start, low_rank=LowRank(low_rank=2))
    own = tmp_path / "judge" / "scorer"
    assert sorted(path.name for path in own.iterdir()) == ["model.json", "model.safetensors"]
    found = JudgeScorer.load(tmp_path / "judge", device="cpu")
    assert found.relevance.facts["base"]["name"] == str(start)
    assert found.scores(rated(4, seed=9), "overall").shape == (4,)
    shutil.move(start, own / "base")
    assert JudgeScorer.load(tmp_path / "judge").signature() == found.signature()
    shutil.rmtree(own / "base")
    with pytest.raises(InputError, match=r"which the scorer was trained from, is missing.*copy it to"):
        JudgeScorer.load(tmp_path / "judge").signature()


def test_the_language_is_that_of_the_network_before_tuning(
    trained: Path, scorer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Judge(str(trained)).language == ""
    monkeypatch.setattr("interloq.learn.ready.READY", str(scorer))
    assert Judge(str(trained)).language == "English"


def test_one_aspect_is_learned_and_sets_without_it_are_reported(scorer: Path, tmp_path: Path) -> None:
    files, said = write_sets(tmp_path, 60, aspects=("natural", "overall")), list[str]()
    write(tmp_path / "other.jsonl", rated(40, seed=5), kind="samples")
    files.append(str(tmp_path / "other.jsonl"))
    settings = replace(SETTINGS, aspect="natural")
    facts = tuned(files, tmp_path / "judge", scorer, settings=settings, report=said.append)
    assert [one["aspect"] for one in facts["aspects"]] == ["natural"]
    assert said[:2] == [
        "100 rated replies, 0 samples omitted that lack a reply, a context or ratings",
        "other.jsonl is skipped: it does not have 20 replies to different contexts with different ratings of 'natural'",
    ]
    assert said[2].endswith(" replies of 1 set for training, 6 for dev")
    assert JudgeScorer.load(tmp_path / "judge").trained_on(rated(40, seed=5)) == 0


def test_an_aspect_that_no_set_has(scorer: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no set has enough ratings of 'fluent'; --aspect is one of overall"):
        tuned(write_sets(tmp_path, 60), tmp_path / "judge", scorer, settings=replace(SETTINGS, aspect="fluent"))


def test_too_few_contexts(scorer: Path, tmp_path: Path) -> None:
    write(tmp_path / "two.jsonl", [Sample(str(i), [f"{i} ?"], "tea", ratings=[i]) for i in range(2)], kind="samples")
    with pytest.raises(InputError, match="too few contexts to hold some out"):
        tuned([str(tmp_path / "two.jsonl")], tmp_path / "judge", scorer, settings=replace(SETTINGS, least=2))
