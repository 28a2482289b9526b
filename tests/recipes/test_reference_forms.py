from __future__ import annotations

import random
from pathlib import Path

import pytest
import reference_forms as recipe
from results import load_measured
from retrieval import SINGLE
from retrieval_forms import BM25, GLOVE

from interloq.vectors.glove.job import train
from interloq.vectors.glove.settings import Glove
from tests.made_relevance import TOPICS, said
from tests.recipes.test_reference_pool import write_all


def test_each_claim_is_that_of_a_row_of_the_papers() -> None:
    claims = list(recipe.claims())
    deciding = {(claim.item, claim.higher): claim.published for claim in claims if claim.decides}
    assert deciding[recipe.EVERY_FORM, BM25] == 0.083
    assert deciding[recipe.ONE_SIDE, GLOVE] == 0.032
    assert len(deciding) == 5
    assert all(claim.lower == (SINGLE,) for claim in claims if claim.item == recipe.EVERY_FORM)
    (encoder,) = recipe.encoder_claims()
    assert (encoder.item, encoder.published) == ("000/76", 0.018)


def test_the_findings_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, work = write_all(tmp_path / "data"), tmp_path / "work"
    drawn = random.Random(0)
    texts = [said(topic, drawn) for topic in TOPICS for _ in range(20)]
    train(texts, tmp_path / "glove", Glove(dimensions=8, epochs=2, min_count=1))
    arguments = ["--data", str(data), "--work", str(work), "--vectors", str(tmp_path / "glove"), "--resamples", "20"]
    assert recipe.main([*arguments, "--measured", str(tmp_path / "forms.json")]) == 0
    assert "GloVe: utterance over utterance and response" in capsys.readouterr().out
    findings = load_measured(tmp_path / "forms.json").findings
    assert len(findings) == len(list(recipe.claims()))


def test_missing_data_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert recipe.main(["--data", str(tmp_path), "--work", str(tmp_path), "--vectors", "glove"]) == 2
    assert capsys.readouterr().err.startswith("reference_forms: ")
