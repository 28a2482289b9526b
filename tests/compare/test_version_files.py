"""Versions from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import Dialogue, InputError, Rating, Sample, Score, Turn, write
from interloq.compare.compare_options import CompareOptions
from interloq.compare.match_versions import match_units
from interloq.compare.version_files import VersionReading, read_versions, score_all
from interloq.score.parse_metrics import choose
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from tests.made_chat_server import serving
from tests.made_dialogues import made_dialogues, write_dialogues
from tests.made_judge_server import JudgeServer


def replies(word: str, system: str = "") -> list[Sample]:
    return [Sample(str(i), [f"question {i}"], " ".join([word] * (i + 1)), ["a b"], system) for i in range(3)]


@pytest.fixture
def files(folder: Path) -> dict[str, str | Path]:
    write("old.jsonl", replies("a"), kind="samples")
    write("new.jsonl", replies("b"), kind="samples")
    return {"old": "old.jsonl", "new": "new.jsonl"}


def test_samples_of_both_versions_are_scored(files: dict[str, str | Path]) -> None:
    found = read_versions(files, VersionReading(CompareOptions(metrics=["length"])))
    assert [u.values["length"] for u in found.versions["new"].units] == [1, 2, 3]
    assert found.versions["old"].name == "old.jsonl"
    assert list(found.judges) == ["length"]


def test_without_a_metric_the_packaged_judge_compares_samples_and_dialogues(
    files: dict[str, str | Path], folder: Path
) -> None:
    questions = [Sample(str(i), ["What do you like to do at the weekend?"], "I like to read") for i in range(3)]
    for path in files.values():
        write(path, questions, kind="samples")
    found = read_versions(files, VersionReading()).versions["new"]
    assert found.metrics == ["judge(model='ready')"]
    assert all(-1 <= unit.values["judge(model='ready')"] <= 1 for unit in found.units)
    talk = [Turn("What do you like to do at the weekend?", "you"), Turn("I like to read", "bot")]
    for path in files.values():
        write(path, [Dialogue("1", talk, {"bot": "bot"})], kind="dialogues")
    assert read_versions(files, VersionReading()).versions["new"].metrics == ["judge(model='ready',aspect='dialogue')"]


def test_without_a_metric_samples_that_the_judge_cannot_score_are_refused(files: dict[str, str | Path]) -> None:
    german = [Sample("1", ["Was machst du gern, wenn du frei hast?"], "Ich lese gern ein Buch", system="bot")]
    for path in files.values():
        write(path, german, kind="samples")
    with pytest.raises(InputError, match=r"no metric to compare samples by; judge.*English only") as raised:
        read_versions(files, VersionReading())
    assert "-m chrf" in str(raised.value)


def test_score_files_are_joined_with_their_samples(files: dict[str, str | Path]) -> None:
    scored: dict[str, str | Path] = {side: f"{side}_scores.jsonl" for side in files}
    for side, path in files.items():
        score_file(path, ["length", "chrf"], scored[side], ScoreOptions(n_bootstrap=0))
    found = read_versions(scored, VersionReading(CompareOptions(metrics=["length"], samples=list(files.values()))))
    assert found.versions["new"].metrics == ["length"]
    assert found.versions["new"].units[0].text == "b"
    assert found.judges["chrf"].name.startswith("chrf")
    for reading, message in (
        (VersionReading(CompareOptions(metrics=["bleu"])), "no scores of 'bleu'; choose one of: length, chrf"),
        (VersionReading(CompareOptions(samples=["old.jsonl"] * 3)), "3 files of samples"),
    ):
        with pytest.raises(InputError, match=message):
            read_versions(scored, reading)


def test_two_systems_of_one_file(folder: Path) -> None:
    write("both.jsonl", [*replies("a", "june"), *replies("b", "july")], kind="samples")
    both: dict[str, str | Path] = {"old": "both.jsonl", "new": "both.jsonl"}
    systems = CompareOptions(metrics=["length"], old_system="june", new_system="july")
    found = read_versions(both, VersionReading(systems)).versions
    assert [(v.name, len(v.units)) for v in found.values()] == [("june", 3), ("july", 3)]
    for system, message in (("", "2 systems: july, june; choose one: --old-system"), ("x", "no system 'x'")):
        with pytest.raises(InputError, match=message):
            read_versions(both, VersionReading(CompareOptions(metrics=["length"], old_system=system)))
    write_dialogues(folder, *made_dialogues({"june": 0.0, "july": 0.0}, openings=2), name="both")
    found = read_versions(dict.fromkeys(both, "bothdialogues.jsonl"), VersionReading(systems)).versions
    assert [(v.unit, len(v.units)) for v in found.values()] == [("dialogue", 4), ("dialogue", 4)]
    assert not [unit for v in found.values() for unit in v.units if unit.reasons]


def test_dialogues_are_scored_and_their_partner_sets_compared(folder: Path) -> None:
    for name, bots in (("old", {"bot": "1"}), ("new", {"bot": "2"})):
        write_dialogues(folder, *made_dialogues({"bot": 0.0}, openings=2), name=name, bots=bots)
    files: dict[str, str | Path] = {side: f"{side}dialogues.jsonl" for side in ("old", "new")}
    found = read_versions(files, VersionReading(CompareOptions(metrics=["length"])))
    assert found.versions["old"].unit == "dialogue"
    assert found.origin["exchanges"] == "2"
    write_dialogues(folder, *made_dialogues({"bot": 0.0}, openings=2), name="new", partners="other")
    with pytest.raises(InputError, match="different partner sets"):
        read_versions(files, VersionReading(CompareOptions(metrics=["length"])))


def test_ratings_of_the_partner_are_not_used(folder: Path) -> None:
    turns = [Turn("hello there", "a"), Turn("hi", "b")]
    for side, partner in (("old", 1.0), ("new", 5.0)):
        ratings = [
            Rating(4.0, system="bot"),
            Rating(partner, system="partner"),
            Rating(partner, "", "fun", "", "", "partner"),
        ]
        write(
            f"{side}.jsonl",
            [Dialogue("d", turns, {"a": "bot", "b": "partner"}, ratings, occasion="o")],
            kind="dialogues",
        )
    options = CompareOptions(metrics=["length"], old_system="bot", new_system="bot")
    found = read_versions({"old": "old.jsonl", "new": "new.jsonl"}, VersionReading(options)).versions
    assert [unit.rating for version in found.values() for unit in version.units] == [4.0, 4.0]
    assert [version.other_aspects for version in found.values()] == [(), ()]


def test_other_files_are_refused(files: dict[str, str | Path]) -> None:
    write("scores.jsonl", [Score("1", "chrf", 1.0)], kind="scores")
    for wrong, message in (("scores.jsonl", "cannot compare files of samples and scores"), ("-", "not a pipe")):
        with pytest.raises(InputError, match=message):
            read_versions({**files, "new": wrong}, VersionReading(CompareOptions(metrics=["length"])))


def test_fields_to_slice_by_are_read(folder: Path) -> None:
    records = [{"id": "1", "response": "yes", "topic": "food"}, {"response": "no", "topic": ["not", "plain"]}]
    (folder / "old.jsonl").write_text("\n".join(map(json.dumps, records)))
    reading = VersionReading(CompareOptions(metrics=["length"], slice_by=["topic"]))
    found = read_versions({"new": "old.jsonl"}, reading).versions["new"]
    assert [unit.fields for unit in found.units] == [{"topic": "food"}, {}]


def test_metrics_are_fitted_to_both_versions() -> None:
    samples = {"old": replies("a", "x"), "new": replies("a", "x")}
    scores, judges, _ = score_all(samples, choose(["nist"])[0])
    assert [s.value for s in scores["old"]] == [s.value for s in scores["new"]]
    assert {s.system for s in scores["old"]} == {"x"}
    assert "fitted" in judges["nist"].parts


def test_a_metric_that_cannot_read_the_replies_is_noted(folder: Path) -> None:
    for side in ("old", "new"):
        samples = [Sample(str(i), [f"質問{i}"], f"はい、元気です{i}", ["元気です"]) for i in range(3)]
        write(folder / f"{side}.jsonl", samples, kind="samples")
    found = read_versions(
        {side: folder / f"{side}.jsonl" for side in ("old", "new")}, VersionReading(CompareOptions(metrics=["bleu"]))
    )
    assert [note for note in found.notes if "written without spaces" in note]


def test_whole_dialogues_are_judged_and_paired(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    for side in ("old", "new"):
        turns = [Turn("hi", "u"), Turn("hello", "b"), Turn("bye", "u")]
        dialogues = [Dialogue(f"{side}{i}", turns, {"b": "bot"}, occasion=f"topic {i}") for i in range(3)]
        write(f"{side}.jsonl", dialogues, kind="dialogues")
    files: dict[str, str | Path] = {side: f"{side}.jsonl" for side in ("old", "new")}
    with serving(JudgeServer()) as server:
        judge = f"llm_judge(model='m',endpoint='{server.url}',of='dialogue')"
        found = read_versions(files, VersionReading(CompareOptions(metrics=[judge, "length"])))
        for side, path in files.items():
            score_file(path, [judge], f"{side}_scores.jsonl", ScoreOptions(n_bootstrap=0))
    (version, other) = found.versions.values()
    assert version.unit == "dialogue"
    assert [list(unit.values.values()) for unit in version.units] == [[1, pytest.approx(4.15)]] * 3
    assert len(match_units(version, other).pairs) == 3
    scored: dict[str, str | Path] = {side: f"{side}_scores.jsonl" for side in files}
    again = read_versions(scored, VersionReading())
    assert [unit.id for unit in again.versions["new"].units] == ["new0", "new1", "new2"]
