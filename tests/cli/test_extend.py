from __future__ import annotations

import json
import lzma
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from interloq import Sample, load, write
from interloq.cli.main import main
from interloq.data.embedded import embedded_path
from interloq.data.jsonl import header
from interloq.records import Pair
from interloq.retrieve.index import open_index
from interloq.retrieve.retriever import Query

Captured = pytest.CaptureFixture[str]
DENSE = "dense(encoder='fake32')"
PAGE = Path(__file__).parents[2] / "docs" / "extend.md"
WORDS = ["rain", "sun", "dog", "cat", "film", "book", "tea", "fish", "song", "road", "lamp"]


def text(i: int) -> str:
    return " ".join(WORDS[(i * step + i // 7) % len(WORDS)] for step in (1, 3, 5)) + f" {i}"


def pairs(n: int, start: int = 0) -> list[Pair]:
    return [Pair(f"p{i}", text(i), f"reply {i} {text(i + 1)}") for i in range(start, start + n)]


@pytest.fixture
def pool(folder: Path) -> Path:
    """2,400 pairs, and samples of which one stands in the pool word for word."""
    write("pairs.jsonl", pairs(2_400), kind="pairs")
    samples = [Sample(f"c{i}/bot", ["hello", f"{text(i)} indeed"], "x", [f"gold {i}"]) for i in range(0, 20, 2)]
    samples.append(Sample("copy/bot", [text(5).upper()], "x", ["gold"]))
    write("samples.jsonl", samples, kind="samples", dataset="made")
    return folder


def printed(capsys: Captured, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == code
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def found(index: str | Path) -> list[list[tuple[str, float]]]:
    """What some searches find."""
    opened = open_index(index)
    hits = opened.search([Query(text(i)) for i in range(0, 2_400, 100)], 20)
    return [[(hit.pair.id, round(hit.score, 5)) for hit in each] for each in hits]


# ---- index -----------------------------------------------------------------------------------------------------------


def test_build_add_info_search(pool: Path, capsys: Captured) -> None:
    facts = printed(capsys, "index", "build", "pairs.jsonl", "-o", "index", "--retriever", "bm25")
    assert facts["files"] == [{"file": "pairs.jsonl", "before": 0, "added": 2400, "left_out": {}, "bad_lines": 0}]
    write("more.jsonl", pairs(100, start=2_400), kind="pairs")
    assert main(["index", "add", "index", "more.jsonl"]) == 0
    assert capsys.readouterr().out == "more.jsonl: 100 pairs added\nindex: 2,500 pairs\n"
    info = printed(capsys, "index", "info", "index")
    assert (info["pairs"], info["retriever"], info["recall"]) == (2500, "bm25", None)
    assert sorted(info["sources"].values()) == [100, 2400]
    assert main(["index", "info", "index"]) == 0
    assert "2,500 pairs" in capsys.readouterr().out
    hits = printed(capsys, "index", "search", "index", text(2_450), "-k", "2")["hits"]
    assert hits[0]["id"] == "p2450"
    assert len(hits) == 2
    assert main(["index", "search", "index", text(7), "-k", "1"]) == 0
    assert f"→ reply 7 {text(8)}  [p7]" in capsys.readouterr().out
    assert main(["index", "search", "index", "zzz"]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_a_file_is_never_added_twice(pool: Path, capsys: Captured) -> None:
    build = ["index", "build", "pairs.jsonl", "-o", "index", "--retriever", DENSE]
    assert main(build) == 0
    Path("renamed.jsonl").write_bytes(Path("pairs.jsonl").read_bytes())
    capsys.readouterr()
    for command in (build, ["index", "add", "index", "renamed.jsonl"]):
        assert main(command) == 0
        said = capsys.readouterr().out
        assert "already in the index (2,400 pairs); nothing added" in said
        assert "index: 2,400 pairs" in said


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_compressed_pairs_are_the_same_pairs(pool: Path, suffix: str, capsys: Captured) -> None:
    write(f"pairs.jsonl{suffix}", load("pairs.jsonl", kind="pairs"), kind="pairs")
    for name in ("pairs.jsonl", f"pairs.jsonl{suffix}"):
        assert main(["index", "build", name, "-o", f"index-{name}", "--retriever", "bm25"]) == 0
    assert found("index-pairs.jsonl") == found(f"index-pairs.jsonl{suffix}")


def test_raw_lines_without_ids_are_named_by_file_and_line(folder: Path, capsys: Captured) -> None:
    lines = [{"thread": "t5", "utterance": "a dog", "response": "a cat", "forum": "News", "date": "2015"}, {"x": 1}]
    lines.append({"utterance": "good tea", "response": "yes"})
    with lzma.open("raw_pairs.jsonl.xz", "wt") as file:
        file.write("\n".join(map(json.dumps, lines)))
    facts = printed(capsys, "index", "build", "raw_pairs.jsonl.xz", "-o", "index", "--retriever", "bm25", code=1)
    assert (facts["pairs"], facts["files"][0]["bad_lines"]) == (2, 1)
    (hit,) = printed(capsys, "index", "search", "index", "tea")["hits"]
    assert hit["id"] == "raw_pairs:3"
    assert Path("raw_pairs.rejected.jsonl").exists()


def test_what_test_items_share_is_left_out(pool: Path, capsys: Captured) -> None:
    build = ["index", "build", "pairs.jsonl", "-o", "index", "--retriever", "bm25", "--without", "samples.jsonl"]
    facts = printed(capsys, *build)
    assert facts["files"][0]["left_out"] == {"utterance": 1}
    assert facts["pairs"] == 2399
    assert "p5" not in {hit["id"] for hit in printed(capsys, "index", "search", "index", text(5))["hits"]}
    assert main(build) == 0
    assert "already in the index" in capsys.readouterr().out
    assert main(["index", "add", "index", "pairs.jsonl"]) == 2  # unfiltered, it would bring back what was left out
    assert "with other samples excluded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "-", "-o", "index", "--retriever", "bm25"], "no file '-'"),
        (["build", "none.jsonl", "-o", "index", "--retriever", "bm25"], "no file 'none.jsonl'"),
        (["build", "pairs.jsonl", "-o", "index", "--retriever", "bm52"], "did you mean 'bm25'?"),
        (["build", "pairs.jsonl", "-o", "index", "--retriever", "bm25", "--segment", "0"], "segment must be"),
        (["build", "samples.jsonl", "-o", "index", "--retriever", "bm25"], "holds samples, expected pairs"),
        (["add", "none", "pairs.jsonl"], "no index in none"),
        (["search", "none", "text"], "no index in none"),
        (["info", "none"], "no index in none"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(pool: Path, capsys: Captured, arguments: list[str], message: str) -> None:
    assert main(["index", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_another_retriever_is_refused(pool: Path, capsys: Captured) -> None:
    assert main(["index", "build", "pairs.jsonl", "-o", "index", "--retriever", "bm25"]) == 0
    assert main(["index", "build", "pairs.jsonl", "-o", "index", "--retriever", DENSE]) == 2
    assert "built with another retriever" in capsys.readouterr().err


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
    ("retriever", "exact", "segment"), [("bm25", "5000", "20"), (DENSE, "5000", "20"), (DENSE, "200", "100")]
)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
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
    facts = printed(capsys, *build, "-o", "cut")
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


# ---- extend ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def index(pool: Path, capsys: Captured) -> str:
    assert main(["index", "build", "pairs.jsonl", "-o", "index", "--retriever", DENSE]) == 0
    capsys.readouterr()
    return "index"


def test_extend_writes_samples_with_references_and_counts(index: str, capsys: Captured) -> None:
    assert main(["extend", "samples.jsonl", "--index", index, "-o", "out.jsonl.gz"]) == 0
    said = capsys.readouterr().out
    assert "out.jsonl.gz: 11 samples with 165 retrieved replies" in said
    assert "utterance is a turn of the sample" in said
    before, after = load("samples.jsonl"), load("out.jsonl.gz")
    assert [s.id for s in after] == [s.id for s in before]
    for old, new in zip(before, after, strict=True):
        assert new.references[: len(old.references)] == old.references
        assert new.references[1].source == "parrot"
        assert len(new.references) == 17
        assert all(r.source.startswith("retrieved:p") for r in new.references[2:])
    assert "retrieved:p5" not in {r.source for r in after[-1].references}
    facts = header("out.jsonl.gz")
    assert facts["dataset"] == "made"
    (extended,) = facts["extended"]
    assert extended["counts"]["dropped"]["utterance"] == {"pairs": 1, "samples": 1}
    signature = extended["signature"]
    assert signature["name"] == "extend"
    assert signature["parts"]["retriever"].startswith("dense(")
    assert (signature["parts"]["pairs"], signature["parts"]["k"]) == ("2400", "15")


def test_the_header_remembers_every_extension(index: str, capsys: Captured) -> None:
    assert main(["extend", "samples.jsonl", "--index", index, "-k", "2", "-o", "once.jsonl"]) == 0
    assert main(["extend", "once.jsonl", "--index", index, "-k", "3", "-o", "twice.jsonl"]) == 0
    assert [e["signature"]["parts"]["k"] for e in header("twice.jsonl")["extended"]] == ["2", "3"]
    assert {len(sample.references) for sample in load("twice.jsonl")} == {1 + 1 + 2 + 3}


def test_extended_samples_can_be_scored(index: str, capsys: Captured) -> None:
    assert main(["extend", "samples.jsonl", "--index", index, "-o", "out.jsonl"]) == 0
    capsys.readouterr()
    results = printed(capsys, "score", "out.jsonl", "-m", "delta_bleu(order=1)", "--bootstrap", "0")["results"]
    assert results[0]["signature"]["parts"]["references"] == "17"


def test_options_reach_the_function(index: str, capsys: Captured) -> None:
    Path("ids.txt").write_text("p0\n\n p2 \n")
    command = ["extend", "samples.jsonl", "--index", index, "-o", "out.jsonl", "-k", "4", "--no-parrot", "--no-gold"]
    facts = printed(capsys, *command, "--exclude", "ids.txt", "--diversity", "0.5", "--turns", "2")
    assert facts["counts"]["dropped"]["id"]["samples"] >= 1
    samples = load("out.jsonl")
    assert {len(s.references) for s in samples} == {4}
    sources = {r.source for s in samples for r in s.references}
    assert not {"gold", "parrot", "retrieved:p0", "retrieved:p2"} & sources
    plain = printed(capsys, *command)
    assert plain["signature"] != facts["signature"]


def test_pipes(index: str, capsys: Captured) -> None:
    command = [sys.executable, "-m", "interloq.cli", "extend", "-", "--index", index, "-o", "-", "-k", "2"]
    done = subprocess.run(command, input=Path("samples.jsonl").read_bytes(), capture_output=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["kind"] == "samples"
    assert len(lines) == 12
    assert len(lines[1]["references"]) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--index", "none"], "no index in none"),
        (["--index", "index", "-k", "0"], "k must be at least 1"),
        (["--index", "index", "--exclude", "none.txt"], "cannot read none.txt"),
        (["--index", "index", "--near-duplicates", "2"], "near must be from 0"),
    ],
)
def test_mistakes_leave_no_file(index: str, capsys: Captured, arguments: list[str], message: str) -> None:
    assert main(["extend", "samples.jsonl", "-o", "out.jsonl", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out.jsonl").exists()


# ---- the page --------------------------------------------------------------------------------------------------------


def test_the_commands_and_the_code_of_the_page_run(folder: Path, capsys: Captured) -> None:
    page = PAGE.read_text("utf-8")
    (folder / "samples.jsonl").write_bytes(embedded_path("en").read_bytes())
    write("pairs.jsonl", pairs(200), kind="pairs")
    write("more_pairs.jsonl", pairs(50, start=200), kind="pairs")
    commands = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    commands = [line for line in commands if line.startswith("interloq ")]
    assert len(commands) >= 8
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0, f"{command}: {capsys.readouterr().err}"
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    capsys.readouterr()
    exec(compile(code, "extend.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out.startswith("{")


@pytest.mark.parametrize("verb", ["index", "extend"])
def test_the_page_explains_every_option(verb: str, capsys: Captured) -> None:
    page = PAGE.read_text("utf-8")
    helps = [[verb, "--help"]] if verb == "extend" else [[verb, action, "--help"] for action in ("build", "add")]
    for arguments in helps:
        with pytest.raises(SystemExit):
            main(arguments)
        options = set(re.findall(r"--[a-z][a-z0-9-]+", capsys.readouterr().out))
        assert {"--json", "--strict", "--quiet"} < options
        for option in options - {"--help", "--json", "--strict", "--quiet", "--output"}:
            assert option in page, option
