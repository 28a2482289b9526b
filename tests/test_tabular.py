"""Results at the prompt, in a notebook and as data frames."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from interloq import MissingDependencyError, Rating, Result, Sample, evaluate
from interloq.agree.agreement import meta_evaluate
from interloq.agree.dialogue_scores import dialogue_scores
from interloq.rank.rank import rank
from interloq.records import Dialogue, Note, Score, Turn
from interloq.signature import Signature
from interloq.tabular import Tabular, latex, markdown

SAMPLES = [
    Sample(f"{i}", "hi", reply, references, "a<b>", [Rating(i, "r1"), Rating(i + 1, "r2")])
    for i, (reply, references) in enumerate([("a b c", ["a b c"]), ("d", []), ("a x c", ["a b c"]), ("x", ["a b"])])
]


def tables() -> list[Tabular]:
    result = evaluate("rouge_l", SAMPLES)
    dialogues = [
        Dialogue(f"{i}", [Turn("hi", "user"), Turn("yes", "bot")], {"bot": name}) for i, name in enumerate("aabb")
    ]
    scores = [Score(f"{i}#2", "m", float(i), system=name) for i, name in enumerate("aabb")]
    return [
        result,
        meta_evaluate(result.scores(), SAMPLES),
        rank(dialogue_scores(scores, dialogues), lower_is_better=False),
    ]


def test_a_result_is_told_in_a_few_lines() -> None:
    result = evaluate("rouge_l", SAMPLES)
    lines = repr(result).splitlines()
    assert lines[0] == "Result: rouge_l"
    assert lines[1].split() == ["value", "low", "high", "n", "unscored", "precision", "recall"]
    assert lines[2].split()[3:5] == ["3", "1"]
    assert all(line.startswith("note: ") for line in lines[3:])
    assert str(result) == repr(result)


def test_what_is_missing_is_marked_and_markup_is_escaped() -> None:
    note = Note("n", "<script>alert(1)</script>", 1, 1)
    scores, reasons = {("1", "<b>"): float("nan")}, {("1", "<b>"): "why"}
    result = Result("m<i>", float("nan"), None, 0, 1, Signature("s"), scores, reasons, (note,))
    html = result._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<caption>m&lt;i&gt;</caption>" in html
    assert html.count("<td>–</td>") == 3


def test_every_table_prints_and_has_a_frame() -> None:
    for table in tables():
        assert isinstance(table.to_frame(), pd.DataFrame)
        assert len(table.to_frame()) > 1
        text = repr(table)
        assert table._repr_html_().count("<tr>") == len(text.splitlines()) - 1 - text.count("note: ")
        assert len(text) < 3000


def test_the_frame_of_a_result_has_one_row_per_sample() -> None:
    frame = evaluate("rouge_l", SAMPLES).to_frame()
    assert list(frame.columns) == ["id", "system", "value", "reason"]
    assert frame["id"].tolist() == ["0", "1", "2", "3"]
    assert set(frame["system"]) == {"a<b>"}
    assert frame["value"].isna().tolist() == [False, True, False, False]
    assert frame["reason"].tolist() == ["", "no references", "", ""]


def test_without_pandas_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"to_frame\(\) needs the package 'pandas'.*interloq\[notebook\]"):
        evaluate("rouge_l", SAMPLES).to_frame()


def test_markdown_tables_escape_markup() -> None:
    lines = markdown(["a", "b"], [["x|y", "1\n2"]]).splitlines()
    assert lines == ["| a | b |", "|---|---|", r"| x\|y | 1 2 |"]
    cells = ["<script>x</script>", "![i](http://x)", "a\\|b", "&lt;", "~~*_`"]
    row = markdown(list("abcde"), [cells]).splitlines()[2]
    assert row == r"| \<script\>x\</script\> | \![i\](http://x) | a\\\|b | \&lt; | \~\~\*\_\` |"


def test_latex() -> None:
    table = latex(["metric", "95 % interval"], [["bleu_star(tokenizer='13a')", "[-0.1, .2]"], ["a\\b & c-1", "<.001"]])
    assert table.splitlines() == [
        r"\begin{tabular}{lr}",
        r"  \toprule",
        r"  metric & 95 \% interval \\",
        r"  \midrule",
        r"  bleu\_star(tokenizer=\textquotesingle{}13a\textquotesingle{}) & [$-$0.1, .2] \\",
        r"  a\textbackslash{}b \& c-1 & \textless{}.001 \\",
        r"  \bottomrule",
        r"\end{tabular}",
    ]
