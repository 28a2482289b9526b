"""References of two versions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from interloq import InputError, Reference, Sample, write
from interloq.compare.compare_file import compare_file
from interloq.compare.compare_options import CompareOptions, GateOptions
from interloq.compare.compared_references import references_read, share_references
from interloq.compare.gate.gate_file import bless_file, gate_file
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions

CHRF = CompareOptions(metrics=["chrf"], slice_by=[])
DIFFERENT = "have different references in 12 of 12 paired samples, for example '0', so chrf is not comparable"


def replies(system: str, *more: str) -> list[Sample]:
    """Replies that are the same for all systems, with further references."""
    return [Sample(str(i), [f"question {i}"], f"reply {i}", [f"answer {i}", *more], system) for i in range(12)]


@pytest.fixture
def files(folder: Path) -> Path:
    write("old.jsonl", replies("june"), kind="samples")
    write("new.jsonl", replies("july", "reply"), kind="samples")
    for name in ("old", "new"):
        score_file(f"{name}.jsonl", ["chrf", "length"], f"{name}_scores.jsonl", ScoreOptions(n_bootstrap=0))
    return folder


def test_versions_with_different_references_are_refused(files: Path) -> None:
    with pytest.raises(InputError, match=f"{DIFFERENT}; .*--shared-references"):
        compare_file("old.jsonl", "new.jsonl", CHRF)
    with pytest.raises(InputError, match=f"{DIFFERENT}; score both versions with the same references"):
        compare_file("old_scores.jsonl", "new_scores.jsonl", CHRF)
    with pytest.raises(InputError, match=DIFFERENT):
        gate_file("new.jsonl", GateOptions(metrics=["chrf"]), old="old.jsonl", margin=0.1)
    bless_file("old.jsonl", "baseline.jsonl", CHRF)
    with pytest.raises(InputError, match=f"baseline.jsonl and new.jsonl {DIFFERENT}; .* bless a new one"):
        gate_file("new.jsonl", baseline="baseline.jsonl", margin=0.1)


def test_metrics_that_read_no_references_are_compared(files: Path) -> None:
    for old, new in (("old.jsonl", "new.jsonl"), ("old_scores.jsonl", "new_scores.jsonl")):
        found = compare_file(old, new, replace(CHRF, metrics=["length"]))
        assert [change.metric for change in found.changes] == ["length"]
        assert not [note for note in found.notes if "references" in note]


def test_shared_references_are_used_if_asked(files: Path) -> None:
    found = compare_file("old.jsonl", "new.jsonl", replace(CHRF, shared_references=True))
    assert found.changes[0].difference == 0
    assert any("12 of 12 paired samples scored with fewer references" in note for note in found.notes)
    with pytest.raises(InputError, match="scores cannot be scored with shared references"):
        compare_file("old_scores.jsonl", "new_scores.jsonl", replace(CHRF, shared_references=True))
    with pytest.raises(InputError, match="bless without --shared-references"):
        bless_file("old.jsonl", "baseline.jsonl", replace(CHRF, shared_references=True))
    with pytest.raises(InputError, match="a baseline keeps scores"):
        gate_file("new.jsonl", GateOptions(shared_references=True), baseline="baseline.jsonl", margin=0.1)


def test_all_versions_share_the_references_that_each_has() -> None:
    versions = {"old": replies("a", "x", "y"), "new": replies("b", "y", "x"), "repeat 1": replies("c", "y", "z")[:10]}
    versions["new"][11] = replace(versions["new"][11], references=(Reference("answer 11", 0.5),))
    shared, (note,) = share_references(versions)
    texts = {name: [[r.text for r in sample.references] for sample in own] for name, own in shared.items()}
    assert [texts[name][0] for name in versions] == [["answer 0", "y"]] * 3
    assert [texts[name][10] for name in ("old", "new")] == [["answer 10", "x", "y"], ["answer 10", "y", "x"]]
    assert [texts[name][11] for name in ("old", "new")] == [[], []]  # the weights differ
    assert "11 of 12" in note


def test_what_cannot_be_checked_is_noted(files: Path) -> None:
    for name in ("old", "new"):
        header, *lines = (files / f"{name}_scores.jsonl").read_bytes().splitlines()
        plain = [{k: v for k, v in orjson.loads(line).items() if k != "sample"} for line in lines]
        (files / f"{name}_scores.jsonl").write_bytes(b"\n".join([header, *map(orjson.dumps, plain)]))
    noted = {
        metric: any(
            "it is unknown whether both versions were scored with the same references" in note
            for note in compare_file("old_scores.jsonl", "new_scores.jsonl", replace(CHRF, metrics=[metric])).notes
        )
        for metric in ("chrf", "length")
    }
    assert noted == {"chrf": True, "length": False}


def test_functions_may_read_references(files: Path) -> None:
    (files / "mine.py").write_text("def words(sample): return len(sample.references)\n")
    options = replace(CHRF, metrics=["mine.py:words"], trust=lambda _: None)
    assert any("reads them" in note for note in compare_file("old.jsonl", "new.jsonl", options).notes)
    assert references_read({"a": "chrf", "b": "mine"}) == {"a": True, "b": None}
