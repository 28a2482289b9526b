"""Notes, own replies and systems left out, from the command line to files and the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interloq import Rating, Sample, write
from interloq.cli.main import main
from interloq.data.jsonl import header

Captured = pytest.CaptureFixture[str]
SCORE = ["score", "samples.jsonl", "-m", "chrf", "--bootstrap", "0", "-o", "scores.jsonl"]
WORDS = [
    "We went home early",
    "No, I did not like it",
    "It was a fine day",
    "Tell me more about it",
    "They left again",
]


@pytest.fixture
def samples(folder: Path) -> Path:
    """Three systems on five contexts; `human` wrote what stands among the references."""
    replies = {"human": WORDS, "bot": WORDS[::-1], "odd": [word[::-1] for word in WORDS]}
    made = [
        Sample(f"c{i}", [f"What about {i}?"], reply, [WORDS[i]], system, [Rating(5 - i % 3, "x"), Rating(4, "y")])
        for system, each in replies.items()
        for i, reply in enumerate(each)
    ]
    write("samples.jsonl", made, kind="samples")
    return folder


def printed(capsys: Captured, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == code
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def test_notes_are_printed_and_kept(samples: Path, capsys: Captured) -> None:
    assert main(SCORE) == 0
    said = capsys.readouterr().out
    assert "note: 6 of 15 replies (human 5, bot 1) stand among their own references" in said
    (note,) = header("scores.jsonl")["notes"]
    assert (note["name"], note["count"], note["of"]) == ("own references", 6, 15)
    assert note["by_system"] == [["bot", 1], ["human", 5]]


def test_own_replies_are_dropped_and_the_signature_says_so(samples: Path, capsys: Captured) -> None:
    before = printed(capsys, *SCORE)
    after = printed(capsys, *SCORE, "--drop-own-replies")
    values = {result["system"]: result for result in after["results"]}
    assert (values["human"]["n"], values["human"]["unscored"], values["bot"]["n"]) == (0, 5, 4)
    assert values[""]["signature"]["parts"]["own-replies"] == "dropped"
    assert "own-replies" not in before["results"][0]["signature"]["parts"]
    assert [note["name"] for note in after["notes"]] == ["own replies dropped"]
    scores = [json.loads(line) for line in Path("scores.jsonl").read_text().splitlines()[1:]]
    assert {s["reason"] for s in scores if s.get("value") is None} == {"no references"}


def test_a_system_is_left_out(samples: Path, capsys: Captured) -> None:
    facts = printed(capsys, *SCORE, "--without-system", "human")
    assert [result["system"] for result in facts["results"]] == ["", "bot", "odd"]
    assert facts["results"][0]["signature"]["parts"]["without"] == "human"
    assert main([*SCORE, "--without-system", "humans"]) == 2
    assert "no sample is of system 'humans'; did you mean 'human'?" in capsys.readouterr().err


def test_meta_counts_own_replies_and_leaves_a_system_out(samples: Path, capsys: Captured) -> None:
    assert main(SCORE) == 0
    capsys.readouterr()
    meta = ["meta", "scores.jsonl", "--samples", "samples.jsonl", "--bootstrap", "0", "--permutations", "0"]
    whole = printed(capsys, *meta)
    assert any(note.startswith("6 of 15 replies (human 5, bot 1) stand among") for note in whole["notes"])
    left = printed(capsys, *meta, "--without-system", "human")
    assert (whole["counted"]["samples"], left["counted"]["samples"]) == (15, 10)
    assert "5 of 15 replies (human 5) are left out, as asked" in left["notes"]
    assert not any("scores" in note for note in left["notes"])  # those of human are not taken for strays
    assert left["signature"]["parts"]["without"] == "human"


def test_the_report_shows_the_notes_of_the_score_file(samples: Path, capsys: Captured) -> None:
    report = ["report", "scores.jsonl", "--samples", "samples.jsonl", "-o", "r.html", "--bootstrap", "0"]
    assert main([*SCORE, "--drop-own-replies"]) == 0
    capsys.readouterr()
    warnings = printed(capsys, *report)["warnings"]
    assert any("were dropped from them; 6 have no other reference" in warning for warning in warnings)
    lines = Path("scores.jsonl").read_text().splitlines()
    older = {name: value for name, value in json.loads(lines[0]).items() if name != "notes"}
    Path("scores.jsonl").write_text("\n".join([json.dumps(older), *lines[1:]]) + "\n")
    warnings = printed(capsys, *report)["warnings"]
    assert any("stand among their own references" in warning for warning in warnings)


def test_data_check_notes_without_scoring(samples: Path, capsys: Captured) -> None:
    assert main(["data", "check", "samples.jsonl"]) == 0
    said = capsys.readouterr().out
    assert "stand among their own references" in said
    assert "fewer than" not in said
    facts = printed(capsys, "data", "check", "samples.jsonl", "-m", "bleu(order=5)")
    assert [note["name"] for note in facts["notes"]] == ["own references", "length"]
    assert facts["notes"][1]["metric"] == "bleu(order=5)"
    assert main(["data", "check", "samples.jsonl", "-m", "blue"]) == 2
