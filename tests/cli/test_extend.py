from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from interloq import load, write
from interloq.cli.main import main
from interloq.data.embedded import embedded_path
from interloq.data.records.jsonl import header
from tests.cli.made_pool import pairs, printed

Captured = pytest.CaptureFixture[str]
DENSE = "dense(encoder='fake32')"


PAGE = Path(__file__).parents[2] / "docs" / "extend.md"


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
        for option in options - {"--help", "--json", "--strict", "--quiet", "--output", "--table-format"}:
            assert option in page, option
