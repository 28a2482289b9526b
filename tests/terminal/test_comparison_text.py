"""Comparisons as tables and Markdown."""

from __future__ import annotations

from dataclasses import replace

from interloq.compare.compare import compare
from interloq.terminal.comparison_text import comparison_markdown, comparison_tables, escaped, worse_lines
from tests.made_versions import drawn, version

FOUND = compare(
    version("june", drawn(), topics=["food", "films"], ratings=[3.0] * 9),
    version("july", drawn(0.2, seed=2), topics=["food", "films"], ratings=[4.0] * 9),
    slice_by=["topic"],
)


def test_tables_of_metrics_slices_and_people() -> None:
    metrics, sliced, people = comparison_tables(FOUND)
    assert metrics.title == "june → july"
    assert metrics.rows[0][0] == "chrf"
    assert metrics.rows[0][7] == "better"
    assert metrics.rows[0][-1] == "40"
    assert [row[0] for row in sliced.rows] == ["chrf, topic: films", "chrf, topic: food"]
    assert [row[:2] for row in people.rows[:3]] == [[w, "labels alone"] for w in ("old", "new", "difference")]
    assert people.rows[3][:2] == ["old", "chrf"]
    for table in (metrics, sliced, people):
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_units_that_got_worse_are_shown_with_their_texts() -> None:
    worse = replace(FOUND, worse=compare(version("a", [2.0, 1.0]), version("b", [1.0, 1.0])).worse)
    assert list(worse_lines(worse)) == [
        "0: 2.0000 → 1.0000 (chrf)",
        "  prompt: prompt 0",
        "  old:    a 0",
        "  new:    b 0",
    ]
    assert "**Got worse most**\n\n- 0: 2.0000 → 1.0000 (chrf)" in comparison_markdown(worse)


def test_markdown_has_the_same_numbers_and_no_markup_of_others() -> None:
    text = comparison_markdown(replace(FOUND, old="<b>|x|</b>"))
    assert text.startswith(r"**\<b\>\|x\|\</b\> → july**" + "\n\n| metric | old | new |")
    assert "| --- | --: |" in text
    assert next(iter(comparison_tables(FOUND))).rows[0][3] in text
    assert "- note: 40 samples paired by id" in text
    assert text.endswith(f"signature: `{FOUND.signature.short}`\n")
    assert escaped("a\nb `c`\x1b[2J") == r"a b \`c\`\\x1b[2J"
