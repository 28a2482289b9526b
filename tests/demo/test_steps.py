"""`interloq demo`: from the embedded log to a report, and what it may and may not touch."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from interloq import Sample, load
from interloq.cli.main import main
from interloq.demo import learning, steps
from interloq.pipelines.rate_file import rate_file
from interloq.rate.settings import Shape
from tests.conftest import missing

Captured = pytest.CaptureFixture[str]
REST = ["reliability", "reliability", "meta", "explain", "report"]
VERBS = ["compare", "index", "train", "extend", "rate", "score", "score", *REST]
ODD = 'it\'s "a" demo'  # a folder whose name the shell and specs must quote
HIDDEN = f"""
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.split(".")[0] in {steps.NEEDED!r} else find(name, *rest)
"""


@pytest.fixture
def extras(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_extras()
    monkeypatch.setenv("INTERLOQ_CACHE", str(folder / "cache"))


def needs_extras() -> None:
    if absent := steps.missing():
        missing(", ".join(absent))


def commands(out: str) -> list[list[str]]:
    return [shlex.split(line[2:]) for line in out.splitlines() if line.startswith("$ ")]


@dataclass(frozen=True)
class Shown:
    folder: Path
    out: str


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """One whole run, looked at by several tests."""
    needs_extras()
    folder, out = tmp_path_factory.mktemp("demo") / "out", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setenv("INTERLOQ_CACHE", str(folder.parent / "cache"))
        patch.setitem(learning.EPOCHS, "en", 4)  # a fifth lowers the dev loss by .01
        assert main(["demo", "-o", str(folder), "--quiet"]) == 0
    return Shown(folder, out.getvalue())


def test_every_step_is_a_command_that_can_be_pasted(english: Shown, capsys: Captured) -> None:
    printed = commands(english.out)
    assert [command[:1] for command in printed] == [["interloq"]] * len(VERBS)
    assert [command[1] for command in printed] == VERBS
    assert english.out.count("\n# ") == len(VERBS), "each says what it is for"
    explained = printed[VERBS.index("explain")]
    assert main(explained[1:]) == 0
    assert capsys.readouterr().out in english.out


def test_in_one_call_vbleu_gives_what_its_steps_gave(english: Shown) -> None:
    made = {score.id: score.value for score in load(english.folder / "steps.jsonl", kind="scores")}
    scores = load(english.folder / "scores.jsonl", kind="scores")
    whole = {score.id: score.value for score in scores if "parrot=False" in score.metric}
    assert len(whole) == 120
    assert whole == made
    assert "120 of 120 replies with the same score" in english.out


def test_the_rater_learned_and_it_says_how_much(english: Shown) -> None:
    curve = json.loads((english.folder / "rater" / "learning_curve.json").read_bytes())["epochs"]
    best = min(epoch["dev_loss"] for epoch in curve)
    pairs = len(load(english.folder / "log.jsonl", kind="pairs"))
    assert f"The rater's best dev loss is {best:.3f} on {pairs:,} pairs (guessing: 0.693)." in english.out
    assert best < 0.6, "guessing has .69"


def test_off_topic_references_weigh_less_than_retrieved_ones(english: Shown) -> None:
    """`weak.jsonl` has references of other samples, `retrieved:en/…`; those of the log are `retrieved:en-…`."""
    weak = english.folder / "weak_rated.jsonl"
    rate_file(english.folder / "weak.jsonl", weak, rater=f"gru(model={json.dumps(str(english.folder / 'rater'))})")
    off_topic, found = (
        {sample.id.rpartition("/")[0]: weights(sample, source) for sample in load(path)}
        for path, source in ((weak, "retrieved:en/"), (english.folder / "rated.jsonl", "retrieved:en-"))
    )
    assert len(off_topic) == 30
    assert sum(max(off_topic[id]) < sum(found[id]) / steps.K for id in found) > 20


def test_only_with_the_utterance_among_the_references_does_vbleu_prefer_the_parrot(english: Shown) -> None:
    totals: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for score in load(english.folder / "scores.jsonl", kind="scores"):
        if score.metric.startswith("vbleu("):
            totals["parrot=False" not in score.metric][score.system] += score.value
    best = {parrot: total.most_common(1)[0][0] for parrot, total in totals.items()}
    assert best == {True: "parrot", False: "attentive"}


def test_the_explained_reply_has_trusted_and_distrusted_references(english: Shown) -> None:
    (sample,) = [s for s in load(english.folder / "rated.jsonl") if s.id == steps.EXPLAINED["en"]]
    found = weights(sample, "retrieved:")
    assert min(found) < 0 < max(found)


def test_references_are_found_and_weighed(english: Shown) -> None:
    rated = load(english.folder / "rated.jsonl")
    for sample in rated:
        assert len(weights(sample, "retrieved:en-")) == steps.K
        assert set(weights(sample, "gold") + weights(sample, "human")) == {1.0}
    found = [weight for sample in rated for weight in weights(sample, "retrieved:en-")]
    assert len(set(found)) > 100
    assert all(-1 <= weight < 1 for weight in found)


def test_a_strong_and_a_weak_reference_set_are_shown(english: Shown, capsys: Captured) -> None:
    found = {}
    for command in (c for c in commands(english.out) if c[1] == "reliability"):
        assert main([*command[1:], "--quiet"]) == 0
        assert capsys.readouterr().out in english.out
        assert main([*command[1:], "--quiet", "--json"]) == 0
        (curve,) = json.loads(capsys.readouterr().out)
        found[Path(command[3]).stem] = [p["ci"] for p in curve["points"] if p["references"] == 2]
    assert all(low > 0 for low, _ in found["strong"])
    assert all(high < 0 for _, high in found["weak"])


def weights(sample: Sample, source: str) -> list[float]:
    return [reference.weight for reference in sample.references if reference.source.startswith(source)]


def test_the_page_shows_the_metric_and_its_rater(english: Shown) -> None:
    page = (english.folder / "report.html").read_text()
    assert "vbleu" in page
    assert "the lowest dev loss is" in page
    assert (english.folder / "report.html").resolve().as_uri() in english.out


def test_what_is_invented_is_called_invented(english: Shown) -> None:
    last = english.out.split("\n$ ")[-1]
    assert "The systems, ratings and log are illustrative" in last
    assert "fit better than replies from real logs" in last
    assert "No figure here says anything about real data" in last


@pytest.mark.usefixtures("extras")
def test_again_into_the_same_folder_in_another_language(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(learning, "EPOCHS", dict.fromkeys(learning.EPOCHS, 1))
    monkeypatch.setattr(learning, "SHAPE", Shape(embedding=8, hidden=8, layers=1, width=16))
    for language in ("ja", "zh", "zh"):
        assert main(["demo", "--language", language, "-o", ODD, "--quiet"]) == 0
        out = capsys.readouterr().out
        assert "32 of 32 replies with the same score" in out
        assert [command[1] for command in commands(out)] == VERBS
        assert f"gru(model={json.dumps(f'{ODD}/rater')})" in commands(out)[VERBS.index("rate")]
        assert {sample.id[:2] for sample in load(Path(ODD, "rated.jsonl"))} == {language}


def test_without_the_extras_the_rest_runs(folder: Path) -> None:
    code = f"{HIDDEN}\nfrom interloq.cli.main import main; sys.exit(main(['demo', '-o', {ODD!r}]))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=False)
    assert shown.returncode == 0, shown.stderr
    said = "υBLEU is skipped: not installed: faiss, numba, safetensors, sentencepiece, torch; "
    assert said + "run: pip install 'interloq[rater,retrieve]'\n" in shown.stdout
    assert [command[1] for command in commands(shown.stdout)] == ["compare", "score", *REST]
    assert "vbleu" not in shown.stdout
    assert (folder / ODD / "report.html").exists()
    assert not (folder / ODD / "index").exists()
