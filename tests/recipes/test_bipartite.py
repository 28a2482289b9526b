"""The whole recipe with tiny models on made dialogues: train, play, score, rank."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import bipartite
import bipartite_bots
import bipartite_making
import numpy as np
import pytest
from scipy.stats import spearmanr

from interloq import Turn, load
from interloq.agree.dialogue_scores import DialogueScore
from interloq.play.partners import load_partners
from tests.made_lm import tiny_lm

PEOPLE = ("we", "you", "they", "my friends", "the children", "some people", "both of us", "the neighbours")
DOING = ("saw", "liked", "left", "found", "painted", "sold", "wanted", "missed")
THINGS = ("the sea", "a small film", "that old house", "two green cars", "the music", "her garden", "his long letters")
FOUR = ["lm-0", "lm-20", "lm-60", "lm-200"]


def _dialogues(n: int, seed: int) -> str:
    rng = Random(seed)
    said = [
        f"{a} {b} {c} {d} ." for a, b, c, d in product(PEOPLE, DOING, THINGS, ("again", "today", "at last", "then"))
    ]
    return "".join(" __eou__ ".join([*rng.sample(said, 5), ""]) + "\n" for _ in range(n))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for seed, (part, n) in enumerate({"train": 60, "validation": 20, "test": 40}.items()):
        path = folder / "dailydialog" / part / f"dialogues_{part}.txt"
        path.parent.mkdir(parents=True)
        path.write_text(_dialogues(n, seed), "utf-8")
    return folder


@pytest.fixture(scope="module")
def options(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Of a run that is finished."""
    work = tmp_path_factory.mktemp("work")
    found = ["--data", str(data), "--work", str(work), "--quick", "--device", "cpu"]
    for stage in ("prepare", "train", "play"):
        assert bipartite.main([*found, "--only", stage]) == 0
    return found


def _work(options: Sequence[str]) -> Path:
    return Path(options[3])


def _json(options: Sequence[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert bipartite.main([*options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_table_is_there(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert bipartite.main([*options, "--only", "score"]) == 0
    shown = capsys.readouterr().out
    for title in ("known in advance", "trained here", "dialogues", "failures by bot", "agreement with the known order"):
        assert title in shown
    for scheme in ("self-play", "all-play-all", "bipartite"):
        assert f"{scheme}: rank (range of ranks) score" in shown
    assert "lm-200 > lm-60" in shown
    lines = [line.split() for line in shown.splitlines() if line.lstrip().startswith("fed sensibleness negative_only")]
    assert [(line[3], line[-1]) for line in lines[:3]] == [
        ("self-play", "0.70"),
        ("all-play-all", "0.75"),
        ("bipartite", "0.75"),
    ]


def test_agreement_is_a_literal_count(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = _json([*options, "--only", "score"], capsys)
    for scheme in found["schemes"].values():
        assert len(scheme["figures"]) == 7
        for figure in scheme["figures"]:
            means = _means(_work(options), figure["scheme"], figure["metric"])
            assert means == pytest.approx({s["system"]: s["score"] for s in figure["standings"]})
            right = {pair: _right(figure["metric"], means, pair) for pair in map(tuple, found["known"])}
            inside = [value for pair, value in right.items() if set(pair) <= set(FOUR)]
            assert figure["agreement"]["value"] == pytest.approx(sum(right.values()) / len(right))
            assert figure["group"]["value"] == pytest.approx(sum(inside) / 6)
            assert figure["group"]["pairs"] == len(inside) == 6
            assert figure["agreement"]["ci"][0] <= figure["agreement"]["ci"][1]
            sign = -1 if figure["metric"] == "log perplexity" else 1
            expected = spearmanr([sign * means[name] for name in FOUR], range(4)).statistic
            assert figure["spearman"] == pytest.approx(expected)


def _means(work: Path, scheme: str, metric: str) -> dict[str, float]:
    """A system's mean over dialogues of the mean over its utterances, from the files alone."""
    each: dict[str, dict[str, list[float]]] = {}
    for score in load(work / "scores" / f"{scheme}.{metric.replace(' ', '-')}.jsonl", kind="scores"):
        if score.value is not None:
            each.setdefault(score.system, {}).setdefault(score.id.split("#")[0], []).append(score.value)
    return {name: float(np.mean([np.mean(v) for v in own.values()])) for name, own in each.items()}


def _right(metric: str, means: dict[str, float], pair: Sequence[str]) -> float:
    better, worse = (round(means[name], 9) for name in pair)
    if better == worse:
        return 0.5
    return float(better < worse if metric == "log perplexity" else better > worse)


def test_a_judge_that_reads_otherwise_scores_anew(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bipartite.main([*options, "--only", "score"]) == 0
    moved = Path(shutil.copytree(_work(options), tmp_path / "moved"))
    files = sorted((moved / "scores").glob("self-play.*"))
    before = {path.name: path.read_text() for path in files}
    again = ["--data", "nowhere", "--work", str(moved), "--quick", "--only", "score", "--scheme", "self-play"]
    assert bipartite.main(again) == 0
    assert {path.name: path.read_text() for path in files} == before
    assert bipartite.main([*again, "--layout", "lines"]) == 0
    capsys.readouterr()
    changed = [path.name for path in files if path.read_text() != before[path.name]]
    assert changed == [path.name for path in files if "length" not in path.name]


def test_partners_are_not_targets(options: list[str]) -> None:
    job = bipartite._job(bipartite._parser().parse_args(options))
    judged, others = bipartite_bots.targets(job), bipartite_bots.partners(job)
    assert len(judged) >= 8
    assert len(others) >= 6
    assert not set(judged.values()) & set(others.values())
    assert [partner.name for partner in load_partners(job.work / "partners.json").partners] == sorted(others)
    written = json.loads((job.work / "known_order.json").read_text("utf-8"))
    assert list(map(tuple, written["pairs"])) == bipartite_bots.known_order(job)


def test_a_base_model_takes_part(data: Path, tmp_path: Path) -> None:
    lm = tiny_lm(tmp_path / "base", "llama")
    options = ["--data", str(data), "--work", str(tmp_path / "work"), "--quick", "--lm", str(lm), "--without", "echo"]
    job = bipartite._job(bipartite._parser().parse_args(options))
    assert {"chat", "chat hot"} <= bipartite_bots.targets(job).keys()
    known = bipartite_bots.known_order(job)
    assert ("chat", "chat hot") in known
    assert not any("echo" in pair for pair in known)
    assert "judge" not in bipartite_making.models(job)
    bipartite_making.prepare(job)
    bots = bipartite_bots.made(
        {name: spec for name, spec in bipartite_bots.targets(job).items() if name.startswith(("chat", "lm-0"))}
    )
    turns = [Turn("how was it ?", "a")]
    assert all(len(bot.replies([turns], [1])) == 1 for bot in bots.values())


def test_words_are_mixed_up_by_the_seed(options: list[str]) -> None:
    bot = bipartite_bots.MixedUp("echo")
    said = " ".join(map(str, range(40)))
    turns = [Turn(said, "a")]
    first, again, other = (reply.text for reply in bot.replies([turns] * 3, [1, 1, 2]))
    assert first == again != other
    assert set(first.split()) < set(said.split())
    assert first.split() != sorted(first.split(), key=int)
    assert "echo" not in str(bot.signature())
    assert bot.signature() != bipartite_bots.MixedUp("eliza").signature()


def test_pairs_without_scores_do_not_count() -> None:
    def row(system: str, value: float, occasion: str) -> DialogueScore:
        return DialogueScore(f"{system}/{occasion}", system, "p", value, occasion, 1)

    rows = [row("a", 3.0, "1"), row("b", 1.0, "1"), row("c", 1.0, "1"), row("d", float("nan"), "1")]
    known = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]
    found = bipartite.agreement(rows, known, lower_is_better=False, resamples=10)
    assert (found.value, found.pairs) == (0.5, 3)  # right, tied, wrong
    assert found.ci == (0.5, 0.5)
    assert bipartite.agreement(rows, known[:1], lower_is_better=True, resamples=10).value == 0


def test_what_is_wrong_is_one_line(
    options: list[str], tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = ("--data", str(data), "--work", str(tmp_path / "b"))
    for given, said in {
        ("--data", str(tmp_path), "--work", str(tmp_path / "a")): "no dailydialog in",
        whole: "the largest budget is 250,000 pairs, but there are only 240",
        (*options, "--epochs", "3"): "made with epochs 2, now it is 3",
        (*options, "--budgets", "0", "5", "5", "7"): "0 and three increasing numbers",
        (*options, "--only", "train", "--model", "lm-7"): "no model is called 'lm-7'",
    }.items():
        assert bipartite.main(given) == 2
        (line,) = [line for line in capsys.readouterr().err.splitlines() if said in line]
        assert line.startswith("bipartite: ")
