"""What holds for everything that `interloq train` trains in epochs: every registered job, with tiny settings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from interloq import write
from interloq.cli.main import main
from interloq.learn.fit import _Fit
from interloq.learn.learning_curve import read_curve
from interloq.learn.trainable import job_names
from interloq.scorers.interlocutor.continuity_labels import CONTINUED
from interloq.statistics import ridge
from tests.made_bert import tiny_bert
from tests.made_judge import rated
from tests.made_lm import tiny_lm
from tests.made_rater import write_log
from tests.made_relevance import small_scorer
from tests.reliability.made_queries import rated_samples
from tests.scorers.interlocutor.made_models import judged, small_model

Way = tuple[str, tuple[str, ...]]  # a job and its options
Captured = pytest.CaptureFixture[str]
ENCODER = ["--encoder", "encoder"]
LOW_RANK = ["--low-rank", "2", "--low-rank-biases"]
SCORER = [*ENCODER, "--reply", "12"]
JUDGE = ["--scorer", "scorer", "--tune", "--least", "20", "--replies", "100"]
JUDGED = ["--tokens", "48", "--user-samples", "5"]
RATED = ["--model", "network", *ENCODER, "--metric", "bleu_star", "--sizes", "2,3"]
RATED += ["--context", "24", "--reply", "12", "--hidden", "8"]
BOT = ["--dimensions", "16", "--layers", "1", "--vocabulary", "60", "--tokens", "300"]
CAUSAL = ["--model", "lm", "--context", "32", "--reply", "12", "--tokens", "1024"]
# the options that make a job tiny; one that stands for several, as `rater`, is trained in every way
TINY = {
    "adapt": [["--model", "encoder", "--longest", "16"]],
    "bert-ruber": [ENCODER],
    "bot": [
        [*BOT, "--kind", "lstm"],
        [*BOT, "--kind", "vhred", "--latent", "4"],
        [*CAUSAL, "--speaker-token"],
        [*CAUSAL, "--reinitialise", "--layers", "1"],
        [*CAUSAL, "--low-rank", "2"],
    ],
    "dcp": [[*JUDGED, *ENCODER], ["--add-to", "model", "--user-samples", "4"]],
    "encoder": [["--layers", "1", "--dimensions", "16", "--heads", "2", "--vocabulary", "150", "--longest", "16"]],
    "interlocutor": [[*LOW_RANK, *JUDGED, *ENCODER, "--role", "outsider"]],
    "judge": [[*JUDGE], [*LOW_RANK, *JUDGE]],
    "rater": [
        ["--embedding", "8", "--hidden", "8", "--layers", "1", "--width", "16", "--vocabulary", "50"],
        [*ENCODER, "--longest", "16"],
        [*LOW_RANK, *ENCODER, "--longest", "16"],
    ],
    "relevance": [[*SCORER, "--context", "24"], [*LOW_RANK, *SCORER, "--context", "24"]],
    "reliability": [RATED, ["--fine-tune", *RATED]],
    "ruber": [["--embedding", "8", "--hidden", "8"]],
    "valid": [SCORER],
}
REFUSED = {
    "bot": "no text in the log has a reply; use dialogues of two speakers, pairs, or samples with a context",
    "dcp": "no sample has a rating of 'continued' by the interlocutor; make continuity samples of dialogues",
    "interlocutor": "no sample has a rating of 'overall' by the outsider; make rated samples",
    "judge": "no set has enough ratings of 'overall'; use samples with ratings",
    "reliability": "only 0 queries can be labelled (1 with fewer references than the smallest set); give 4 or more",
}
JOBS = [(name, tuple(options)) for name, ways in TINY.items() for options in ways]
COMMON = ["--epochs", "2", "--learning-rate", ".003", "--batch", "32", "--checkpoint-minutes", "0", "--device", "cpu"]

FEW = 50  # resamples of a judge's agreement, which is not compared here


def command(job: Way, folder: str, *changes: str, files: str = "a b") -> list[str]:
    name, options = job
    return ["train", name, *(f"{file}.jsonl" for file in files.split()), "-o", folder, *options, *COMMON, *changes]


@pytest.fixture(scope="module", params=JOBS, ids=lambda way: "-".join([way[0], *way[1][:1]]))
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture(scope="module")
def place(way: Way, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two logs, a network to start from, and what an undisturbed training makes of them."""
    folder = tmp_path_factory.mktemp("jobs")
    WRITERS.get(way[0], write_logs)(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(ridge, "RESAMPLES", FEW)
        assert main(command(way, "whole")) == 0
    return folder


def write_logs(folder: Path) -> None:
    tiny_bert(folder / "encoder")
    tiny_lm(folder / "lm")
    header, *lines = write_log(folder / "all.jsonl", 40).read_text().splitlines(keepends=True)
    for name, some in (("a", lines[:100]), ("b", lines[100:]), ("other", lines[:90])):
        (folder / f"{name}.jsonl").write_text("".join([header, *some]))


def write_rated(folder: Path) -> None:
    small_scorer(folder / "made", n=20).rename(folder / "scorer")
    for seed, (name, n) in enumerate((("a", 60), ("b", 40), ("other", 50))):
        write(folder / f"{name}.jsonl", rated(n, seed=seed), kind="samples")


def write_queries(folder: Path) -> None:
    tiny_bert(folder / "encoder")
    for seed, (name, n) in enumerate((("a", 8), ("b", 6), ("other", 7))):
        write(folder / f"{name}.jsonl", rated_samples(n, references=6, seed=seed), kind="samples")


def write_judged(folder: Path, aspect: str = CONTINUED) -> None:
    small_model(folder, aspect=aspect, epochs=1)
    for seed, (name, n) in enumerate((("a", 56), ("b", 44), ("other", 50)), start=5):
        samples = judged(n, seed=seed, judges=("bob", "cat"), aspect=aspect)
        write(folder / f"{name}.jsonl", samples, kind="samples")


WRITERS: dict[str, Callable[[Path], None]] = {
    "dcp": write_judged,
    "interlocutor": partial(write_judged, aspect="overall"),
    "judge": write_rated,
    "reliability": write_queries,
}


@pytest.fixture
def job(way: Way, place: Path, monkeypatch: pytest.MonkeyPatch) -> Way:
    monkeypatch.chdir(place)
    monkeypatch.setattr(ridge, "RESAMPLES", FEW)
    return way


def losses(folder: str) -> list[tuple[float, float]]:
    return [(epoch["train_loss"], epoch["dev_loss"]) for epoch in read_curve(folder)]


def weights(folder: str) -> str:
    facts = next(path for name in ("model.json", "adapted.json") if (path := Path(folder, name)).exists())
    return str(json.loads(facts.read_text())["weights"])


def contents(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_every_job_is_tried() -> None:
    assert sorted(TINY) == job_names()


def test_it_is_trained_once(job: Way, capsys: Captured) -> None:
    assert len(losses("whole")) == 2
    assert "work" not in contents("whole")
    Path("whole/work").mkdir()  # as if a kill had come before it was removed
    before = Path("whole/model.safetensors").stat().st_mtime_ns
    assert main(command(job, "whole", "--checkpoint-minutes", "3")) == 0  # how often it saves makes no other job
    assert "whole is already trained\n" in capsys.readouterr().err
    assert Path("whole/model.safetensors").stat().st_mtime_ns == before
    assert "work" not in contents("whole")


def test_killed_it_resumes_with_the_same_losses(job: Way, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """After seven steps; and before the first one, in which the ways of a job do not differ."""
    for steps in (0, 7) if list(job[1]) == TINY[job[0]][0] else (7,):
        folder = f"cut{steps}"
        with monkeypatch.context() as patch:
            stop_after(steps, patch)
            with pytest.raises(KilledError):
                main(command(job, folder))
        assert contents(folder) == ["work"]
        for change in (["--seed", "3"], ["--epochs", "3"]):
            assert main(command(job, folder, *change)) == 2
            assert f"{folder} contains a job with " in capsys.readouterr().err
        assert main(command(job, folder, files="other")) == 2
        assert "resume it, choose another folder" in capsys.readouterr().err
        assert main(command(job, folder)) == 0
        assert ("resuming after" in capsys.readouterr().err) == bool(steps)
        assert losses(folder) == losses("whole")
        assert weights(folder) == weights("whole")
        assert contents(folder) == contents("whole")


class KilledError(Exception):
    """Stands for a kill."""


def stop_after(steps: int, patch: pytest.MonkeyPatch) -> None:
    step, done = _Fit._step, list[Any]()

    def dying(self: _Fit, group: Any) -> Any:
        done.append(group)
        if len(done) > steps:
            raise KilledError
        return step(self, group)

    patch.setattr(_Fit, "_step", dying)


def test_another_job_in_its_folder_is_refused(job: Way, capsys: Captured) -> None:
    before = Path("whole/model.safetensors").read_bytes()
    for changes in (["--seed", "3"], ["--epochs", "3"]):
        assert main(command(job, "whole", *changes)) == 2
        assert "whole contains a job with other settings" in capsys.readouterr().err.replace("another model, ", "")
    assert main(command(job, "whole", files="other")) == 2
    assert "whole contains a job with " in capsys.readouterr().err
    assert Path("whole/model.safetensors").read_bytes() == before


def test_a_folder_with_something_else_is_refused(job: Way, capsys: Captured) -> None:
    shutil.rmtree("mine", ignore_errors=True)
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    assert main(command(job, "mine")) == 2
    assert "mine exists and contains other files" in capsys.readouterr().err
    assert contents("mine") == ["notes.txt"]


def test_the_order_of_files_does_not_matter(job: Way) -> None:
    assert main(command(job, "turned", files="b a")) == 0
    assert losses("turned") == losses("whole")
    assert weights("turned") == weights("whole")


def test_files_of_another_kind_are_refused(job: Way, capsys: Captured) -> None:
    Path("samples.jsonl").write_text('{"id": "1", "response": "tea"}\n')
    for files, says in (
        ("none", "no file 'none.jsonl'"),
        ("samples", REFUSED.get(job[0], "the file contains samples; name files of pairs or of dialogues")),
    ):
        assert main(command(job, "refused", files=files)) == 2
        assert says in capsys.readouterr().err
