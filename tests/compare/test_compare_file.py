"""Comparisons of files, by metrics and by a judge's preferences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError, Rating, Sample, SpecError, write
from interloq.compare.compare_file import compare_file, judge_versions
from interloq.compare.compare_options import CompareOptions, GateOptions
from interloq.compare.gate.gate_file import bless_file, gate_file
from interloq.compare.match_versions import Unit, Version
from interloq.score.score_file import score_file
from tests.made_chat_server import serving
from tests.made_dialogues import made_dialogues, write_dialogues
from tests.made_judge_server import JudgeServer


def test_samples_with_ratings(folder: Path) -> None:
    for name, words, value in (("old", 1, 2), ("new", 3, 4)):
        samples = [
            Sample(
                f"{i}/{name}", [f"question {i}"], "word " * (words + i % 2), system=name, ratings=[Rating(value, "a")]
            )
            for i in range(12)
        ]
        write(f"{name}.jsonl", samples, kind="samples")
    found = compare_file("old.jsonl", "new.jsonl", CompareOptions(metrics=["length"], lower_is_better=False))
    assert (found.old, found.new, found.pairing) == ("old", "new", "context")
    assert found.changes[0].difference == 2
    assert [(h.which, h.value) for h in found.people] == [("old", 2), ("new", 4), ("difference", 2)]
    assert not [note for note in found.notes if "--aspect" in note]
    with pytest.raises(InputError, match="no ratings of aspect 'wit'"):
        compare_file("old.jsonl", "new.jsonl", CompareOptions(metrics=["length"], aspect="wit"))


def test_scores_of_played_dialogues_are_compared_by_dialogue(folder: Path) -> None:
    for name, level in (("old", 0.0), ("new", 2.0)):
        write_dialogues(folder, *made_dialogues({name: level}, openings=8, seed=len(name) + int(level)), name=name)
    found = compare_file(
        "oldscores.jsonl", "newscores.jsonl", CompareOptions(slice_by=["partner"], lower_is_better=False)
    )
    assert (found.unit, found.pairing) == ("dialogue", "occasion")
    assert found.changes[0].verdict == "better"
    assert found.changes[0].clusters == 16


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    pytest.importorskip("httpx")
    monkeypatch.setenv("INTERLOQ_CACHE", str(folder / "cache"))
    for name, words in (("old", 1), ("new", 3)):
        samples = [Sample(str(i), [f"question {i}", "well ?"], "word " * (words + i % 3)) for i in range(12)]
        write(f"{name}.jsonl", [*samples, Sample(f"only {name}", [name], "x")], kind="samples")
    with serving(JudgeServer()) as made:
        yield made


def judge(server: JudgeServer) -> str:
    return f"llm_judge(model='m',endpoint='{server.url}',retries=0)"


def test_the_share_of_wins_is_a_metric(server: JudgeServer) -> None:
    found = compare_file("old.jsonl", "new.jsonl", CompareOptions(judge=judge(server), slice_by=[]))
    preference, length = found.changes
    assert preference.metric.startswith("preference=llm_judge(model='m'")
    assert (preference.old.value, preference.new.value, preference.difference) == (0, 1, 1)
    assert (preference.verdict, preference.old.n, length.metric) == ("better", 12, "length")
    flips = "preference: flip rate 0.00: winners that change with the order of the replies, of 12 pairs; "
    assert any(note.startswith(flips) for note in found.notes)
    assert found.unscored[preference.metric] == {"old": 1, "new": 1}
    assert "prompt-" in found.signature.parts["judge"]
    assert len(server.seen) == 24


def test_a_turn_of_several_lines_is_one_turn(server: JudgeServer) -> None:
    for name, words in (("old", 1), ("new", 3)):
        contexts = [[f"first line\nsecond line {i}", "well ?"] for i in range(2)]
        samples = [Sample(str(i), c, "word " * (words + i), references=["word"]) for i, c in enumerate(contexts)]
        write(f"{name}.jsonl", samples, kind="samples")
    bless_file("old.jsonl", "baseline.jsonl", CompareOptions(metrics=["chrf"], slice_by=[]))
    options = GateOptions(judge=judge(server), slice_by=[])
    gate_file("new.jsonl", options, baseline="baseline.jsonl", margin=0.1)
    prompts = [body["messages"][0]["content"] for body in server.bodies]
    assert prompts
    assert all(r"first line\nsecond line" in prompt for prompt in prompts)


def test_a_judge_that_likes_a_position_prefers_no_version(server: JudgeServer) -> None:
    server.first = True
    found = compare_file("old.jsonl", "new.jsonl", CompareOptions(judge=judge(server), metrics=["length"], slice_by=[]))
    assert (found.changes[0].difference, found.changes[0].old.value) == (0, 0.5)
    assert any("flip rate 1.00" in note for note in found.notes)


def test_score_files_need_their_samples(server: JudgeServer) -> None:
    for name in ("old", "new"):
        score_file(f"{name}.jsonl", ["length"], f"{name}_scores.jsonl")
    files = "old_scores.jsonl", "new_scores.jsonl"
    with pytest.raises(InputError, match="no replies to compare; give the scored samples with --samples"):
        compare_file(*files, CompareOptions(judge=judge(server)))
    found = compare_file(*files, CompareOptions(judge=judge(server), samples=["old.jsonl", "new.jsonl"], slice_by=[]))
    assert found.changes[0].difference == 1


def test_what_a_judge_cannot_compare(server: JudgeServer) -> None:
    with pytest.raises(SpecError, match="length cannot compare replies; write llm_judge"):
        compare_file("old.jsonl", "new.jsonl", CompareOptions(judge="length"))
    with pytest.raises(InputError, match="would also apply to the judge's preferences"):
        compare_file("old.jsonl", "new.jsonl", CompareOptions(judge=judge(server), lower_is_better=True))
    units = [Unit("1", {}, {"id": "1"}, prompt=prompt, text="x", dialogue="d") for prompt in ("a", "b")]
    old, new = (Version(unit.prompt, "sample", (unit,)) for unit in units)
    with pytest.raises(InputError, match="no two replies to the same context"):
        judge_versions(old, new, judge(server))
    with pytest.raises(InputError, match="replies, not dialogues"):
        judge_versions(Version("a", "dialogue", ()), new, judge(server))
    assert judge_versions(old, new, "").old is old
    assert server.seen == []


def test_gates_by_preferences(server: JudgeServer) -> None:
    options = GateOptions(judge=judge(server), slice_by=[])
    with pytest.raises(InputError, match="the test sets differ: 12 samples in both"):
        gate_file("new.jsonl", options, old="old.jsonl", margin=0.1)
    assert server.seen == []
    paired = replace(options, allow_unpaired=True)
    found = gate_file("new.jsonl", paired, old="old.jsonl", margin=0.1)
    assert (found.outcome, [v.gain for v in found.verdicts]) == ("pass", [1.0])  # length is shown, not gated
    assert gate_file("old.jsonl", paired, old="new.jsonl", margin=0.1).outcome == "regression"
    server.first = True
    again = replace(paired, judge=judge(server).replace("'m'", "'other'"))
    (verdict,) = gate_file("new.jsonl", again, old="old.jsonl", margin=0.1).verdicts
    assert verdict.outcome == "undecided"
    assert "has the score 0.5" in verdict.reason
    with pytest.raises(InputError, match="bless without --judge"):
        bless_file("old.jsonl", "baseline.jsonl", options)


def test_a_gate_refuses_pairs_without_a_judgment(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.metrics.llm_judge.rubrics.LEAST", 1.1)
    options = GateOptions(judge=judge(server), slice_by=[], allow_unpaired=True)
    with pytest.raises(InputError, match=r"left 12 samples of the new version unscored, for example '0'"):
        gate_file("new.jsonl", options, old="old.jsonl", margin=0.1)
