"""`python recipes` runs stages and writes docs/reproduction.md and the pages behind it; docs/papers.md agrees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import reproduce
from paper_items import Paper, PaperItem, read_papers
from reproduce import main
from reproduction import PAGES, claim_verdict, write_pages
from results import FOLDER, Cell, Finding, Measured, PublishedTable, all_measured, load_measured
from stages import STAGES, Stage

from interloq.tabular import markdown_text

ROOT = Path(__file__).parents[2]
MEASURED = dict(all_measured())
FINDINGS = [finding for stage in MEASURED.values() for finding in stage.findings]
CLAIMS = [item for paper in read_papers() for item in paper.claims()]
FINDING = Finding(
    item="000/1", way="BLEU*", value=0.1, ci=(0.05, 0.15), units=20, unit="dialogues", data="a set", decides=True
)
CLAIM = PaperItem("000", "1", "6", "finding: a beats b", "`bleu`", "tested", "holds")
TABLE = PaperItem("000", "2", "T1", "figures", "`bleu`", "deviates", "other data")
RECIPE = """\
import argparse
from pathlib import Path
from results import Measured, save_measured
parser = argparse.ArgumentParser()
parser.add_argument("--data")
parser.add_argument("--measured", type=Path)
args = parser.parse_args()
with open(Path(args.data) / "runs", "a") as log:
    log.write("run\\n")
save_measured(args.measured, Measured(command="python recipes/made.py", seconds=60.0))
"""


def test_the_pages_are_written_from_the_results() -> None:
    pages = write_pages(read_papers(), MEASURED)
    assert sorted(pages) == ["reproduction.md", *sorted(f"reproduction/{name}.md" for name in PAGES.values())]
    for name, text in pages.items():
        assert (ROOT / "docs" / name).read_text() == text, "run: python recipes"


def test_every_measurement_is_on_a_page_and_every_table_and_figure_has_a_row() -> None:
    pages = write_pages(read_papers(), MEASURED)
    main = pages.pop("reproduction.md")
    shown = "\n".join(pages.values())
    for finding in FINDINGS:
        assert markdown_text(finding.way) in shown
    for paper in read_papers():
        for label, item in paper.tables_and_figures().items():
            kind = "Table" if label.startswith("T") else "Figure"
            assert f"| {kind} {label[1:]} ({item.number}) | {item.text} |" in main
    titles = {markdown_text(table.title.split(": ")[-1]) for stage in MEASURED.values() for table in stage.tables}
    assert all(title in main + shown for title in titles)


def test_every_result_has_a_stage_and_every_stage_a_result() -> None:
    assert sorted(MEASURED) == sorted(stage.name for stage in STAGES)
    for stage in STAGES:
        assert (ROOT / "recipes" / stage.recipe).is_file()


def test_what_was_measured_is_about_claims_and_tables() -> None:
    claims = {item.name for item in CLAIMS}
    places = {item.name for paper in read_papers() for item in paper.tables_and_figures().values()}
    assert {finding.item for finding in FINDINGS} <= claims
    assert {table.item for stage in MEASURED.values() for table in stage.tables} <= places


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda item: item.name)
def test_the_list_of_items_gives_the_verdict_of_each_claim(claim: PaperItem) -> None:
    about = [finding for finding in FINDINGS if finding.item == claim.name]
    if claim.verdict == "not tested":
        assert not any(finding.decides for finding in about)
    else:
        assert claim.reason.startswith(claim_verdict(about)), claim_verdict(about)
        assert any(finding.decides for finding in about)


def test_all_deciding_findings_must_hold() -> None:
    opposite = replace(FINDING, ci=(-0.2, -0.1))
    undecided = replace(FINDING, ci=(-0.1, 0.1))
    assert claim_verdict([FINDING, replace(opposite, decides=False)]) == "holds"
    assert claim_verdict([FINDING, opposite]) == "does not hold"
    assert claim_verdict([undecided, opposite]) == "does not hold"
    assert claim_verdict([FINDING, undecided]) == "cannot be told here"
    assert claim_verdict([opposite]) == "does not hold"
    assert claim_verdict([]) == "cannot be told here"


def test_claims_and_tables_are_shown_with_both_figures() -> None:
    cells = [Cell(published=0.5, ours=-0.25, ci=(-0.5, 0.0)), Cell(ours=16_000_000), Cell()]
    table = PublishedTable(item="000/2", title="Figures", data="a set", columns=["r", "pairs", "ρ"], rows={"a": cells})
    other = replace(FINDING, decides=False, threshold=-0.05, note="as a check")
    measured = Measured(command="python recipes/x.py", seconds=120, findings=[FINDING, other], tables=[table])
    few = replace(table, title="More figures", rows={"b": [Cell(ours=0.5), Cell(), Cell(ours=0.25)]})
    measured = replace(measured, tables=[table, few])
    pages = write_pages([Paper("000", "A paper", [CLAIM, TABLE])], {"vbleu_tables": measured}, "mine")
    main, details = pages["mine.md"], pages["mine/vbleu-2023.md"]
    assert "| A paper | 1 | 1 | 0 | 0 | 1 | 1 |" in main
    assert "| 1. a beats b | **holds** | .100 [.050, .150] | – | BLEU\\* | a set, 20 dialogues |" in main
    assert "| Table 1 (2) | figures | below, [1 more](mine/vbleu-2023.md#table-1) | `bleu`: other data |" in main
    assert "| a | .500 / −.250 [−.500, 0] | – / 16,000,000 | – |" in main
    assert "More figures" not in main
    assert "| **holds** | .100 [.050, .150] | – | BLEU\\* | a set, 20 dialogues |" in details
    assert "| holds | .100 [.050, .150] | – | BLEU\\* (margin .050); as a check | a set, 20 dialogues |" in details
    assert "## Table 1\n\nFigures.\n\nMore figures; ours, on a set:" in details
    assert "| b | .500 | – | .250 |" in details
    assert "| vbleu_tables | `python recipes/x.py` |" in details


def test_a_claim_that_was_not_measured_gives_the_reason() -> None:
    claim = replace(CLAIM, verdict="not tested", reason="the data are private")
    pages = write_pages([Paper("000", "A paper", [claim])], {})
    line = "| 1. a beats b | **cannot be told here** | – | – | the data are private | – |"
    assert line in pages["reproduction.md"]


def run_recipes(*options: str) -> int:
    """Call `python recipes` with these options, and return its exit code."""
    return main(options)


@pytest.fixture
def made_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One stage that works, one that fails, and one that needs a GPU, in a folder of their own."""
    (tmp_path / "made.py").write_text(RECIPE)
    (tmp_path / "failing.py").write_text("raise SystemExit(2)")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "recipes"))
    made = (
        Stage("made", ("000",), "--data {data}", 1, file=str(tmp_path / "made.py")),
        Stage("failing", ("001",), "", 1, file=str(tmp_path / "failing.py")),
        Stage("large", ("000",), "--data {data}", 1, file=str(tmp_path / "made.py"), needs="a GPU"),
    )
    monkeypatch.setattr(reproduce, "STAGES", made)
    return tmp_path


def options_for(folder: Path) -> list[str]:
    places = {
        "--data": folder,
        "--work": folder / "work",
        "--results": folder / "results",
        "--page": folder / "page.md",
    }
    return [word for option, place in places.items() for word in (option, str(place))]


def test_stages_are_run_once_and_again_when_asked(made_stages: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = [*options_for(made_stages), "--only", "000"]
    assert run_recipes(*options) == 0
    assert "large: left out, needs a GPU" in capfd.readouterr().out
    assert run_recipes(*options) == 0
    assert (made_stages / "runs").read_text() == "run\n"
    assert run_recipes(*options, "--again", "made") == 0
    assert (made_stages / "runs").read_text() == "run\nrun\n"
    assert load_measured(made_stages / "results" / "made.json").seconds == 60.0
    assert "# Reproduction" in (made_stages / "page.md").read_text()
    assert (made_stages / "page" / "ream-2021.md").is_file()
    assert run_recipes(*options, "--list") == 0
    assert "a GPU" in capfd.readouterr().out


def test_a_stage_that_fails_stops_no_other(made_stages: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_recipes(*options_for(made_stages), "--all-needs") == 1
    assert "not measured: failing" in capfd.readouterr().err
    assert (made_stages / "runs").read_text() == "run\nrun\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "005"], "neither a paper nor a stage: 005"),
        (["--again", "mad"], "not a stage: mad"),
        (["--results", "nowhere"], "made must be measured"),
        (["--results", "nowhere", "--work", "work"], "no data folder given"),
    ],
)
@pytest.mark.usefixtures("made_stages")
def test_wrong_options_are_one_line(
    options: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("INTERLOQ_DATA", raising=False)
    assert run_recipes(*options) == 2
    assert message in capsys.readouterr().err


def test_results_are_read_from_the_repository() -> None:
    assert FOLDER == ROOT / "recipes" / "measured"
