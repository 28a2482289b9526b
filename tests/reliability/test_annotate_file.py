from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Sample, load, write
from interloq.data.records.jsonl import header
from interloq.records import Pair
from interloq.reliability.annotate_file import annotation
from interloq.reliability.reliability_options import AnnotateOptions, CandidateOptions
from tests.reliability.made_predictor import MadePredictor, use

LOG = CandidateOptions(log=["pairs.jsonl"])
GIVEN = [
    Sample("s0", ["do you want tea ?"], "yes", ["tea"], "a"),
    Sample("s0", ["do you want tea ?"], "no", ["tea"], "b"),
    Sample("s0", ["do you want tea ?"], "no", ["pot"], "c"),
    Sample("s1", [" "], "no", ["pot"]),
]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, folder: Path) -> MadePredictor:
    write("pairs.jsonl", [Pair("p1", "do you like tea", "milk"), Pair("p2", "you like tea", "cup")], kind="pairs")
    write("samples.jsonl", GIVEN, kind="samples", dataset="made")
    return use(monkeypatch)


def test_samples_of_one_query_are_annotated_together(made: MadePredictor) -> None:
    with annotation("samples.jsonl", "record", LOG, AnnotateOptions(model="model")) as one:
        assert list(one.session.states) == ["s0", "s0 (c)", "s1"]
        one.session.keep()
        one.session.edit("a nice cup")
        one.session.keep()
        facts = one.write("out.jsonl")
    assert facts["counts"] == {
        "samples": 4, "queries": 3, "finished": 2, "steps": 3, "added": 2, "edited": 1,
    }  # fmt: skip
    added = [[(r.text, r.source) for r in s.references[1:]] for s in load("out.jsonl")]
    both = [("milk", "retrieved:p1"), ("a nice cup", "human")]
    assert added == [both, both, [], []]
    found = header("out.jsonl")
    assert found["dataset"] == "made"
    assert found["annotated"][0]["signature"]["parts"]["model"] == "reliability-made"


def test_the_next_session_resumes(made: MadePredictor) -> None:
    with annotation("samples.jsonl", "record", LOG, AnnotateOptions(model="model")) as one:
        one.session.keep()
    with annotation("samples.jsonl", "record", LOG, AnnotateOptions(model="model")) as two:
        assert two.session.steps == one.session.steps
        assert two.counts()["added"] == 1


def test_the_record_is_not_an_input(made: MadePredictor) -> None:
    with (
        pytest.raises(InputError, match=r"pairs\.jsonl"),
        annotation("samples.jsonl", "pairs.jsonl", LOG, AnnotateOptions(model="model")),
    ):
        pass
