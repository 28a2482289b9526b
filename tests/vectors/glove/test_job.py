"""Training against a literal float64 AdaGrad loop, and as a job that can be killed at any time."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from interloq.errors import InputError, MissingDependencyError
from interloq.registry import create
from interloq.vectors.glove import cooccur, shuffle
from interloq.vectors.glove import job as glove
from interloq.vectors.glove.job import train
from interloq.vectors.glove.parameters import Parameters
from interloq.vectors.glove.settings import Glove
from interloq.vectors.glove.shuffle import BLOCKS, Chunks
from interloq.vectors.word_vectors import WordVectors
from tests.conftest import missing

Entries = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
SPACES = create("whitespace", kind="tokenizer")
SMALL = Glove(dimensions=20, window=5, x_max=10.0, epochs=12, min_count=1, tokenizer=SPACES)


@pytest.fixture(autouse=True, scope="module")
def numba() -> None:
    if find_spec("numba") is None:
        missing("numba")


def topical_texts(n: int = 600, *, topics: int = 5, each: int = 7) -> list[str]:
    """Nine words a text, three quarters of them of one topic: there is something to learn."""
    rng = np.random.default_rng(0)
    topic = np.where(rng.random((n, 9)) < 0.75, rng.integers(topics, size=(n, 1)), rng.integers(topics, size=(n, 9)))
    word = rng.integers(each, size=(n, 9))
    return [" ".join(f"t{t}w{w}" for t, w in zip(*row, strict=True)) for row in zip(topic, word, strict=True)]


def changed(**options: Any) -> Glove:
    """SMALL with other settings."""
    return dataclasses.replace(SMALL, **options)


def literal_epoch(p: dict[str, NDArray[np.float64]], entries: Entries, s: Glove) -> float:
    """GloVe's update, one entry at a time, as its authors wrote it; returns the summed loss."""
    total = 0.0
    for i, j, x in zip(*entries, strict=True):
        difference = p["w"][i] @ p["c"][j] + p["bw"][i] + p["bc"][j] - np.log(x)
        pull = min(1.0, (x / s.x_max) ** s.alpha) * difference
        total += 0.5 * pull * difference
        step_w = np.clip(pull * p["c"][j], -s.clip, s.clip) * s.learning_rate
        step_c = np.clip(pull * p["w"][i], -s.clip, s.clip) * s.learning_rate
        p["w"][i] -= step_w / np.sqrt(p["gw"][i])
        p["c"][j] -= step_c / np.sqrt(p["gc"][j])
        p["gw"][i] += step_w**2
        p["gc"][j] += step_c**2
        step_b = pull * (s.learning_rate if s.bias_rate is None else s.bias_rate)
        p["bw"][i] -= step_b / np.sqrt(p["gbw"][i])
        p["bc"][j] -= step_b / np.sqrt(p["gbc"][j])
        p["gbw"][i] += step_b**2
        p["gbc"][j] += step_b**2
    return total


def literal_parameters(start: Parameters) -> dict[str, NDArray[np.float64]]:
    v, b = start.vectors.astype(np.float64), start.biases.astype(np.float64)
    values = {"w": v[0], "c": v[1], "bw": b[0], "bc": b[1]}
    return values | {f"g{name}": np.ones_like(value) for name, value in values.items()}


def in_training_order(chunks: Chunks, settings: Glove, epoch: int) -> Iterator[Entries]:
    """The order that the seed stands for: chunks, then diagonals of blocks."""
    rng = np.random.default_rng([settings.seed, 3, epoch])
    for number in rng.permutation(chunks.chunks):
        chunk = chunks.chunk(int(number))
        for diagonal in rng.permutation(BLOCKS):
            part = slice(chunk.ends[diagonal * BLOCKS], chunk.ends[(diagonal + 1) * BLOCKS])
            yield chunk.rows[part], chunk.columns[part], chunk.values[part].astype(np.float64)


def cosines(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Of all pairs of different words."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray((unit @ unit.T)[np.triu_indices(len(unit), 1)], dtype=np.float64)


@pytest.fixture
def kept_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The working files stay, so that a test can read the entries trained on."""
    monkeypatch.setattr("interloq.vectors.glove.job.clear_work", lambda _: None)


def trained_on(texts: Iterable[str], folder: Path, settings: Glove, *, device: str = "cpu") -> WordVectors:
    """With one thread: for so little work, more would only wait for each other."""
    return train(texts, folder, settings, threads=1, device=device)


def curve_of(folder: Path) -> list[float]:
    return [epoch["loss"] for epoch in json.loads((folder / "learning_curve.json").read_text())["epochs"]]


@pytest.mark.parametrize("settings", [SMALL, changed(bias_rate=1.0, clip=0.2, epochs=6)])
def test_same_start_and_order_give_what_the_literal_loop_gives(
    tmp_path: Path, kept_work: None, monkeypatch: pytest.MonkeyPatch, settings: Glove
) -> None:
    monkeypatch.setattr(shuffle, "CHUNK", 100)  # several chunks
    trained = trained_on(topical_texts(), tmp_path / "out", settings)
    chunks = Chunks.load(tmp_path / "out" / "work")
    assert chunks is not None
    assert chunks.chunks > 1
    p = literal_parameters(Parameters.start(len(trained) - 1, settings.dimensions, seed=settings.seed))
    losses = []
    for epoch in range(1, settings.epochs + 1):
        total = sum(literal_epoch(p, entries, settings) for entries in in_training_order(chunks, settings, epoch))
        losses.append(total / chunks.entries)
    assert curve_of(tmp_path / "out") == pytest.approx(losses, rel=1e-3)
    expected = p["w"] + p["c"]
    assert np.corrcoef(cosines(trained.matrix[:-1]), cosines(expected))[0, 1] > 0.9999
    np.testing.assert_allclose(trained.matrix[:-1], expected, atol=2e-3)


def test_another_seed_and_plain_order_learn_the_same(tmp_path: Path, kept_work: None) -> None:
    """On so small a corpus, seeds alone move the loss by some per cent."""
    settings = changed(epochs=40)
    trained = trained_on(topical_texts(), tmp_path / "out", settings)
    chunks = Chunks.load(tmp_path / "out" / "work")
    assert chunks is not None
    parts = list(in_training_order(chunks, settings, 1))
    entries = [np.concatenate(column) for column in zip(*parts, strict=True)]
    p = literal_parameters(Parameters.start(len(trained) - 1, settings.dimensions, seed=7))
    rng = np.random.default_rng(7)
    for _ in range(settings.epochs):
        order = rng.permutation(len(entries[0]))
        loss = literal_epoch(p, (entries[0][order], entries[1][order], entries[2][order]), settings) / chunks.entries
    assert curve_of(tmp_path / "out")[-1] == pytest.approx(loss, rel=0.05)
    assert np.corrcoef(cosines(trained.matrix[:-1]), cosines(p["w"] + p["c"]))[0, 1] > 0.95


def test_words_of_a_topic_are_neighbours(tmp_path: Path) -> None:
    trained = trained_on(topical_texts(), tmp_path / "out", changed(epochs=100))
    for topic in range(5):
        near = [word for word, _ in trained.nearest(f"t{topic}w0", 5)]
        assert sum(word.startswith(f"t{topic}") for word in near) >= 4, near


def test_every_number_of_threads_and_any_memory_give_the_same_bits(tmp_path: Path) -> None:
    texts, settings = topical_texts(300), changed(epochs=2)
    one = train(texts, tmp_path / "1", settings, threads=1, memory=1e-6)
    two = train(texts[::-1], tmp_path / "2", settings, threads=2)
    other = train(texts, tmp_path / "3", changed(epochs=2, seed=1), threads=1)
    assert one.signature() == two.signature()
    assert np.array_equal(one.matrix, two.matrix)
    assert not np.array_equal(one.matrix, other.matrix)


@pytest.fixture(scope="module")
def torch() -> Any:
    try:
        import torch
    except ImportError:
        missing("torch")
    torch.set_num_threads(1)
    return torch


def test_torch_learns_what_numba_learns(tmp_path: Path, torch: Any) -> None:
    texts = topical_texts(3000, topics=12, each=12)
    ours = trained_on(texts, tmp_path / "numba", SMALL)
    theirs = trained_on(texts, tmp_path / "torch", SMALL, device="torch")
    assert "|device:torch|" in theirs.facts["origin"]
    assert curve_of(tmp_path / "torch")[-1] == pytest.approx(curve_of(tmp_path / "numba")[-1], rel=0.01)
    assert np.corrcoef(cosines(ours.matrix), cosines(theirs.matrix))[0, 1] > 0.9


def test_torch_needs_no_numba(tmp_path: Path, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "interloq.vectors.glove.numba_engine", raising=False)
    trained = trained_on(topical_texts(50), tmp_path / "out", changed(epochs=2), device="torch")
    assert np.isfinite(trained.matrix).all()


def test_cuda_without_a_gpu_is_a_clear_error(tmp_path: Path, torch: Any) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(InputError, match="torch finds no CUDA device; run without --device cuda"):
        trained_on(topical_texts(20), tmp_path / "out", SMALL, device="cuda")
    assert not list(tmp_path.glob("out/work/tokens*")), "said before any work is done"


# ---- a long job ------------------------------------------------------------------------------------------------------

STAGES: list[tuple[Any, str]] = [
    (glove, "write_corpus"),
    (cooccur, "_write_merged"),
    (shuffle, "_ordered"),
    (glove, "_save_checkpoint"),
    (glove, "signed"),
]


@pytest.mark.parametrize(("module", "name"), STAGES, ids=[name for _, name in STAGES])
def test_a_job_that_breaks_in_any_stage_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    monkeypatch.setattr(shuffle, "CHUNK", 100)
    texts, settings = topical_texts(200), changed(epochs=3)
    whole = trained_on(texts, tmp_path / "whole", settings)
    with monkeypatch.context() as patch:
        patch.setattr(module, name, _breaking_at(getattr(module, name), 1))
        with pytest.raises(InputError, match=r"cannot write .*: broken"):
            trained_on(texts, tmp_path / "out", settings)
    with pytest.raises(InputError, match="training was cut short; run the same training again"):
        WordVectors.load(tmp_path / "out")
    again = trained_on(texts, tmp_path / "out", settings)
    assert again.signature() == whole.signature()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        path.name for path in (tmp_path / "whole").iterdir()
    )


def _breaking_at(function: Callable[..., Any], call: int) -> Callable[..., Any]:
    """Does its work, then fails: what it left behind must not harm."""
    calls = []

    def broken(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        calls.append(result)
        if len(calls) == call:
            raise OSError("broken")
        return result

    return broken


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_job_goes_on_and_ends_the_same(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(topical_texts(1000)))
    command = [sys.executable, "-m", "interloq.cli", "train", "vectors", "texts.txt", "--dimensions", "40"]
    command += ["--epochs", "80", "--min-count", "1", "--tokenizer", "whitespace", "--threads", "1", "-o"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen([*command, "out"], cwd=tmp_path, stderr=subprocess.PIPE, env=environment)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").glob("work/checkpoint-*/state.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(how)
    said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130), said
    assert "Traceback" not in said
    assert (tmp_path / "out" / "work").is_dir(), "it was stopped in the middle"
    if how == signal.SIGINT:
        assert "the same command resumes in out" in said
    for folder in ("out", "whole"):
        done = subprocess.run([*command, folder], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ("resuming after epoch" in done.stderr) == (folder == "out")
    resumed, whole = WordVectors.load(tmp_path / "out"), WordVectors.load(tmp_path / "whole")
    assert resumed.signature() == whole.signature()
    assert curve_of(tmp_path / "out") == curve_of(tmp_path / "whole")
    assert len(curve_of(tmp_path / "out")) == 80


def test_a_finished_job_is_not_done_again_and_another_is_refused(tmp_path: Path) -> None:
    texts, said = topical_texts(50), list[str]()
    first = train(texts, tmp_path / "out", SMALL, source="a", threads=1)
    assert train(iter(()), tmp_path / "out", SMALL, source="a", say=said.append).signature() == first.signature()
    assert said == [f"{tmp_path / 'out'} is trained already"]
    for settings, source in ((SMALL, "b"), (changed(epochs=13), "a")):
        with pytest.raises(InputError, match="holds a job with other settings or other texts"):
            train(texts, tmp_path / "out", settings, source=source)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        train(texts, tmp_path / "other", SMALL)


def test_what_is_saved(tmp_path: Path) -> None:
    lines = list[str]()
    trained = train(topical_texts(), tmp_path / "out", SMALL, source="corpus-1", threads=1, say=lines.append)
    assert trained.words[-1] == "<unk>"
    assert len(trained) == 36
    np.testing.assert_allclose(trained.vector("<unk>"), trained.matrix[:-1].mean(axis=0), atol=1e-6)
    curve = json.loads((tmp_path / "out" / "learning_curve.json").read_text())
    assert [epoch["epoch"] for epoch in curve["epochs"]] == list(range(1, 13))
    losses = curve_of(tmp_path / "out")
    assert losses[-1] < losses[0] / 2
    assert "Glove(dimensions=20,window=5," in curve["signature"]
    assert "source:corpus-1|device:cpu|" in curve["signature"]
    assert trained.facts["tokenizer"] == {"spec": "whitespace", "signature": "whitespace(lowercase=False)"}
    assert trained.facts["corpus"]["texts"] == 600
    assert [line.split(" ")[0] for line in lines[2:]] == ["epoch"] * 12
    assert f"loss {losses[-1]:.6f}" in lines[-1]


def test_unknown_is_the_mean_of_the_hundred_rarest_words(tmp_path: Path) -> None:
    texts = [f"{w} x{i}" for i in range(150) for w in ("a", "b", "c")]
    trained = trained_on([*texts, "x0 x1 a"], tmp_path / "out", changed(epochs=2))
    rare = trained.matrix[-101:-1]
    assert len(trained) == 154
    np.testing.assert_allclose(trained.vector("<unk>"), rare.mean(axis=0), atol=1e-6)
    kept = trained_on(["<unk> a b", "a <unk> c"], tmp_path / "own", changed(epochs=2))
    assert list(kept.words).count("<unk>") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dimensions": 0}, "dimensions must be above 0, got 0"),
        ({"window": -1}, "window must be above 0, got -1"),
        ({"alpha": -0.5}, "alpha must not be below 0, got -0.5"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Glove(**options)


def test_texts_without_pairs_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no two words of the vocabulary share a text"):
        trained_on(["a", "b", "c"], tmp_path / "out", SMALL)


def test_a_diverging_job_stops(tmp_path: Path) -> None:
    wild = changed(learning_rate=1e30, clip=1e38)
    with pytest.raises(InputError, match=r"training diverged: the loss of epoch \d is \w+; lower --learning-rate"):
        trained_on(topical_texts(50), tmp_path / "out", wild)


def test_without_numba_the_message_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "interloq.vectors.glove.numba_engine", raising=False)
    with pytest.raises(MissingDependencyError, match=r"needs the package 'numba'.*interloq\[vectors\]"):
        trained_on(topical_texts(50), tmp_path / "out", SMALL)


def test_blocks_of_a_diagonal_share_no_word(tmp_path: Path, kept_work: None) -> None:
    trained_on(topical_texts(300), tmp_path / "out", changed(epochs=1))
    chunks = Chunks.load(tmp_path / "out" / "work")
    assert chunks is not None
    chunk = chunks.chunk(0)
    for diagonal in range(BLOCKS):
        for side in (chunk.rows, chunk.columns):
            ends = chunk.ends[diagonal * BLOCKS : (diagonal + 1) * BLOCKS + 1]
            sets = [set(side[a:b].tolist()) for a, b in pairwise(ends)]
            assert sum(len(s) for s in sets) == len(set().union(*sets))
    assert chunk.ends[-1] == chunks.entries
