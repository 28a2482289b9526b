"""The level of unrelated texts: how they are drawn, what is written, and the command that does it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.metrics.contextual.bertscore_baseline import draw, load_baseline, make_baseline, save_baseline
from interloq.metrics.contextual.token_matching import Idf, f_measure, match
from interloq.models.encoder import Encoder
from tests.made_encoder import small_bert


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(str(small_bert(tmp_path_factory.mktemp("bert"))), device="cpu", longest=512)


CORPUS = [f"text number {i} about {word}" for i in range(30) for word in ("tea", "trains", "rain and snow")]


def test_the_draw_depends_on_texts_and_seed_only() -> None:
    drawn = draw(CORPUS, 20, 0)
    assert len(set(drawn)) == 20
    assert drawn == draw([*CORPUS[::-1], *CORPUS, " ", ""], 20, 0), "neither order nor repeats count"
    assert drawn != draw(CORPUS, 20, 1)
    assert sorted(draw(CORPUS, 10**6, 0)) == sorted(CORPUS)
    assert drawn == draw(CORPUS, 30, 0)[:20], "more pairs keep those that were drawn"


@pytest.mark.parametrize("idf", [False, True])
def test_levels_are_means_over_drawn_pairs(encoder: Encoder, idf: bool) -> None:
    facts = make_baseline(CORPUS, encoder, pairs=40, idf=idf)
    drawn = draw(CORPUS, 80, 0)
    weights = Idf.of(drawn[1::2], encoder) if idf else None
    assert list(facts["layers"]) == ["0", "1", "2", "3"]
    for layer, levels in facts["layers"].items():
        alone = Encoder(str(encoder.folder), layer=int(layer), device="cpu", longest=512)
        found = match(alone, drawn, np.arange(80).reshape(-1, 2), idf=weights)
        expected = [found[:, 0].mean(), found[:, 1].mean(), f_measure(found[:, 0], found[:, 1]).mean()]
        assert [levels["p"], levels["r"], levels["f"]] == pytest.approx(expected, abs=1e-5)
    one = make_baseline(CORPUS, encoder, pairs=40, idf=idf, every_layer=False)
    assert one["layers"]["3"] == pytest.approx(facts["layers"]["3"], abs=1e-5)


def test_a_corpus_of_one_text_is_refused(encoder: Encoder) -> None:
    with pytest.raises(InputError, match="the corpus has 1 different text; a baseline needs two or more"):
        make_baseline(["yes", "yes ", ""], encoder)


def test_files_that_are_not_a_baseline_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no baseline file"):
        load_baseline(tmp_path / "none.json")
    (tmp_path / "cut.json").write_text('{"kind": "bert')
    with pytest.raises(InputError, match="not valid JSON"):
        load_baseline(tmp_path / "cut.json")
    for content in ("[]", "{}", '{"kind": "bertscore baseline", "schema": 99}'):
        (tmp_path / "baseline.json").write_text(content)
        with pytest.raises(InputError, match=r"is not a BERTScore baseline|expected a JSON object"):
            load_baseline(tmp_path)


def test_a_name_without_json_is_a_folder(tmp_path: Path, encoder: Encoder) -> None:
    facts = make_baseline(CORPUS, encoder, pairs=2)
    assert save_baseline(tmp_path / "a", facts) == tmp_path / "a" / "baseline.json"
    assert save_baseline(tmp_path / "b.json", facts) == tmp_path / "b.json"
    assert load_baseline(tmp_path / "a") == load_baseline(tmp_path / "b.json") == facts
