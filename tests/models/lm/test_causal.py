"""Log-likelihoods against transformers, one text at a time, on small models with random weights."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from interloq import InputError
from interloq.models.lm.causal import LanguageModel
from tests.made_lm import tiny_lm
from tests.made_network import loaded, watch_network

KINDS = ["gpt2", "llama", "gemma2"]  # gemma2 bends its logits after the head
PAIRS = [
    ("how was it ?", " it was a very good day ."),
    ("", "it was good"),
    ("how was it ?", " no"),
    ("how was it ? " * 3, " no idea , sorry ."),
    ("how was it ?", " 日本語 🙂"),
    ("x", " y"),
    ("how was it ?", ""),
]


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp(request.param), request.param)


def literal(folder: Path, context: str, continuation: str) -> tuple[float, int]:
    """A token at a time, each from a row of its own."""
    tokenizer, model = loaded(folder, "AutoModelForCausalLM")
    start = [tokenizer.bos_token_id] if tokenizer.bos_token_id is not None else []
    row = [*start, *tokenizer(context, add_special_tokens=False)["input_ids"]] or [tokenizer.eos_token_id]
    total, tokens = 0.0, tokenizer(continuation, add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        for token in tokens:
            logits = model(torch.tensor([row])).logits[0, -1]
            total += float(torch.log_softmax(logits.double(), dim=0)[token])
            row.append(token)
    return total, len(tokens)


def both(pairs: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [first for first, _ in pairs], [second for _, second in pairs]


def test_sums_are_those_of_transformers(folder: Path) -> None:
    sums, counts = LanguageModel(str(folder), device="cpu").log_likelihoods(*both(PAIRS))
    expected = [literal(folder, *pair) for pair in PAIRS]
    assert sums == pytest.approx([total for total, _ in expected], abs=1e-4)
    assert counts.tolist() == [count for _, count in expected]
    assert (sums[-1], counts[-1]) == (0, 0), "nothing to predict"
    assert sums[:-1].max() < 0


def test_a_text_is_its_parts_one_after_another(folder: Path) -> None:
    """log p(a b) = log p(a) + log p(b | a): what Deep FM's difference rests on."""
    model = LanguageModel(str(folder), device="cpu")
    (first, second, whole), counts = model.log_likelihoods(
        ["", "how was it ?", ""], ["how was it ?", " no idea", "how was it ? no idea"]
    )
    assert first + second == pytest.approx(whole, abs=1e-4)
    assert counts[0] + counts[1] == counts[2]


def test_a_pair_is_calculated_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen = LanguageModel(str(folder), device="cpu"), []
    sums = model._sums

    def watched(rows: Any, starts: Any) -> Any:
        seen.extend(rows)
        return sums(rows, starts)

    monkeypatch.setattr(model, "_sums", watched)
    found, _ = model.log_likelihoods(["a", "b", "a", "a"], ["b", "b", "b", "c"])
    assert len(seen) == 3
    assert found[0] == found[2]
    empty = model.log_likelihoods([], [])
    assert [len(part) for part in empty] == [0, 0]


def test_a_model_that_gives_all_logits_only_has_the_same_sums(folder: Path) -> None:
    model = LanguageModel(str(folder), device="cpu")
    expected, _ = model.log_likelihoods(*both(PAIRS))
    model._can_skip_logits = False
    assert model.log_likelihoods(*both(PAIRS))[0] == pytest.approx(expected, abs=1e-5)


# ---- length and start ------------------------------------------------------------------------------------------------


def test_a_long_context_loses_its_beginning(tmp_path: Path) -> None:
    folder = tiny_lm(tmp_path, positions=16)
    model = LanguageModel(str(folder), device="cpu")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    letters = "bcfjkqvxz" * 5  # not in the texts, so a token each
    assert len(tokenizer(letters)["input_ids"]) == 45
    sums, counts = model.log_likelihoods([letters, letters[-12:], letters[-11:]], ["vxz"] * 3)
    assert counts.tolist() == [3, 3, 3]
    assert sums[0] == sums[1], "one start token, twelve of context and three of continuation are all there is room for"
    assert sums[0] != sums[2]


def test_a_continuation_longer_than_the_model_loses_its_end(tmp_path: Path) -> None:
    model = LanguageModel(str(tiny_lm(tmp_path, positions=16)), device="cpu")
    letters = "bcfjkqvxz" * 5
    sums, counts = model.log_likelihoods(["zzz", "", ""], [letters, letters, letters[:15]])
    assert counts.tolist() == [15, 15, 15]
    assert sums[0] == sums[1] == sums[2]


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_start_token_the_end_token_opens_a_text(kind: str, tmp_path: Path) -> None:
    folder = tiny_lm(tmp_path, kind, bos=False, positions=32)
    model = LanguageModel(str(folder), device="cpu")
    pairs = [("", "it was good"), ("how", " was it"), ("z" * 90, "x" * 8)]
    sums, counts = model.log_likelihoods(*both(pairs))
    assert sums[:2] == pytest.approx([literal(folder, *pair)[0] for pair in pairs[:2]], abs=1e-4)
    assert sums[2] == pytest.approx(literal(folder, "z" * 24, "x" * 8)[0], abs=1e-4)
    assert counts[2] == 8


def test_a_text_that_the_tokenizer_drops_is_one_unknown_token(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LanguageModel(str(folder), device="cpu")
    monkeypatch.setattr(model, "_tokenizer", Dropping(model._tokenizer))
    sums, counts = model.log_likelihoods(["how", "how"], ["\u200b", ""])
    assert counts.tolist() == [1, 0]
    assert math.isfinite(sums[0])
    assert sums[0] < 0


class Dropping:
    """A tokenizer that leaves nothing of a zero-width space."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.bos_token_id, self.eos_token_id, self.unk_token_id = inner.bos_token_id, inner.eos_token_id, None

    def __call__(self, texts: list[str], **options: Any) -> Any:
        return self.inner([text.replace("\u200b", "") for text in texts], **options)


# ---- precision, memory and bad models --------------------------------------------------------------------------------


def test_precision_changes_little(folder: Path) -> None:
    plain, exact, half = (
        LanguageModel(str(folder), device="cpu", precision=name) for name in ("float32", "float64", "bfloat16")
    )
    sums = [model.log_likelihoods(*both(PAIRS))[0] for model in (plain, exact, half)]
    assert sums[0] == pytest.approx(sums[1], abs=1e-4)
    assert sums[2] == pytest.approx(sums[1], rel=0.05, abs=1)


def test_a_batch_without_room_is_cut_in_two(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LanguageModel(str(folder), device="cpu")
    expected, _ = model.log_likelihoods(*both(PAIRS))
    network = watch_network(model._model, monkeypatch, most=1)
    assert model.log_likelihoods(*both(PAIRS))[0] == pytest.approx(expected, abs=1e-4)
    assert model.tokens < 2048
    network.most = 0
    with pytest.raises(InputError, match="not enough memory for one text of"):
        model.log_likelihoods(*both(PAIRS))


def test_a_model_of_another_form_is_refused(tmp_path: Path) -> None:
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "vocab_size": 320}
    transformers.T5Model(transformers.T5Config(**sizes)).save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(tiny_lm(tmp_path / "lm")).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="this model cannot be loaded for CausalLM; use a causal language model"):
        LanguageModel(str(tmp_path), device="cpu")


def test_a_head_that_is_not_in_the_file_is_refused(tmp_path: Path) -> None:
    folder = tiny_lm(tmp_path, "llama")
    weights = load_file(folder / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"has no weights for 'lm_head\.weight'"):
        LanguageModel(str(folder), device="cpu")
