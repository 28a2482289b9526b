"""Next-sentence prediction against transformers."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from interloq import InputError, evaluate
from interloq.metrics.trained.nsp import Nsp
from interloq.models.nsp import NextSentence
from tests.made_lm import REPLIES, chat, literal, tiny_bert
from tests.made_network import watch_network


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"))


def test_scores_are_those_of_transformers(bert: Path) -> None:
    found = list(evaluate(Nsp(str(bert)), chat()).by_sample.values())
    assert found == pytest.approx([literal(bert, "how was it ?", reply) for reply in REPLIES], abs=1e-5)
    assert len({round(score, 6) for score in found}) == len(found)


def test_a_pair_is_read_once(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = NextSentence(str(bert), device="cpu")
    network = watch_network(model._model, monkeypatch)
    found = model.scores(["how", "how", "how"], ["day", "no", "day"])
    assert sum(network.rows) == 2
    assert found[0] == found[2] != found[1]
    assert model.scores([], []).shape == (0,)


def test_a_batch_without_room_is_cut_in_two(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = NextSentence(str(bert), device="cpu")
    expected = model.scores(["how"] * len(REPLIES), REPLIES)
    network = watch_network(model._model, monkeypatch, most=1)
    assert model.scores(["how"] * len(REPLIES), REPLIES) == pytest.approx(expected, abs=1e-6)
    network.most = 0
    with pytest.raises(InputError, match="not enough memory for one pair of texts"):
        model.scores(["how"], ["day"])


def test_a_pooler_that_is_not_in_the_file_is_refused(bert: Path, tmp_path: Path) -> None:
    """The head reads the pooler, so a random pooler would be as bad as a random head."""
    folder = tiny_bert(tmp_path)
    weights = load_file(folder / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if "pooler" not in name}
    assert len(kept) < len(weights)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"no weights for 'bert\.pooler"):
        evaluate(Nsp(str(folder)), chat())
