"""Counts of a rating."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from interloq import InputError, Rating, Reference, Sample, create, evaluate, write
from interloq.cli.main import main
from interloq.rate.human import Human
from interloq.rate.rater import Rater
from interloq.rate.summary import WEAK, folder_warning, summary, warning, warnings_of
from interloq.records import Pair
from interloq.retrieve.index import index_files
from interloq.retrieve.retrieve_options import IndexOptions
from tests.made_rater import small_rater

GOLD, FOUND, BAD = Reference("a", 0.5), Reference("b", 1.0, "retrieved:1"), Reference("c", -1.0, "retrieved:2")


def test_weights_are_counted_by_source() -> None:
    given = [Sample("1", (), "x", [GOLD, FOUND, BAD]), Sample("2", (), "x", [BAD]), Sample("3", (), "x")]
    facts = summary(given, Rater())
    assert (facts["samples"], facts["without_references"], facts["without_gold"]) == (3, 1, 2)
    assert (facts["without_positive"], facts["references"]) == (1, 4)
    retrieved = facts["sources"]["retrieved"]
    assert (retrieved["references"], retrieved["judged"]) == (3, 3)
    assert (retrieved["mean"], retrieved["positive"]) == (pytest.approx(-1 / 3), pytest.approx(1 / 3))


def test_ratings_of_other_samples_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "r.jsonl", [Rating(4, "x", item="1/0")], kind="ratings")
    rater = Human(str(tmp_path / "r.jsonl"))
    facts = summary(rater.rate([Sample("1", (), "x", [GOLD, FOUND])]), rater)
    assert facts["sources"]["retrieved"] == {"references": 1, "judged": 0, "mean": None, "positive": None}
    with pytest.raises(InputError, match="'9/0'"):
        summary(rater.rate([Sample("9", (), "x", [GOLD])]), rater)


GRU = "gru(model='rater')"


@dataclass(frozen=True)
class Figures:
    """The losses in a folder's calibration.json."""

    nll: float
    scaled: float

    def write(self, folder: str) -> str:
        Path(folder).mkdir(exist_ok=True)
        Path(folder, "calibration.json").write_text(json.dumps({"nll": self.nll, "scaled": {"nll": self.scaled}}))
        return folder


@pytest.mark.parametrize(("loss", "weak"), [(0.570, True), (0.514, True), (0.268, False), (WEAK, False), (0.8, True)])
def test_raters_with_measured_figures_are_on_the_right_side(loss: float, weak: bool) -> None:
    assert bool(warning(loss)) == weak
    assert not weak or f"its dev loss is {loss:.3f}; random guessing has 0.693" in warning(loss)


def test_the_loss_is_that_of_the_probabilities_that_are_used(folder: Path) -> None:
    Figures(0.6, 0.4).write("rater")
    assert warnings_of(create(GRU))
    assert not warnings_of(create("gru(model='rater',calibrated=True)"))
    assert not warnings_of(create("by(relevance(model='rater'))"))
    Figures(0.6, 0.5).write("rater")
    assert warnings_of(create("by(relevance(model='rater'))")) == [warning(0.5)]
    twice = f"vbleu(index='i',rater=ensemble({GRU},by(relevance(model='rater'))))"
    assert warnings_of(create(f"ruber({twice},length)")) == [warning(0.6), warning(0.5)]


def test_no_figures_no_warning_and_damaged_ones_are_refused(folder: Path) -> None:
    assert folder_warning("none", scaled=False) == folder_warning("", scaled=True) == ""
    Figures(0.6, 0.6).write(".")
    assert folder_warning("", scaled=True) == ""  # not the working directory
    Figures(0.6, 0.6).write("rater")
    Path("rater/calibration.json").write_text('{"nll": "?"}')
    for scaled in (False, True):
        with pytest.raises(InputError, match="rater: the saved files are damaged"):
            folder_warning("rater", scaled=scaled)
    assert warnings_of(create("human(ratings='none.jsonl')")) == warnings_of(create("bleu")) == []


def test_rate_and_score_print_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_rater(folder, utterances=20)
    index_files([_log()], "index", IndexOptions(retriever="bm25"))
    write("samples.jsonl", [Sample("1", ["i like tea"], "me too", ["the tea"], "a")], kind="samples")
    figure = json.loads(Path("rater/calibration.json").read_text())["nll"]
    rate = ["rate", "samples.jsonl", "-r", GRU, "-o", "rated.jsonl", "--quiet"]
    score = ["score", "samples.jsonl", "-m", f"vbleu(index='index',rater={GRU})", "--bootstrap", "0", "--quiet"]
    for command in (rate, score):
        assert main(command) == 0
        assert f"note: {warning(figure)}\n" in capsys.readouterr().out
    assert main([*rate, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [warning(figure)]
    (note,) = evaluate(score[3], [Sample("1", ["i like tea"], "me too", ["the tea"], "a")], n_bootstrap=0).notes
    assert (note.name, note.text, note.by_system) == ("rater", warning(figure), (("a", 1),))
    Figures(0.3, 0.3).write("rater")
    for command in (rate, score):
        assert main(command) == 0
        assert "note: the rater" not in capsys.readouterr().out


def _log() -> str:
    write("log.jsonl", [Pair(f"p{i}", f"i like tea {i}", f"the tea {i}") for i in range(9)], kind="pairs")
    return "log.jsonl"


@pytest.mark.parametrize(("rating", "warned"), [(5, True), (1, False)])
def test_a_rater_that_trusts_the_utterance_itself_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str], rating: int, warned: bool
) -> None:
    references = [
        Reference("Great!"),
        Reference("How was it?", source="parrot"),
        Reference("Bad.", source="retrieved:p7"),
    ]
    write("samples.jsonl", [Sample("1", ["How was it?"], "Good.", references)], kind="samples")
    ratings = [Rating(rating, "anna", item="1/1"), Rating(3, "anna", item="1/2"), Rating(1, "anna", item="1/0")]
    write("few.jsonl", [*ratings, Rating(5, "ben", item="1/0")], kind="ratings")
    assert main(["rate", "samples.jsonl", "-o", "rated.jsonl", "--rater", "human(ratings='few.jsonl')"]) == 0
    assert ("gives the utterance itself a mean weight of 1.00" in capsys.readouterr().out) == warned
