"""`interloq demo`: from a log to a report, and what it may and may not touch."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

from interloq import Sample, load
from interloq.cli.main import main
from interloq.compare.comparison import Comparison
from interloq.compare.comparison_file import read_comparison
from interloq.demo import logs, steps
from interloq.demo.real_log import UNWANTED
from interloq.rate.rate_file import rate_file
from interloq.rate.rate_options import RateOptions
from interloq.rate.settings import Shape
from interloq.report.sections.decisions import decision
from tests.conftest import missing

Captured = pytest.CaptureFixture[str]
LAST = ["meta", "explain", "reliability", "reliability", "report"]
VERBS = ["score", "compare", "index", "train", "extend", "rate", "score", "score", *LAST]
REAL_VERBS = ["score", "compare", "index", "extend", "score", "rate", "score", "score", "meta", "compare", "compare"]
REAL_VERBS += LAST[1:]
ODD = 'it\'s "a" demo'  # a folder whose name the shell and specs must quote
HIDDEN = f"""
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
hidden = {(*logs.NEEDED, *logs.REAL)!r}
PathFinder.find_spec = lambda name, *rest: None if name.split(".")[0] in hidden else find(name, *rest)
"""


@pytest.fixture
def extras(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(logs.NEEDED)
    monkeypatch.setenv("INTERLOQ_CACHE", str(folder / "cache"))


def needs(modules: tuple[str, ...]) -> None:
    if absent := logs.missing(modules):
        missing(", ".join(absent))


def commands(out: str) -> list[list[str]]:
    return [shlex.split(line[2:]) for line in out.splitlines() if line.startswith("$ ")]


@dataclass(frozen=True)
class Shown:
    folder: Path
    out: str


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """One whole run with the real log, looked at by several tests."""
    needs(logs.REAL)
    return shown(tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """One whole run with the embedded log, as where no real one is installed."""
    needs(logs.NEEDED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "REAL", ("no_such_package",))
        patch.setitem(logs.EPOCHS, "en", 4)  # a fifth lowers the dev loss by .01
        patch.setattr(logs, "SHAPE", Shape(embedding=32, hidden=32, layers=1, width=64))  # a fifth faster
        return shown(tmp_path_factory.mktemp("written"))


def shown(parent: Path) -> Shown:
    folder, out = parent / "out", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setenv("INTERLOQ_CACHE", str(parent / "cache"))
        assert main(["demo", "-o", str(folder), "--quiet"]) == 0
    return Shown(folder, out.getvalue())


@pytest.mark.parametrize(("name", "verbs"), [("real", REAL_VERBS), ("written", VERBS)])
def test_every_step_is_a_command_that_can_be_pasted(
    name: str, verbs: list[str], request: pytest.FixtureRequest, capsys: Captured
) -> None:
    demo: Shown = request.getfixturevalue(name)
    printed = commands(demo.out)
    assert [command[0] for command in printed] == ["interloq"] * len(verbs)
    assert [command[1] for command in printed] == verbs
    assert demo.out.count("\n# ") == len(verbs), "each says what it is for"
    explained = printed[verbs.index("explain")]
    assert main(explained[1:]) == 0
    assert capsys.readouterr().out in demo.out


@pytest.mark.parametrize(("name", "label"), [("real", logs.WITH_PARROT), ("written", logs.VBLEU)])
def test_in_one_call_vbleu_gives_what_its_steps_gave(name: str, label: str, request: pytest.FixtureRequest) -> None:
    demo: Shown = request.getfixturevalue(name)
    made = {score.id: score.value for score in load(demo.folder / "steps.jsonl", kind="scores")}
    scores = load(demo.folder / "scores.jsonl", kind="scores")
    assert {score.id: score.value for score in scores if score.metric.startswith(f"{label}=")} == made
    assert len(made) >= 120
    said = f"{label} in one call and step by step: {len(made)} of {len(made)} replies with the same score"
    assert said in demo.out


# ---- the real log ----------------------------------------------------------------------------------------------------


def best(folder: Path, *names: str) -> dict[str, str]:
    """Label of a metric → the system with the best mean score."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for name in names:
        for score in load(folder / name, kind="scores"):
            totals[score.metric.partition("=")[0]][score.system] += score.value
    return {label: total.most_common(1)[0][0] for label, total in totals.items()}


def test_the_real_log_is_fit_for_a_screen(real: Shown) -> None:
    pairs = load(real.folder / "log.jsonl", kind="pairs")
    assert len(pairs) > 20_000
    assert len({pair.id for pair in pairs}) == len(pairs)
    texts = [text for pair in pairs for text in (pair.utterance, pair.response)]
    insults = re.compile(
        r"\b(?:f+u+c+k|sh[i1]+t|bitch|asshole|wh[o0]re|slut|porn|sex|nud[e3]|rape|nigg|fag)", re.IGNORECASE
    )
    personal = re.compile(r"@|https?:|\bwww\.|\.com\b|\d{5}|\d{3}\W\d{3}|\bmy (?:last |sur)?name\b", re.IGNORECASE)
    assert [text for text in texts if insults.search(text) or personal.search(text)] == []
    assert not UNWANTED & {word.lower() for text in texts for word in re.findall(r"\w+", text)}
    dropped = r"dropped: length [\d,]+, rare word [\d,]+, unwanted word [\d,]+, characters [\d,]+\."
    assert re.search(dropped, real.out)


def test_copying_wins_only_where_unrated_references_contain_the_utterance(real: Shown) -> None:
    first = best(real.folder, "scores.jsonl", "unrated.jsonl")
    assert first.pop(logs.UNRATED) == "parrot"
    assert set(first.values()) == {"person"}
    said = "Highest mean score: person by judge, person by one_reference, parrot by unrated_references"
    assert f"{said}, person by uBLEU_parrot, person by uBLEU." in real.out
    rated = [r.weight for s in load(real.folder / "rated.jsonl") for r in s.references if r.source == "parrot"]
    assert max(rated) < 0, "the rater rejects every utterance as a reply to itself"


def test_the_agreement_of_every_kind_of_reference_is_shown(real: Shown, capsys: Captured) -> None:
    (command,) = [command for command in commands(real.out) if command[1] == "meta"]
    assert main([*command[1:], "--json", "--quiet", "--bootstrap", "0", "--no-compare"]) == 0
    table = json.loads(capsys.readouterr().out)
    agreement = {row["metric"].partition("=")[0]: row["with_mean"]["spearman"]["value"] for row in table["rows"]}
    assert agreement[logs.UNRATED] < 0 < agreement[logs.ONE] < agreement[logs.VBLEU]
    assert "uBLEU > one_reference" in real.out, "with its p-value: the difference may be chance"


@pytest.mark.parametrize(("name", "stored"), [("real", logs.REAL_COMPARISONS), ("written", [logs.COMPARISON])])
def test_the_page_starts_with_the_verdicts_on_its_own_samples(
    name: str, stored: list[str], request: pytest.FixtureRequest
) -> None:
    demo: Shown = request.getfixturevalue(name)
    page, places = unescape((demo.folder / "report.html").read_text()), []
    systems = {score.system for score in load(demo.folder / "scores.jsonl", kind="scores")}
    for file in stored:
        found = read_comparison(demo.folder / file)
        assert isinstance(found, Comparison)
        places.append(page.index(decision(found).sentence))
        assert {found.old, found.new} <= systems
    assert places == sorted(places)


def test_only_unrated_references_call_a_person_worse_than_the_parrot(real: Shown) -> None:
    unrated, rated = (read_comparison(real.folder / file) for file in logs.REAL_COMPARISONS)
    assert decision(unrated).sentence == "person is worse than parrot by unrated_references."
    assert isinstance(rated, Comparison)
    assert "worse" not in {change.verdict for change in rated.overall()}
    assert min(change.difference for change in rated.overall()) > 0


def test_what_nobody_judged_is_called_so(real: Shown) -> None:
    assert "These samples and their ratings were written for this demo; nobody gave the ratings." in real.out
    assert "No person judged the\nreplies: the rating is 1 if a person gave the reply to this question" in real.out
    assert f"{len(load(real.folder / 'replies.jsonl'))} illustrative ratings, aspect person" in real.out
    assert "illustrative: no person gave these" in (real.folder / "report.html").read_text()
    assert (real.folder / "report.html").resolve().as_uri() in real.out


# ---- the embedded log ------------------------------------------------------------------------------------------------


def test_the_rater_learned_and_it_says_how_much(written: Shown) -> None:
    curve = json.loads((written.folder / "rater" / "learning_curve.json").read_bytes())["epochs"]
    best = min(epoch["dev_loss"] for epoch in curve)
    pairs = len(load(written.folder / "log.jsonl", kind="pairs"))
    assert f"The rater's best dev loss is {best:.3f} on {pairs:,} pairs (guessing: 0.693)." in written.out
    assert best < 0.6, "guessing has .69"


def test_off_topic_references_weigh_less_than_retrieved_ones(written: Shown) -> None:
    """`weak.jsonl` has references of other samples, `retrieved:en/…`; those of the log are `retrieved:en-…`."""
    weak = written.folder / "weak_rated.jsonl"
    rater = f"gru(model={json.dumps(str(written.folder / 'rater'))})"
    rate_file(written.folder / "weak.jsonl", weak, RateOptions(rater=rater))
    off_topic, found = (
        {sample.id.rpartition("/")[0]: weights(sample, source) for sample in load(path)}
        for path, source in ((weak, "retrieved:en/"), (written.folder / "rated.jsonl", "retrieved:en-"))
    )
    assert len(off_topic) == 30
    assert sum(max(off_topic[id]) < sum(found[id]) / logs.K for id in found) > 20


def test_only_with_the_utterance_among_the_references_does_vbleu_prefer_the_parrot(written: Shown) -> None:
    first = best(written.folder, "scores.jsonl")
    assert (first[logs.WITH_PARROT], first[logs.VBLEU]) == ("parrot", "attentive")


def test_a_strong_and_a_weak_reference_set_are_shown(written: Shown, capsys: Captured) -> None:
    found = {}
    for command in (c for c in commands(written.out) if c[1] == "reliability"):
        assert main([*command[1:], "--quiet"]) == 0
        assert capsys.readouterr().out in written.out
        assert main([*command[1:], "--quiet", "--json"]) == 0
        (curve,) = json.loads(capsys.readouterr().out)
        found[Path(command[3]).stem] = [p["ci"] for p in curve["points"] if p["references"] == 2]
    assert all(low > 0 for low, _ in found["strong"])
    assert all(high < 0 for _, high in found["weak"])


def weights(sample: Sample, source: str) -> list[float]:
    return [reference.weight for reference in sample.references if reference.source.startswith(source)]


def test_what_is_invented_is_called_invented(written: Shown) -> None:
    assert "The log is written for this demo, not real: not installed: no_such_package; " in written.out
    assert "run: pip install 'interloq[demo]'" in written.out
    last = written.out.split("\n$ ")[-1]
    assert "The systems, ratings and log are illustrative" in last
    assert "fit better than replies from real logs" in last
    assert "No figure here says anything about real data" in last


@pytest.mark.usefixtures("extras")
def test_again_into_the_same_folder_in_another_language(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(logs, "EPOCHS", dict.fromkeys(logs.EPOCHS, 1))
    monkeypatch.setattr(logs, "SHAPE", Shape(embedding=8, hidden=8, layers=1, width=16))
    for language in ("ja", "zh"):
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
    assert [command[1] for command in commands(shown.stdout)] == ["score", "compare", "score", *LAST]
    assert "vbleu" not in shown.stdout
    assert (folder / ODD / "report.html").exists()
    assert not (folder / ODD / "index").exists()


# ---- the folder -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["index", "rater"])
def test_a_folder_of_the_user_stays(folder: Path, name: str, capsys: Captured) -> None:
    precious = folder / "out" / name / "precious.txt"
    precious.parent.mkdir(parents=True)
    precious.write_text("mine")
    assert main(["demo", "-o", "out"]) == 2
    assert f"out/{name} was not made by the demo; choose another folder with -o" in capsys.readouterr().err
    assert precious.read_text() == "mine"


def test_a_link_is_not_followed(folder: Path, capsys: Captured) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "precious.txt").write_text("mine")
    (folder / "out").mkdir()
    (folder / "out" / steps.MADE[0]).write_text("")
    (folder / "out" / "rater").symlink_to(folder / "mine")
    assert main(["demo", "-o", "out"]) == 2
    assert "was not made by the demo" in capsys.readouterr().err
    assert (folder / "mine" / "precious.txt").exists()
