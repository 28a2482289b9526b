"""Scores are equal to the last byte, whoever computes the shards; see also tests/shards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from interloq import InputError, Sample, load
from interloq.cli.main import main
from interloq.metrics.metric import as_metric
from interloq.score import evaluate
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from interloq.score.score_task import ScoreTask, read_scored
from interloq.servers.spending import SpendingLimits
from interloq.shards.shard_options import ShardOptions
from interloq.shards.task import ShareComputed
from tests.made_lm import tiny_lm
from tests.made_pipeline import GRU, HUMAN

FAST = ["bleu(order=2)", "nist", "distinct", "chrf", "ruber(referenced=nist,unreferenced=length)", "own.py:letters"]
NETWORKS = ["judge(model='ready')", f"ruber(referenced=vbleu(index='index',rater={GRU}),unreferenced=bleu(order=1))"]
OWN = """
from dataclasses import dataclass
import numpy as np
from interloq.metrics.metric import Metric, score_rows


def letters(sample):
    return len(sample.response) or None


@dataclass(frozen=True)
class Turns(Metric, name="turns_of_this_test"):
    of = "dialogue"

    def stats(self, samples):
        return score_rows(np.array([float(len(sample.context)) for sample in samples]))
"""
OPTIONS = ScoreOptions(n_bootstrap=20, trust=lambda _: None)


@pytest.fixture
def here(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small shards, which workers do not have to know."""
    monkeypatch.setattr(evaluate, "CHUNK", 16)
    monkeypatch.setattr(evaluate, "NETWORK_CHUNK", 6)
    (here / "own.py").write_text(OWN)
    return here


def score(metrics: list[str], name: str, **shards: object) -> bytes:
    score_file("samples.jsonl", metrics, name, OPTIONS, shards=ShardOptions(**shards))  # type: ignore[arg-type]
    return Path(name).read_bytes()


def score_shares(metrics: list[str], n: int) -> bytes:
    for i in range(1, n + 1):
        with pytest.raises(ShareComputed):
            score(metrics, "shares.jsonl", shard=f"{i}/{n}", parts="parts")
    assert not Path("shares.jsonl").exists()
    return score(metrics, "shares.jsonl", parts="parts", only_join=True)


def test_scores_do_not_depend_on_the_number_of_workers(here: Path) -> None:
    plain = score(FAST, "plain.jsonl")
    for workers in (1, 2, 5):
        assert score(FAST, "workers.jsonl", workers=workers) == plain
    assert score_shares(FAST, 3) == plain
    assert {path.name for path in here.glob("*parts*")} == {"parts"}
    assert len(list(here.glob("parts/replies-*.shard"))) == 4  # 16 samples in three shards, then 3


def test_scores_of_networks_do_not_depend_on_it_either(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    lines = Path("samples.jsonl").read_text().splitlines(keepends=True)
    Path("samples.jsonl").write_text("".join(lines[:20]))  # with the header
    plain = score(NETWORKS, "plain.jsonl")
    assert score(NETWORKS, "workers.jsonl", workers=2) == plain
    assert score_shares(NETWORKS, 3) == plain
    assert len(list(here.glob("parts/replies-*.shard"))) == 4


def test_dialogues_and_their_replies_are_two_jobs(here: Path) -> None:
    tiny_lm(here / "lm", positions=256)
    turns = [{"speaker": "ab"[i % 2], "text": f"i like tea {i} ."} for i in range(4)]
    dialogues = [{"id": f"d{i}", "turns": turns[: 2 + i % 3], "systems": {"b": "bot"}} for i in range(20)]
    Path("samples.jsonl").write_text("".join(json.dumps(dialogue) + "\n" for dialogue in dialogues))
    metrics = ["length", "own.py:Turns", "fed(model='lm',dimension='relevant')"]
    plain = score(metrics, "plain.jsonl")
    assert score(metrics, "workers.jsonl", workers=1) == plain
    assert score_shares(metrics, 3) == plain
    assert len(list(here.glob("parts/dialogues-*.shard"))) == 2


def test_the_command_line_computes_shares_and_joins_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["score", "samples.jsonl", "-m", "chrf", "-m", "own.py:letters", "--trust", "--quiet"]
    assert main([*command, "-o", "plain.jsonl"]) == 0
    shares = [*command, "-o", "shares.jsonl", "--parts", "parts"]
    assert main([*shares, "--shard", "2/2"]) == 0
    assert "parts: 2 of 4 shards computed for --shard 2/2" in capsys.readouterr().err
    assert main(["data", "join", "parts"]) == 2
    assert "its command trusts files that run code; if you do, add --trust" in capsys.readouterr().err
    assert main(["data", "join", "parts", "--trust"]) == 2
    assert "parts: 2 of 4 shards are missing: records 1–16, 33–48" in capsys.readouterr().err
    assert main([*shares, "--shard", "1/2"]) == 0
    assert main(["data", "join", "parts", "--trust", "-o", "joined.jsonl", "--quiet"]) == 0
    assert main(shares) == 0
    assert Path("joined.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()
    assert Path("shares.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()
    assert main(["score", "samples.jsonl", "-m", "bleu", "--parts", "parts"]) == 2
    assert "parts: the shards are from another job: metrics was" in capsys.readouterr().err
    assert main(["data", "join", "elsewhere"]) == 2
    assert "elsewhere" in capsys.readouterr().err


def test_a_killed_run_resumes_with_the_same_command(here: Path) -> None:
    plain = score(["bleu"], "plain.jsonl")
    with pytest.raises(ShareComputed):
        score(["bleu"], "workers.jsonl", shard="1/2", parts="workers.jsonl.parts")
    finished = {path.name: path.stat().st_mtime_ns for path in here.glob("workers.jsonl.parts/*.shard")}
    program = (
        "import sys, time\n"
        "from interloq.score import evaluate\n"
        "from interloq.shards.parts import PartsFolder\n"
        "from interloq.cli.main import main\n"
        "evaluate.CHUNK = 16\n"
        "PartsFolder.add = lambda *_: (print('computed', flush=True), time.sleep(60))\n"
        "if __name__ == '__main__':\n"
        "    main(sys.argv[1:])\n"
    )
    Path("run.py").write_text(program)
    command = [
        sys.executable,
        "run.py",
        "score",
        "samples.jsonl",
        "-m",
        "bleu",
        "-o",
        "workers.jsonl",
        "--workers",
        "1",
    ]
    with subprocess.Popen([*command, "--quiet"], stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"computed\n"
        os.kill(driver.pid, signal.SIGKILL)
    for name, written in finished.items():
        assert (here / "workers.jsonl.parts" / name).stat().st_mtime_ns == written
    assert score(["bleu"], "workers.jsonl", workers=1) == plain
    assert not Path("workers.jsonl.parts").exists()


def test_what_one_process_has_to_do_is_refused(here: Path) -> None:
    for metric in (f"vbleu(index='index',rater={HUMAN})", "vbertscore(index='index',model='fake',idf=True)"):
        with pytest.raises(InputError, match="needs all rated samples at once and cannot be sharded"):
            score([metric], "scores.jsonl", workers=2)
    llm = "llm_judge(endpoint='http://127.0.0.1:9/v1',model='m')"
    with pytest.raises(InputError, match="llm_judge waits for a server or program"):
        score([llm], "scores.jsonl", workers=2)
    with pytest.raises(InputError, match="limits of requests do not hold over several processes"):
        score_file(
            "samples.jsonl",
            [f"blend(metrics=(bleu,{llm}))"],
            "scores.jsonl",
            shards=ShardOptions(shard="1/2", parts="parts"),
            limits=SpendingLimits(max_calls=3),
        )
    assert not list(here.glob("*parts"))


class Second:
    """Leaves the second sample unscored."""

    def __call__(self, samples: Sequence[Sample]) -> list[str]:
        return ["too weak" if i == 1 else "" for i in range(len(samples))]

    def identify(self) -> str:
        return "second"


def test_a_part_is_read_back_as_it_was_computed(here: Path) -> None:
    samples = load("samples.jsonl")[-3:]
    task = ScoreTask((as_metric("bleu"), as_metric("length")), (True, False), Second())
    scored = read_scored(task.open()(samples), 100)
    assert [rows.shape for rows in scored.rows] == [(3, 10), (3, 2)]
    assert scored.reasons[0] == {101: "no references", 102: "no references"}
    assert scored.reasons[1] == {101: "too weak"}
    assert scored.filtered == {101: "too weak"}
    assert task.identify().endswith("), second")
