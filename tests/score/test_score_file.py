"""Scoring a file of samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq import Dialogue, InputError, Rating, Sample, Turn, load, write
from interloq.agree.dialogue_scores import dialogue_scores
from interloq.cli.main import main
from interloq.data.records.jsonl import Rejected
from interloq.data.records.read_options import ReadOptions
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from tests.made_chat_server import serving
from tests.made_judge_server import JudgeServer
from tests.reliability.made_predictor import use

SETS: list[list[str]] = [["tea"], ["a cup of tea", "milk"], []]


def test_bad_lines_go_to_the_caller_or_stop(files: Path) -> None:
    with Path("samples.jsonl").open("a") as file:
        file.write("{\n")
    rejected: list[Rejected] = []
    scored = score_file("samples.jsonl", ["length"], reading=ReadOptions(on_reject=rejected.append))
    assert scored.results[0][""].n == 4
    assert [(bad.path, bad.where) for bad in rejected] == [("samples.jsonl", "samples.jsonl:6")]
    with pytest.raises(InputError, match="not valid JSON"):
        score_file("samples.jsonl", ["length"], reading=ReadOptions(strict=True))


def test_a_file_of_dialogues(folder: Path) -> None:
    said = zip("ububu", ("how are you ?", "fine , you ?", "well", "good", "bye"), strict=True)
    turns = [Turn(text, who) for who, text in said]
    dialogues = [Dialogue(f"d{i}", turns[: 5 - i], {"b": "bot"}, ratings=[Rating(4.0)]) for i in range(3)]
    write("dialogues.jsonl", [*dialogues, Dialogue("d4", turns[:1], {"u": "other"})], kind="dialogues")
    with serving(JudgeServer()) as server:
        judge = f"J=llm_judge(model='m',endpoint='{server.url}',of='dialogue')"
        scored = score_file("dialogues.jsonl", [judge, "length"], "scores.jsonl", ScoreOptions(without=["other"]))
    whole, replies = scored.results
    assert (whole[""].n, replies[""].n) == (3, 5)
    assert sorted(id for id, _ in replies[""].by_sample) == ["d0#1", "d0#3", "d1#1", "d1#3", "d2#1"]
    assert list(whole[""].by_sample) == [(f"d{i}", "bot") for i in range(3)]
    scores = load("scores.jsonl", kind="scores")
    rows = dialogue_scores(scores, dialogues, metric=scores[0].metric)
    assert [(row.dialogue, row.system, row.utterances) for row in rows] == [(f"d{i}", "bot", 1) for i in range(3)]
    assert rows[0].value == pytest.approx(4.15)


def test_a_judge_of_dialogues_leaves_samples_to_the_other_metrics(files: Path) -> None:
    judge = "llm_judge(model='m',endpoint='http://localhost:9/v1',of='dialogue')"
    for metrics in ([judge, "length"], ["length", judge]):
        found = {by_system[""].metric: by_system[""] for by_system in score_file("samples.jsonl", metrics).results}
        assert (found["length"].n, found[judge].n, found[judge].unscored) == (4, 0, 4)


def test_bad_lines_of_each_file_are_counted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, metric in (("a.jsonl", "length"), ("b.jsonl", "bleu")):
        score_file("samples.jsonl", [metric], name)
        with Path(name).open("a") as file:
            file.write("{\n")
    assert main(["meta", "a.jsonl", "b.jsonl", "--samples", "samples.jsonl", "--bootstrap", "0", "--no-compare"]) == 1
    said = capsys.readouterr().err
    assert "1 bad line of a.jsonl not used" in said
    assert "1 bad line of b.jsonl not used" in said


def test_samples_with_weak_references_are_left_unscored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    given = [Sample(f"s{i}", ["tea ?"], "a cup of tea", references) for i, references in enumerate(SETS)]
    write("samples.jsonl", given, kind="samples")
    scored = score_file(
        "samples.jsonl", ["bleu_star"], "scores.jsonl", ScoreOptions(reliability="model", min_reliability=0.15)
    )
    (result,) = (by_system[""] for by_system in scored.results)
    assert (result.n, result.unscored) == (1, 2)
    assert result.reasons == {
        ("s0", ""): "references too weak: predicted reliability below 0.15",
        ("s2", ""): "no references",
    }
    assert result.signature.parts["reliability"] == "reliability-made"
    assert result.signature.parts["min-reliability"] == "0.15"
    assert scored.notes[0].text == "reliability: made up"
    assert [score.reason for score in load("scores.jsonl", kind="scores")] == [
        "references too weak: predicted reliability below 0.15", "", "no references",
    ]  # fmt: skip
    (every,) = (by_system[""] for by_system in score_file("samples.jsonl", ["bleu_star"]).results)
    assert every.n == 2
    assert every.by_sample["s1", ""] == result.by_sample["s1", ""]


@pytest.mark.parametrize("given", [{"reliability": "model"}, {"min_reliability": 0.1}])
def test_a_minimum_reliability_needs_a_network(files: Path, given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="a minimum reliability needs a network"):
        ScoreOptions(**given)


def test_scores_name_the_dialogue_of_their_sample(tmp_path: Path) -> None:
    talk = [Sample("b", ["hi", "yes", "so ?"], "no"), Sample("a", ["hi"], "yes"), Sample("c", ["x"], "y", dialogue="d")]
    write(tmp_path / "samples.jsonl", talk, kind="samples")
    score_file(tmp_path / "samples.jsonl", ["length"], tmp_path / "scores.jsonl", ScoreOptions(n_bootstrap=0))
    found = load(tmp_path / "scores.jsonl", kind="scores")
    assert [(score.id, score.dialogue) for score in found] == [("a", "a"), ("b", "a"), ("c", "d")]
