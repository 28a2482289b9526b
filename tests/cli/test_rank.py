"""`interloq rank` and `interloq play audit`, as a user calls them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import Dialogue, Sample, write
from interloq.agree.dialogue_scores import dialogue_scores, means
from interloq.cli.main import main
from tests.cli.made_runs import LEVELS, run_audit, run_json
from tests.made_dialogues import made_dialogues, write_dialogues


def test_systems_are_ranked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialogues, scores = made_dialogues(LEVELS)
    paths = write_dialogues(folder, dialogues, scores)
    (ranking,) = run_json(capsys, "rank", paths[0], "--dialogues", paths[1])["rankings"]
    assert [s["system"] for s in ranking["standings"]] == ["high", "middle", "low"]
    assert [s["rank"] for s in ranking["standings"]] == [1, 2, 3]
    expected = means(dialogue_scores(scores, dialogues))
    assert {s["system"]: s["score"] for s in ranking["standings"]} == pytest.approx(expected)
    assert ranking["signature"]["parts"]["partners"] == "0123456789abcdef"


def test_the_table_says_ranks_ranges_and_doubts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialogues, scores = made_dialogues(LEVELS)
    dialogues[0] = replace(dialogues[0], failure="low: repeats itself at turn 5")
    lost = Dialogue("gone~p/opening-0/repeat-1", [], {"gone": "gone", "p": "p"}, failure="gone: crashed at turn 1")
    paths = write_dialogues(folder, [*dialogues, lost], scores)
    assert main(["rank", paths[0], "--dialogues", paths[1], "--bootstrap", "100"]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines()]
    assert ["high", "1", "1"] in [row[:3] for row in rows]
    assert ["gone", "–", "n/a", "0", "1", "1"] in rows
    assert any(line.startswith("high > low") for line in map(str.strip, shown.splitlines()))
    assert "note: gone: unscored, gone: crashed (1)" in shown
    assert "note: low: failure in a scored dialogue, low: repeats itself (1)" in shown


def test_metrics_without_a_better_end_are_left_out_and_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialogues, scores = made_dialogues(LEVELS)
    more = [replace(score, metric=name) for name in ("length", "distinct") for score in scores]
    path, talks = write_dialogues(folder, dialogues, [*scores, *more])[:2]
    found = run_json(capsys, "rank", path, "--dialogues", talks)
    assert [ranking["metric"] for ranking in found["rankings"]] == [scores[0].metric]
    assert list(found["unranked"]) == ["distinct", "length"]
    assert main(["rank", path, "--dialogues", talks]) == 0
    assert "not ranked by length: neither a high nor a low score is better" in capsys.readouterr().out
    assert len(run_json(capsys, "rank", path, "--dialogues", talks, "--lower-is-better")["rankings"]) == 2
    judged = [Sample(score.id, "hi", "so", system=score.system) for score in scores]
    write("judged.jsonl", judged, kind="samples")
    report = ["report", path, "--samples", "judged.jsonl", "--dialogues", talks, "-o", "r.html", "--bootstrap", "0"]
    assert "Systems are not ranked by some metrics." in run_json(capsys, *report)["warnings"]


def test_agreement_with_people_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "people.csv").write_text("system,judged\nlow,0.3\nmiddle,0.2\nhigh,0.8\n")
    paths = write_dialogues(folder, *made_dialogues(LEVELS))
    assert main(["rank", paths[0], "--dialogues", paths[1], "--human", "people.csv"]) == 0
    assert "agreement with people over 3 systems" in capsys.readouterr().out


def _two_files(folder: Path, **second: Any) -> list[str]:
    mine = write_dialogues(folder, *made_dialogues({"mine": 0}, openings=3), name="mine-")
    theirs = write_dialogues(folder, *made_dialogues({"theirs": 5}, openings=3), name="theirs-", **second)
    return ["rank", mine[0], theirs[0], "--dialogues", mine[1], "--dialogues", theirs[1]]


def test_two_files_of_one_partner_set_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ranking,) = run_json(capsys, *_two_files(folder))["rankings"]
    assert [s["system"] for s in ranking["standings"]] == ["theirs", "mine"]
    assert ranking["differences"][0]["shared"] > 0
    assert main(_two_files(folder, partners="ffff")) == 2
    assert "different partner sets: 0123456789abcdef and ffff" in capsys.readouterr().err


def test_a_report_compares_no_partner_sets_either(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where no dialogues are given: the headers of the scores are enough."""
    for name, partners in (("mine", "aaaa"), ("theirs", "ffff")):
        write(f"{name}.jsonl", made_dialogues({name: 0})[1], kind="scores", partners=partners)
    write("samples.jsonl", [Sample("1", [], "hi")], kind="samples")
    assert main(["report", "mine.jsonl", "theirs.jsonl", "--samples", "samples.jsonl", "-o", "r.html"]) == 2
    assert "mine.jsonl and theirs.jsonl come from different partner sets: aaaa and ffff" in capsys.readouterr().err
    assert not Path("r.html").exists()


def test_names_steer_no_terminal_and_are_no_markup(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files come from others: a name may hold what moves a cursor, or looks like markup."""
    names = ("[/b]", "[bold]b", "red\x1b[31m", "\u202eturned")
    parts = [made_dialogues({name: i}, [n for n in names if n != name], 2) for i, name in enumerate(names)]
    dialogues = [replace(d, failure="[/b]: odd \x1b[2J at turn 3") for part in parts for d in part[0]]
    paths = write_dialogues(folder, dialogues, [score for part in parts for score in part[1]])
    assert main(["rank", paths[0], "--dialogues", paths[1], "--bootstrap", "10"]) == 0
    run_audit(paths[0], "--dialogues", paths[1], "--unfavoured", "[/b]", "--alike", "red\x1b[31m")
    shown = capsys.readouterr().out
    assert "favoured minus [/b], with red\\x1b[31m" in shown
    assert "\\u202eturned" in shown
    assert r"odd \x1b[2J" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def test_survival_curves_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialogues, scores = made_dialogues({"low": 0.5, "high": 0.9})
    probable = [replace(score, value=0.9 if score.system == "high" else 0.5) for score in scores]
    paths = write_dialogues(folder, dialogues, probable)
    assert main(["rank", paths[0], "--dialogues", paths[1], "--survival", "--bootstrap", "20"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    turns = sum(score.id.startswith(dialogues[0].id + "#") for score in scores)
    expected = sum(0.5**t for t in range(1, turns + 1))
    assert ["low", f"{expected:.2f}", "0.500"] in [line[:3] for line in lines]  # all resamples are equal: no interval


# ---- preferences -----------------------------------------------------------------------------------------------------


def test_rank_by_preferences(preferred: None, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("preferences.jsonl", "plain.jsonl"):
        (found,) = run_json(capsys, "rank", name, "--method", "bradley-terry")
        assert [one["system"] for one in found["systems"]] == ["new", "old"]
    assert main(["rank", "preferences.jsonl", "--method", "bradley-terry"]) == 0
    assert "overall: 4 preferences of 4 raters on 4 items" in capsys.readouterr().out
    assert main(["rank", "preferences.jsonl"]) == 2
    assert main(["rank", "scores.jsonl"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "add --method bradley-terry" in first
    assert "no dialogues given" in second


def test_preferences_are_checked_and_converted(preferred: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "check", "preferences.jsonl"]) == 0
    assert "4 preferences in preferences.jsonl\nsystems: new 4, old 4" in capsys.readouterr().out
    assert main(["data", "convert", "plain.jsonl", "-o", "again.jsonl.gz"]) == 0
    assert main(["rank", "again.jsonl.gz", "--method", "bradley-terry"]) == 0
