from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq import InputError, Rating, Sample, write
from interloq.learn.job import train
from interloq.learn.ready import PACKAGED
from interloq.learn.settings import LowRank
from interloq.metrics.trained.judge import Judge
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.model import JudgeScorer
from interloq.scorers.judge.rated import RatedReplies, RatedSets
from interloq.scorers.judge.settings import TUNING, Network, TuneSettings
from interloq.scorers.judge.tuned_job import TuneTask, from_log
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
    with pytest.raises(InputError, match="no such folder"):
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
    monkeypatch.setitem(PACKAGED, str(scorer), scorer)
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


SMALL = TuneSettings(least=10, replies=32, batch=8)


@pytest.fixture(scope="module")
def loaded(scorer: Path) -> RelevanceScorer:
    return RelevanceScorer.load(scorer, device="cpu")


def made(loaded: RelevanceScorer, *sizes: int, **changes: Any) -> TuneTask:
    sets = RatedSets.of_sets([(str(i), rated(n, seed=i)) for i, n in enumerate(sizes)])
    settings = replace(SMALL, **changes)
    replies = RatedReplies.of(sets, loaded, settings, lambda _: None)
    return TuneTask(loaded.network, replies, settings, loaded.subwords)


def groups(task: TuneTask, part: Any, epoch: int) -> list[list[int]]:
    task.batches(part, epoch)
    return [group.tolist() for group in task._current[part]]


def test_every_set_has_the_same_number_of_batches(loaded: RelevanceScorer) -> None:
    task = made(loaded, 200, 20)
    found = groups(task, "train", 1)
    sets = [set(task.replies.sets[group].tolist()) for group in found]
    assert [len(group) for group in found] == [8] * 8
    assert all({*first, *second} == {0, 1} for first, second in zip(sets[::2], sets[1::2], strict=True))
    assert not task.replies.dev[np.concatenate(found)].any()
    assert len({i for group in found for i in group if task.replies.sets[i] == 0}) == 32, "none twice while others wait"


def test_batches_depend_on_epoch_and_seed_only(loaded: RelevanceScorer) -> None:
    task = made(loaded, 60, 40)
    assert groups(task, "train", 1) == groups(made(loaded, 60, 40), "train", 1)
    assert groups(task, "train", 1) != groups(task, "train", 2)
    assert groups(task, "train", 1) != groups(made(loaded, 60, 40, seed=1), "train", 1)
    assert groups(task, "dev", 1) == groups(task, "dev", 2)


def test_dev_is_every_held_out_reply_once(loaded: RelevanceScorer) -> None:
    task = made(loaded, 200, 30)
    found = groups(task, "dev", 0)
    assert sorted(i for group in found for i in group) == np.flatnonzero(task.replies.dev).tolist()
    assert all(len(set(task.replies.sets[group].tolist())) == 1 for group in found)


def test_a_set_smaller_than_a_batch_is_read_whole(loaded: RelevanceScorer) -> None:
    task = made(loaded, 60, 12, batch=32, replies=64)
    small = [group for group in groups(task, "train", 1) if task.replies.sets[group[0]] == 1]
    assert [sorted(group) for group in small] == [task.sets["train"][1].tolist()] * 2


def test_the_loss_is_that_of_the_formula(loaded: RelevanceScorer) -> None:
    task = made(loaded, 60)
    task.network.eval()
    batch = task.batches("train", 1)[0]
    group = task._current["train"][0]
    with torch.inference_mode():
        found = float(task.loss(task.prepare("train", batch)))
        z = task.network(task.pairs.rows(group))[:, 0].tolist()
    y = task.replies.targets[group]
    pairs = [(i, j) for i in range(8) for j in range(8)]
    wanted = sum(math.log1p(math.exp(-(z[i] - z[j]) * np.sign(y[i] - y[j]))) * abs(y[i] - y[j]) for i, j in pairs)
    assert found == pytest.approx(8 * wanted / sum(abs(y[i] - y[j]) for i, j in pairs), rel=1e-5)


def test_losses_of_several_processes_add_up(loaded: RelevanceScorer) -> None:
    task = made(loaded, 60, 60)
    task.network.eval()
    with torch.inference_mode():
        for part in ("train", "dev"):
            for batch in task.batches(part, 1):
                whole, *shares = (float(task.loss(task.prepare(part, b))) for b in (batch, batch[::2], batch[1::2]))
                assert sum(shares) == pytest.approx(whole, rel=1e-5)


def test_every_set_counts_the_same_in_the_dev_loss(loaded: RelevanceScorer) -> None:
    task = made(loaded, 200, 40, batch=64)
    task.network.eval()
    with torch.inference_mode():
        prepared = [task.prepare("dev", batch) for batch in task.batches("dev", 0)]
        losses = [float(task.loss(replace(one, scale=1.0))) / len(one.targets) for one in prepared]
        total = sum(float(task.loss(one)) for one in prepared)
    assert len(prepared) == 2
    assert total / task.replies.dev.sum() == pytest.approx(np.mean(losses), rel=1e-5)


def test_equal_ratings_have_no_loss(loaded: RelevanceScorer) -> None:
    task = made(loaded, 60)
    prepared = task.prepare("train", task.batches("train", 1)[0])
    assert task.loss(replace(prepared, targets=torch.zeros(8))).item() == 0.0


def test_the_head_gives_expected_ranks(loaded: RelevanceScorer) -> None:
    task = made(loaded, 200, 100)
    replies, head = task.replies, task.head
    logits = task.pairs.outputs(task.network, np.arange(len(replies.targets)))
    own = loaded.network.head.weight.detach().double().numpy()[0]
    slope = float(head.weights[0] / own[0])
    assert head.weights == pytest.approx(slope * own)
    offset = head.offset - slope * loaded.network.head.bias.item()
    fitted = [(replies.sets == i) & ~replies.dev for i in range(2)]
    centred = [logits[own] - logits[own].mean() for own in fitted]
    top = np.mean([np.mean(z * replies.targets[own]) for z, own in zip(centred, fitted, strict=True)])
    assert slope == pytest.approx(top / np.mean([np.mean(z**2) for z in centred]), rel=1e-3)
    assert np.mean([np.mean(slope * logits[own] + offset) for own in fitted]) == pytest.approx(0, abs=1e-6)
    assert head.ci[0] <= head.spearman <= head.ci[1]
