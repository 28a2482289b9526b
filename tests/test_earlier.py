"""Files and folders of version 0.1.0 with signatures as text: what they hold is still read, and unfinished jobs resume.

`golden/earlier` was made with the command line of that version (16 November 2026); `again.jsonl.part`,
`unfinished_vectors` and `unfinished_rater` (without its 240 kB of pieces) were left by runs that were killed. In
`failed.jsonl` (later that day) the failures of dialogues are still called `trouble`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from interloq import load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.signature import Signature

EARLIER = Path(__file__).parent / "golden" / "earlier"
RATER = "gru(model='rater')"
VECTORS = ["train", "vectors", "pairs.jsonl", "--dimensions", "4", "--epochs", "3", "--min-count", "1"]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def earlier(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EARLIER, folder, dirs_exist_ok=True)
    monkeypatch.setenv("INTERLOQ_CACHE", "off")


def printed(capsys: Captured, *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json", "--quiet"]) == 0
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def test_scores_are_reported_with_their_signatures() -> None:
    assert main(["report", "scores.jsonl", "--samples", "samples.jsonl", "-o", "report.html", "--quiet"]) == 0
    assert "|references:2|samples:" in Path("report.html").read_text()


def test_scores_of_dialogues_are_ranked(capsys: Captured) -> None:
    command = ["rank", "played_scores.jsonl", "--dialogues", "dialogues.jsonl", "-m", "length", "--higher-is-better"]
    (ranking,) = printed(capsys, *command, "--bootstrap", "10")["rankings"]
    assert {standing["system"] for standing in ranking["standings"]} == {"echo", "eliza"}
    assert ranking["signature"]["parts"]["partners"] == header("dialogues.jsonl")["partners"]


def test_failures_of_dialogues_are_read_and_written_with_their_new_name() -> None:
    dialogues = load("failed.jsonl", kind="dialogues", strict=True)
    assert {dialogue.failure for dialogue in dialogues} == {"bad: crashed: RuntimeError: no weights at turn 3"}
    write("now.jsonl", dialogues, kind="dialogues")
    assert '"trouble"' not in Path("now.jsonl").read_text()
    assert load("now.jsonl", kind="dialogues") == dialogues


def test_an_index_finds_what_it_found(capsys: Captured) -> None:
    printed(capsys, "extend", "samples.jsonl", "--index", "index", "-k", "2", "-o", "now.jsonl")
    assert load("now.jsonl") == load("extended.jsonl")


def test_a_rater_is_the_one_it_was(capsys: Captured) -> None:
    facts = printed(capsys, "rate", "extended.jsonl", "--rater", RATER, "-o", "now.jsonl")
    weights = [[r.weight for s in load(name) for r in s.references] for name in ("now.jsonl", "rated.jsonl")]
    assert weights[0] == pytest.approx(weights[1], abs=1e-6)
    was = Signature.from_json(header("rated.jsonl")["rated"][0]["signature"])
    assert was.is_text
    assert Signature.from_json(facts["signature"]).parts["model"] in str(was)


def test_a_pipeline_gives_the_scores_it_gave(capsys: Captured) -> None:
    metric = f"vbleu(index='index',rater={RATER},k=2)"
    results = printed(capsys, "score", "samples.jsonl", "-m", "bleu", "-m", metric, "--bootstrap", "10")["results"]
    before = header("scores.jsonl")["results"]
    assert [r["value"] for r in results] == pytest.approx([r["value"] for r in before], abs=1e-6)


def test_rated_samples_say_who_rated_them_before(capsys: Captured) -> None:
    assert main(["rate", "rated.jsonl", "--rater", RATER, "-o", "now.jsonl", "--quiet"]) == 0
    assert "replaced: the weights of gru(model=''" in capsys.readouterr().out
    assert len(header("now.jsonl")["rated"]) == 2


def test_a_partner_set_is_played_against_and_dialogues_are_added(capsys: Captured) -> None:
    run = ["play", "run", "--scheme", "bipartite", "--target", "eliza=eliza", "--target", "echo=echo"]
    facts = printed(capsys, *run, "--partners", "partners.json", "--limit", "3", "-o", "dialogues.jsonl")
    assert (facts["dialogues"], facts["resumed"]) == (12, 8)


def test_an_unfinished_rating_starts_over(capsys: Captured) -> None:
    facts = printed(capsys, "rate", "extended.jsonl", "--rater", RATER, "-o", "again.jsonl", "--batch", "1")
    assert facts["resumed"] == 0, "its batches were in again.jsonl.part"
    assert load("again.jsonl") == load("rated.jsonl")


def test_an_unfinished_training_of_a_rater_is_refused_with_what_to_do(capsys: Captured) -> None:
    small = ["--embedding", "8", "--hidden", "8", "--layers", "1", "--width", "8", "--vocabulary", "50"]
    command = ["train", "rater", "pairs.jsonl", *small, "--dev-share", ".2", "--epochs", "1", "--device", "cpu"]
    assert main([*command, "-o", "unfinished_rater", "--quiet"]) == 2
    message = capsys.readouterr().err
    assert "unfinished_rater contains an unfinished job of an earlier version; remove " in message
    shutil.rmtree("unfinished_rater")
    assert main([*command, "-o", "unfinished_rater", "--quiet"]) == 0


def test_an_unfinished_training_resumes(capsys: Captured) -> None:
    assert main([*VECTORS, "--tokenizer", "whitespace", "--threads", "1", "-o", "unfinished_vectors"]) == 0
    assert "resuming after epoch 2" in capsys.readouterr().err
    for name in ("learning_curve.json", "vectors.npy", "vectors.json"):
        assert Path("unfinished_vectors", name).read_bytes() == Path("vectors", name).read_bytes(), name
