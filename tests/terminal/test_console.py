"""What is printed: no terminal is steered by data, narrow terminals stay readable, signatures are short."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Sample, cli, load, write
from interloq.cli.main import main
from interloq.signature import Signature
from interloq.terminal import console

Captured = pytest.CaptureFixture[str]
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
HARMLESS = re.compile("[\x1b\x07\x9b\u202e]")


@pytest.mark.parametrize("write_line", [console.print_line, console.print_stderr])
def test_lines_spell_out_what_would_steer_a_terminal(write_line: object, capsys: Captured) -> None:
    assert callable(write_line)
    write_line(f"a{ESCAPES}b\tc\nd")
    shown = "".join(capsys.readouterr())
    assert not HARMLESS.search(shown)
    assert shown.endswith("b\tc\nd\n")
    assert "\\x1b[2J" in shown


def test_tables_spell_it_out_too(capsys: Captured) -> None:
    console.print_table(ESCAPES, ["system"], [[ESCAPES]], note=ESCAPES)
    assert not HARMLESS.search(capsys.readouterr().out)


def test_json_spells_it_out_and_means_the_same(capsys: Captured) -> None:
    console.print_json({"system": ESCAPES})
    shown = capsys.readouterr().out
    assert not HARMLESS.search(shown)
    assert json.loads(shown) == {"system": ESCAPES}


def test_no_verb_prints_by_itself() -> None:
    verbs = Path(cli.__file__).parent.glob("*.py")
    texts = {path.name: path.read_text() for path in verbs}
    assert not [name for name, text in texts.items() if re.search(r"(?<![\w.])print\(|std(out|err)\.write", text)]


def test_data_cannot_steer_the_screen(folder: Path, samples: list[Sample], capsys: Captured) -> None:
    bad = [Sample(f"{s.id}{ESCAPES}", s.context, s.response, s.references, f"{s.system}{ESCAPES}") for s in samples]
    write("samples.jsonl", bad, kind="samples")
    with Path("samples.jsonl").open("a") as file:
        file.write(json.dumps({"id": ESCAPES, "response": 3}) + "\n")
    assert main(["score", "samples.jsonl", "-m", "bleu", "-o", "scores.jsonl"]) == 1
    assert main(["score", "samples.jsonl", "-m", "bleu", "--json"]) == 1
    assert main(["data", "check", "samples.jsonl"]) == 1
    assert main(["explain", samples[0].id + ESCAPES, "samples.jsonl", "-m", "bleu"]) < 2
    assert main(["score", f"{ESCAPES}.jsonl", "-m", "bleu"]) == 2
    assert not HARMLESS.search("".join(capsys.readouterr()))


def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")


def test_long_names_are_numbered_where_a_terminal_is_narrow(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    _narrow(monkeypatch)
    long = "vbleu(index='a-folder-with-a-long-name',rater=gru(model='another-folder'),k=10)"
    rows = [[long, "good", "0.1234", "[0.1000, 0.2000]", "120"], ["chrf", "good", "0.5", "", "120"]]
    console.print_table("", ["metric", "system", "value", "95 % interval", "n"], rows)
    shown = capsys.readouterr().out
    (row,) = [line for line in shown.splitlines() if "0.1234" in line]
    assert row.strip().startswith("vbleu(…) [1]")
    assert "[1] vbleu(index='a-folder-with-a-long-name'," in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith("[1]"))


def test_short_names_stay_as_they_are(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    _narrow(monkeypatch)
    console.print_table("", ["metric", "value"], [["bleu(order=2)", "0.1"]])
    assert "[1]" not in capsys.readouterr().out


def test_signatures_are_short_on_the_screen_and_whole_in_the_file(
    folder: Path, samples: list[Sample], capsys: Captured
) -> None:
    from interloq.data.records.jsonl import header

    write("samples.jsonl", samples, kind="samples")
    assert main(["score", "samples.jsonl", "-m", "bleu", "-o", "scores.jsonl"]) == 0
    whole = Signature.from_json(header("scores.jsonl")["results"][0]["signature"])
    shown = capsys.readouterr().out
    assert str(whole) not in shown
    assert f"signature: {whole.short} (in full with --json)" in shown
    assert len(load("scores.jsonl", kind="scores")) == len(samples)


def test_tables_as_markdown_and_latex(capsys: Captured) -> None:
    with console.table_format("markdown"):
        console.print_table("title", ["a", "b"], [["x|y", f"1{ESCAPES}"]], note="a note")
    shown = capsys.readouterr().out
    assert shown.startswith("**title**\n\n| a | b |\n|---|---|\n| x\\|y | 1")
    assert shown.endswith("|\n\na note\n\n")
    assert not HARMLESS.search(shown)
    with console.table_format("markdown"):
        console.print_table("<b>", ["<i>"], [["x"]], note="<u>")
    assert not re.search(r"(?<!\\)<", capsys.readouterr().out)
    with console.table_format("latex"):
        console.print_table("ti\ntle", ["a", "b"], [["x", "1"]], note="a\nnote")
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[2], lines[-2]) == ("% ti tle", r"\begin{tabular}{lr}", "% a note")
    console.print_table("", ["a"], [["x"]])
    assert "|" not in capsys.readouterr().out


def test_every_table_of_a_verb_has_the_format(folder: Path, samples: list[Sample], capsys: Captured) -> None:
    write("samples.jsonl", samples, kind="samples")
    assert main(["score", "samples.jsonl", "-m", "bleu", "-o", "scores.jsonl", "--table-format", "latex"]) == 0
    table, rest = capsys.readouterr().out.split("\\end{tabular}\n")
    assert table.startswith(r"\begin{tabular}{lrrrrr}")
    assert "% signature: " in rest
    assert all(line.startswith("%") for line in rest.splitlines() if line), "only comments beside the table"
    command = ["meta", "scores.jsonl", "--samples", "samples.jsonl", "--bootstrap", "20", "--table-format", "markdown"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert out.count("|---|") >= 2
    assert "─" not in out


CELLS = st.text("abcXYZ 019.[]()='_-→", max_size=12).map(str.strip)  # rich loses a backslash before a bracket


@given(table=st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[CELLS] * n), min_size=1, max_size=5)))
def test_plain_tables_look_as_those_of_rich(table: list[tuple[str, ...]]) -> None:
    columns, *rows = table
    shown = []
    by_rich: Callable[..., list[str]] = lambda *_: []  # noqa: E731
    for lay_out in (console._lay_out, by_rich):
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(console, "_lay_out", lay_out)
            patch.setattr(sys, "stdout", stream)
            console.print_table("", columns, rows, note="a note")
        stream.flush()
        shown.append(stream.buffer.getvalue().decode())
    assert shown[0] == shown[1]


def test_small_tables_need_no_rich() -> None:
    program = (
        "import sys; from interloq.terminal.console import print_table;"
        "print_table('', ['metric', 'n'], [['bleu', '1']]);"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.splitlines()[1:] == [" metric   n ", " ────────── ", " bleu     1 ", " " * 12, "False"]
