"""Rows of several texts against a literal loop and transformers, and encoders of several kinds that read them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.models.cross_encoder import CrossEncoder, cut_lengths, join_rows, row_outputs, rows
from interloq.models.pretrained import Subwords
from interloq.models.token_rows import TokenRows
from tests.made_bert import tiny_bert
from tests.made_lm import tiny_lm
from tests.made_relevance import tiny_encoder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def subwords(encoder: Path) -> Subwords:
    return Subwords(encoder)


class Special:
    pad, start, end = 90, 91, 92


def literal(tokens: list[list[list[int]]]) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """ids, mask and kinds, one token after another."""
    made = []
    for texts in tokens:
        row, kinds = [Special.start], [0]
        for place, text in enumerate(texts):
            row += [*text, Special.end]
            kinds += [min(place, 1)] * (len(text) + 1)
        made.append((row, kinds))
    width = max(len(row) for row, _ in made)
    return (
        [row + [Special.pad] * (width - len(row)) for row, _ in made],
        [[1] * len(row) + [0] * (width - len(row)) for row, _ in made],
        [kinds + [0] * (width - len(row)) for row, kinds in made],
    )


def as_lists(found: TokenRows) -> tuple[Any, Any, Any]:
    return found.ids.tolist(), found.mask.tolist(), found.kinds.tolist()


TEXT = st.lists(st.integers(0, 80), min_size=1, max_size=9)


@given(tokens=st.integers(1, 4).flatmap(lambda k: st.lists(st.lists(TEXT, min_size=k, max_size=k), min_size=1)))
def test_rows_are_those_of_a_loop(tokens: list[list[list[int]]]) -> None:
    arrays = [[np.array(text, dtype=np.int32) for text in texts] for texts in tokens]
    assert as_lists(rows(arrays, Special)) == literal(tokens)  # type: ignore[arg-type]


@given(texts=st.lists(TEXT, min_size=1, max_size=8), limit=st.integers(7, 40), data=st.data())
def test_long_rows_are_cut_to_the_greatest_length_that_fits(
    texts: list[list[int]], limit: int, data: st.DataObject
) -> None:
    named = data.draw(st.lists(st.tuples(*[st.integers(0, len(texts) - 1)] * 3), min_size=1))
    ends = np.cumsum([0, *map(len, texts)])
    held = Texts(np.array([n for text in texts for n in text], dtype=np.uint16), ends)
    chosen = [[texts[i] for i in row] for row in named]
    cut = []
    for row in chosen:
        length = max(map(len, row))
        while 4 + sum(len(text[:length]) for text in row) > limit:
            length -= 1
        cut.append([text[:length] for text in row])
    found = join_rows(held, np.array(named), Special, limit=limit)  # type: ignore[arg-type]
    assert as_lists(found) == literal(cut)
    assert found.ids.shape[1] <= limit


def test_texts_that_cannot_fit_are_refused_and_no_rows_are_none(subwords: Subwords) -> None:
    lengths: NDArray[np.int64] = np.array([[5, 5, 5]])
    assert cut_lengths(lengths, 7).tolist() == [[1, 1, 1]]
    with pytest.raises(InputError, match="3 texts do not fit in 6 tokens"):
        cut_lengths(lengths, 6)
    assert rows([], subwords).ids.shape == (0, 1)


def test_two_texts_are_put_together_as_the_tokenizer_does(encoder: Path, subwords: Subwords) -> None:
    first, second = ["i like tea", "rain"], ["so much", "the trains today about bread"]
    expected = transformers.AutoTokenizer.from_pretrained(encoder)(first, second, padding=True)
    texts = subwords.texts([*first, *second])
    ids, mask, kinds = as_lists(join_rows(texts, np.array([[0, 2], [1, 3]]), subwords))
    assert ids == expected["input_ids"]
    assert mask == expected["attention_mask"]
    assert kinds == expected["token_type_ids"]


# ---- the network -----------------------------------------------------------------------------------------------------


def test_logits_are_those_of_transformers(encoder: Path, subwords: Subwords) -> None:
    torch.manual_seed(0)
    network = CrossEncoder.pretrained(encoder, 3).eval()
    own = transformers.BertModel.from_pretrained(encoder, add_pooling_layer=False).eval()
    inputs = transformers.AutoTokenizer.from_pretrained(encoder)("i like tea", "so much rain", return_tensors="pt")
    with torch.inference_mode():
        state = own(**inputs).last_hidden_state[0, 0]
        expected = network.head.weight @ state + network.head.bias
        texts = subwords.texts(["i like tea", "so much rain", "so much rain today about the bread"])
        found = network(join_rows(texts, np.array([[0, 1], [2, 2]]), subwords))  # padded beside a longer row
    assert found[0].numpy() == pytest.approx(expected.numpy(), abs=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_language_model_tells_by_its_last_state(tmp_path: Path, kind: str) -> None:
    folder = tiny_lm(tmp_path / "lm", kind)
    torch.manual_seed(0)
    network, subwords = CrossEncoder.pretrained(folder, 2).eval(), Subwords(folder)
    own = transformers.AutoModel.from_pretrained(folder).eval()
    texts = subwords.texts(["i like tea", "so much rain", "so much rain today about the bread"])
    made = join_rows(texts, np.array([[0, 1], [2, 2]]), subwords)  # padded beside a longer row
    row = [subwords.start, *texts[0], subwords.end, *texts[1], subwords.end]
    with torch.inference_mode():
        state = own(torch.tensor([row])).last_hidden_state[0, -1]
        expected = network.head.weight @ state + network.head.bias
        found = network(made)
    assert found[0].numpy() == pytest.approx(expected.numpy(), abs=1e-5)
    assert found[0].numpy() != pytest.approx(found[1].numpy(), abs=1e-3)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "electra", "albert"])
def test_encoders_of_all_kinds_read_rows_as_long_as_they_can(tmp_path: Path, subwords: Subwords, kind: str) -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    if kind == "distilbert":
        sizes = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 16}
    config = transformers.AutoConfig.for_model(kind, vocab_size=400, max_position_embeddings=40, **sizes)
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    network = CrossEncoder.pretrained(tmp_path, 2).eval()
    assert network.positions == (38 if kind == "roberta" else 40)
    texts = subwords.texts(["tea " * 60, "rain " * 3])
    made = join_rows(texts, np.array([[0, 0, 1]]), subwords, limit=network.positions)
    assert network.positions - 1 <= made.ids.shape[1] <= network.positions
    with torch.inference_mode():
        assert torch.isfinite(network(made)).all()
    again = CrossEncoder.empty(tmp_path, 2)
    again.load_state_dict(network.state_dict())


def test_an_empty_network_is_in_float32(encoder: Path, tmp_path: Path) -> None:
    config = transformers.AutoConfig.from_pretrained(encoder, dtype="float16")
    config.save_pretrained(tmp_path)
    assert CrossEncoder.empty(tmp_path, 2).encoder.dtype == torch.float32


def test_outputs_are_in_the_order_of_the_rows_and_batches_fit(tmp_path: Path) -> None:
    subwords, seen = Subwords(tiny_encoder(tmp_path)), list[int]()

    def network(rows: TokenRows) -> torch.Tensor:
        seen.append(rows.ids.numel())
        return rows.mask.sum(dim=1, keepdim=True).float() * torch.tensor([1.0, 2.0])

    reader = SimpleNamespace(device=torch.device("cpu"), tokens=40)
    read = [(np.full(n, 7), np.full(2, 8)) for n in (9, 1, 5, 20, 3, 1)]
    found = row_outputs(reader, read, subwords, network, 2)
    assert found[:, 0].tolist() == [14, 6, 10, 25, 8, 6]  # with three special tokens
    assert np.array_equal(found[:, 1], 2 * found[:, 0])
    assert len(seen) > 1
    assert max(seen) <= 60
    assert row_outputs(reader, [], subwords, network, 2).shape == (0, 2)
