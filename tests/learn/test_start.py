from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq.errors import InputError, InterloqError, MissingDependencyError
from interloq.learn import ready as ready_module
from interloq.learn import start as start_module
from interloq.learn.job import train
from interloq.learn.ready import READY, READY_LARGE
from interloq.learn.settings import LowRank
from interloq.learn.start import Start
from interloq.scorers.relevance.model import RelevanceScorer
from tests.made_relevance import TOPICS, exchanges, scorer_job, stored, talks, tiny_encoder

FOUR = LowRank(low_rank=4)
CONTEXTS = [[f"we like {topic} today"] for topic in TOPICS]
REPLIES = [f"i like {topic} ?" for topic in reversed(TOPICS)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder, and scorers trained from it: `updates`, `whole`."""
    folder = tmp_path_factory.mktemp("start")
    stored(folder, exchanges(talks(40)))
    for name, low_rank in (("updates", FOUR), ("whole", LowRank())):
        train(replace(scorer_job(folder, epochs=1), low_rank=low_rank), folder / name, device="cpu")
    return folder


@pytest.fixture
def copy(place: Path, tmp_path: Path) -> Path:
    shutil.copytree(place, tmp_path / "copy")
    change(tmp_path / "copy" / "updates", name=str(tmp_path / "copy" / "encoder"))
    return tmp_path / "copy"


@pytest.fixture
def ready(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Updates as those that come with the package."""
    monkeypatch.setitem(ready_module.PACKAGED, "ready", copy / "updates")
    return copy / "updates"


def change(folder: Path, **base: Any) -> None:
    facts = json.loads((folder / "model.json").read_text())
    facts["base"] |= base
    (folder / "model.json").write_text(json.dumps(facts))


def scores(folder: Path | str) -> Any:
    return RelevanceScorer.load(folder, device="cpu").scores(CONTEXTS, REPLIES)


def test_updates_are_stored_without_their_encoder(place: Path) -> None:
    assert sorted(path.name for path in (place / "updates").iterdir()) == [
        "calibration.json",
        "learning_curve.json",
        "model.json",
        "model.safetensors",
        "training_times.json",
    ]
    small, large = ((place / name / "model.safetensors").stat().st_size for name in ("updates", "whole"))
    assert small < large / 5


def test_updates_are_found_wherever_they_are_copied(place: Path, copy: Path) -> None:
    assert np.array_equal(scores(place / "updates"), scores(copy / "updates"))
    assert RelevanceScorer.load(place / "updates").signature() == RelevanceScorer.load(copy / "updates").signature()
    assert np.ptp(scores(place / "updates")) > 0


@pytest.mark.parametrize("name", ["updates", "whole"])
def test_training_starts_from_a_scorer(name: str, place: Path, tmp_path: Path) -> None:
    job = replace(scorer_job(place, epochs=1, learning_rate=1e-9), encoder=str(place / name))
    facts = train(job, tmp_path / "further", device="cpu")
    assert facts["signature"].count(f"|encoder:{Start.of(place / name).fingerprint}|") == 1
    before, after = (RelevanceScorer.load(folder, device="cpu") for folder in (place / name, tmp_path / "further"))
    logits = [scorer.scores(CONTEXTS, REPLIES) for scorer in (before, after)]
    same = [np.log(p / (1 - p)) * s.facts["temperature"] for p, s in zip(logits, (before, after), strict=True)]
    assert np.allclose(same[0], same[1], atol=1e-4)  # the head is kept as well


def test_updates_of_updates(place: Path, tmp_path: Path) -> None:
    job = replace(scorer_job(place, epochs=1), encoder=str(place / "updates"), low_rank=FOUR)
    facts = train(job, tmp_path / "further", device="cpu")
    assert facts["base"]["weights"] == Start.of(place / "updates").fingerprint
    assert not np.allclose(scores(tmp_path / "further"), scores(place / "updates"), atol=1e-6)


def test_a_head_of_other_outputs_is_new(place: Path) -> None:
    network = Start.of(place / "updates").network(2, seed=0)
    assert network.head.out_features == 2
    assert network.positions == Start.of(place / "encoder").network(2, seed=0).positions


def change_config(encoder: Path) -> None:
    config = json.loads((encoder / "config.json").read_text())
    (encoder / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 0.1}))


def change_words(encoder: Path) -> None:
    path = encoder / "tokenizer.json"
    path.write_text(path.read_text().replace('"tea"', '"ten"'))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda encoder: tiny_encoder(encoder, seed=1), r"the hash of its weights is .*; copy the encoder .*base"),
        (change_config, "the hash of its config is"),
        (change_words, "the tokenizer is missing or not the one the scorer was trained with"),
        (shutil.rmtree, r"the encoder '.*', .* is missing: .*; install it, or copy it to .*base"),
    ],
    ids=["weights", "config", "tokenizer", "missing"],
)
def test_another_encoder_is_refused(copy: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(copy / "encoder")
    with pytest.raises(InputError, match=message):
        scores(copy / "updates")


def test_an_encoder_that_has_moved_is_found_in_the_folder_base(copy: Path) -> None:
    before, signature = scores(copy / "updates"), RelevanceScorer.load(copy / "updates").signature()
    shutil.move(copy / "encoder", copy / "updates" / "base")
    assert np.array_equal(scores(copy / "updates"), before)
    assert RelevanceScorer.load(copy / "updates").signature() == signature
    tiny_encoder(copy / "encoder", seed=1)
    shutil.rmtree(copy / "updates" / "base")
    shutil.move(copy / "encoder", copy / "updates" / "base")
    with pytest.raises(InputError, match=r"do not fit .*updates/base: the hash of its weights is"):
        scores(copy / "updates")


@pytest.mark.parametrize("damage", [{"base": {}}, {"base": 3}, {"low_rank": {}}, {"low_rank": {"low_rank": "x"}}])
def test_damaged_facts_are_refused(damage: dict[str, Any], copy: Path) -> None:
    facts = json.loads((copy / "updates" / "model.json").read_text())
    (copy / "updates" / "model.json").write_text(json.dumps(facts | damage))
    with pytest.raises(InterloqError, match=r"updates: |low_rank must be int, got 'x'"):
        scores(copy / "updates")
    with pytest.raises(InterloqError, match=r"updates: |low_rank must be int, got 'x'|does not exist"):
        Start.of(copy / "updates").network(1, seed=len(Start.of(copy / "updates").fingerprint))


def test_only_scorers_and_encoders_start(copy: Path) -> None:
    facts = json.loads((copy / "whole" / "model.json").read_text())
    (copy / "whole" / "model.json").write_text(json.dumps(facts | {"kind": "ruber"}))
    with pytest.raises(InputError, match="the folder contains a 'ruber'; name an encoder or a scorer"):
        Start.of(copy / "whole").network(1, seed=0)


# ---- ready -----------------------------------------------------------------------------------------------------------


def test_training_starts_from_ready(ready: Path, place: Path, tmp_path: Path) -> None:
    facts = train(replace(scorer_job(place, epochs=1), encoder=READY, low_rank=FOUR), tmp_path / "own", device="cpu")
    assert facts["base"]["name"] == READY
    assert np.ptp(scores(tmp_path / "own")) > 0


def test_ready_without_its_package_names_the_extra(ready: Path) -> None:
    change(ready, name="no-such-model-package")
    with pytest.raises(MissingDependencyError, match=r"'no-such-model-package', .* pip install 'interloq\[ready\]'"):
        scores(READY)


def test_ready_with_another_version_names_the_right_one(ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_module, "version", lambda _: "9.9")
    change(ready, version="0.1.0", weights="0123456789abcdef")
    with pytest.raises(InputError, match=r"encoder 9.9: .*; run: pip install 'interloq\[ready\]', .*encoder 0.1.0"):
        scores(READY)


# ---- ready-large -----------------------------------------------------------------------------------------------------


@pytest.fixture
def large(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Updates with a tokenizer of their own, as those that come with the package; the hub's folder is empty."""
    folder = copy / "updates"
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(copy / "encoder" / name, folder / name)
    change(folder, name="org/encoder", version="")
    monkeypatch.setitem(ready_module.PACKAGED, READY_LARGE, folder)
    monkeypatch.setenv("HF_HUB_CACHE", str(copy / "hub"))
    return folder


def test_ready_large_says_how_to_get_its_encoder(large: Path) -> None:
    with pytest.raises(InputError, match=r"'ready-large' needs the encoder org/encoder.*hf download org/encoder"):
        scores(READY_LARGE)


@pytest.mark.parametrize("where", ["models", "hub"])
def test_ready_large_finds_its_encoder(large: Path, place: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other files than the weights may differ: the scorer has its own tokenizer and configuration."""
    target = large.parent / "models" / "encoder"
    if where == "hub":
        target = large.parent / "hub" / "models--org--encoder" / "snapshots" / "0123"
    else:
        monkeypatch.setenv("INTERLOQ_MODELS", str(large.parent / "models"))
    shutil.copytree(large.parent / "encoder", target)
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(config | {"transformers_version": "1"}))
    assert np.array_equal(scores(READY_LARGE), scores(place / "updates"))


def test_ready_large_refuses_other_weights_and_prefers_the_right_ones(
    large: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOQ_MODELS", str(large.parent / "models"))
    tiny_encoder(large.parent / "models" / "encoder", seed=5)
    with pytest.raises(InputError, match=r"do not fit org/encoder: the hash of its weights is .*download it again"):
        scores(READY_LARGE)
    shutil.copytree(large.parent / "encoder", large.parent / "hub" / "models--org--encoder" / "snapshots" / "1")
    assert np.array_equal(scores(READY_LARGE), scores(place / "updates"))
