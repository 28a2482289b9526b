"""Training against a literal float64 AdaGrad loop, and as a job that can be killed at any time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq.errors import InputError
from interloq.vectors.glove import cooccur, shuffle
from interloq.vectors.glove import job as glove
from interloq.vectors.glove.job import train
from interloq.vectors.word_vectors import WordVectors
from tests.vectors.glove.made_glove import SMALL, changed, curve_of, topical_texts, trained_on


def test_words_of_a_topic_are_neighbours(tmp_path: Path) -> None:
    trained = trained_on(topical_texts(), tmp_path / "out", changed(epochs=100))
    for topic in range(5):
        near = [word for word, _ in trained.nearest(f"t{topic}w0", 5)]
        assert sum(word.startswith(f"t{topic}") for word in near) >= 4, near


STAGES: list[tuple[Any, str]] = [
    (glove, "write_corpus"),
    (cooccur, "_write_merged"),
    (shuffle, "_order_entries"),
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
    with pytest.raises(InputError, match="training was interrupted; run the same training again"):
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
    command += ["--epochs", "40", "--min-count", "1", "--tokenizer", "whitespace", "--threads", "1", "-o"]
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
        assert "rerun the same command to resume in out" in said
    for folder in ("out", "whole"):
        done = subprocess.run([*command, folder], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ("resuming after epoch" in done.stderr) == (folder == "out")
    resumed, whole = WordVectors.load(tmp_path / "out"), WordVectors.load(tmp_path / "whole")
    assert resumed.signature() == whole.signature()
    assert curve_of(tmp_path / "out") == curve_of(tmp_path / "whole")
    assert len(curve_of(tmp_path / "out")) == 40


def test_a_finished_job_is_not_done_again_and_another_is_refused(tmp_path: Path) -> None:
    texts, said = topical_texts(50), list[str]()
    first = train(texts, tmp_path / "out", SMALL, source="a", threads=1)
    assert train(iter(()), tmp_path / "out", SMALL, source="a", report=said.append).signature() == first.signature()
    assert said == [f"{tmp_path / 'out'} is trained already"]
    for settings, source in ((SMALL, "b"), (changed(epochs=13), "a")):
        with pytest.raises(InputError, match="contains a job with other settings or other texts"):
            train(texts, tmp_path / "out", settings, source=source)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="contains other files"):
        train(texts, tmp_path / "other", SMALL)


def test_what_is_saved(tmp_path: Path) -> None:
    lines = list[str]()
    trained = train(topical_texts(), tmp_path / "out", SMALL, source="corpus-1", threads=1, report=lines.append)
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


def test_texts_without_pairs_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no text has two words of the vocabulary"):
        trained_on(["a", "b", "c"], tmp_path / "out", SMALL)


def test_a_diverging_job_stops(tmp_path: Path) -> None:
    wild = changed(learning_rate=1e30, clip=1e38)
    with pytest.raises(InputError, match=r"training diverged: the loss of epoch \d is \w+; lower --learning-rate"):
        trained_on(topical_texts(50), tmp_path / "out", wild)
