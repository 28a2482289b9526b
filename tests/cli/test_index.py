"""The verb index."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interloq import load, write
from interloq.cli.main import main
from interloq.retrieve.index import open_index
from interloq.retrieve.retriever import Query
from tests.cli.made_runs import pairs, run_json, text

Captured = pytest.CaptureFixture[str]
DENSE = "dense(encoder='fake32')"


def found(index: str | Path) -> list[list[tuple[str, float]]]:
    """What some searches find."""
    opened = open_index(index)
    hits = opened.search([Query(text(i)) for i in range(0, 2_400, 100)], 20)
    return [[(hit.pair.id, round(hit.score, 5)) for hit in each] for each in hits]


def test_build_add_info_search(pool: Path, capsys: Captured) -> None:
    facts = run_json(capsys, "index", "build", "pairs.jsonl", "-o", "index", "--retriever", "bm25")
    assert facts["files"] == [{"file": "pairs.jsonl", "before": 0, "added": 2400, "excluded": {}, "bad_lines": 0}]
    write("more.jsonl", pairs(100, start=2_400), kind="pairs")
    assert main(["index", "add", "index", "more.jsonl"]) == 0
    assert capsys.readouterr().out == "more.jsonl: 100 pairs added\nindex: 2,500 pairs\n"
    info = run_json(capsys, "index", "info", "index")
    assert (info["pairs"], info["retriever"], info["recall"]) == (2500, "bm25", None)
    assert sorted(info["sources"].values()) == [100, 2400]
    assert main(["index", "info", "index"]) == 0
    assert "2,500 pairs" in capsys.readouterr().out
    hits = run_json(capsys, "index", "search", "index", text(2_450), "-k", "2")["hits"]
    assert hits[0]["id"] == "p2450"
    assert len(hits) == 2
    assert main(["index", "search", "index", text(7), "-k", "1"]) == 0
    assert f"→ reply 7 {text(8)}  [p7]" in capsys.readouterr().out
    assert main(["index", "search", "index", "zzz"]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_what_test_items_share_is_left_out(pool: Path, capsys: Captured) -> None:
    build = ["index", "build", "pairs.jsonl", "-o", "index", "--retriever", "bm25", "--without", "samples.jsonl"]
    facts = run_json(capsys, *build)
    assert facts["files"][0]["excluded"] == {"utterance": 1}
    assert facts["pairs"] == 2399
    assert "p5" not in {hit["id"] for hit in run_json(capsys, "index", "search", "index", text(5))["hits"]}
    assert main(build) == 0
    assert "already in the index" in capsys.readouterr().out
    assert main(["index", "add", "index", "pairs.jsonl"]) == 2  # unfiltered, it would bring back what was left out
    assert "with other samples excluded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "pairs.jsonl", "-o", "index", "--retriever", "bm52"], "did you mean 'bm25'?"),
        (["build", "samples.jsonl", "-o", "index", "--retriever", "bm25"], "contains samples, expected pairs"),
        (["add", "none", "pairs.jsonl"], "no index in none"),
        (["search", "none", "text"], "no index in none"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(pool: Path, capsys: Captured, arguments: list[str], message: str) -> None:
    assert main(["index", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def stored(index: Path) -> int:
    try:
        return sum(json.loads((index / "index.json").read_bytes())["sources"].values())
    except FileNotFoundError:
        return 0


def cut_off(command: list[str], index: Path, wanted: int, how: signal.Signals) -> int:
    """Start a build, send it a signal as soon as so many pairs are stored; its exit code."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while stored(index) < wanted:
        assert process.poll() is None, "the build ended before it could be cut off"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(process.pid, how)
    return process.wait(timeout=60)


@pytest.mark.parametrize(
    ("retriever", "exact", "segment", "how"),
    [
        ("bm25", "5000", "60", signal.SIGINT),
        (DENSE, "200", "100", signal.SIGKILL),
    ],
)
def test_a_build_that_was_cut_off_goes_on(
    pool: Path, capsys: Captured, retriever: str, exact: str, segment: str, how: signal.Signals
) -> None:
    """Twice cut off, then finished: the index is the one that is built in one go, exact or not."""
    build = ["index", "build", "pairs.jsonl", "--retriever", retriever, "--segment", segment, "--exact-up-to", exact]
    command = [sys.executable, "-m", "interloq.cli", *build, "-o", "cut"]
    for wanted in (40, 300):
        code = cut_off(command, pool / "cut", wanted, how)
        assert code == (-signal.SIGKILL if how == signal.SIGKILL else 130)
        assert wanted <= stored(pool / "cut") < 2_400
    before = stored(pool / "cut")
    facts = run_json(capsys, *build, "-o", "cut")
    assert facts["files"][0]["before"] == before
    assert facts["files"][0]["added"] == 2_400 - before
    assert main([*build, "-o", "whole"]) == 0
    cut, whole = open_index("cut"), open_index("whole")
    assert cut.store.pairs(range(2_400)) == whole.store.pairs(range(2_400)) == load("pairs.jsonl", kind="pairs")
    assert len(cut.store) == len(whole.store) == 2_400
    assert found("cut") == found("whole")
    assert sorted(path.name for path in (pool / "cut").iterdir()) == sorted(
        path.name for path in (pool / "whole").iterdir()
    )
