"""Models with an encoder and a decoder against transformers, one pair at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq import InputError
from interloq.models.lm.dialogue_scorer import language_model
from interloq.models.lm.seq2seq import Seq2SeqModel
from tests.made_lm import tiny_seq2seq
from tests.made_network import loaded, watch_network

KINDS = ["t5", "bart", "blenderbot", "forced"]  # the last one: a BART whose decoder must say a certain token first
DIALOGUES = [
    ("how was it ?", "it was a very good day ."),
    ("how was it ?", "it was a very good day .", "no idea", "sorry ."),
    (),
    ("日本語 🙂",),
    ("how was it ?", "it was a very good day ."),
]
FOLLOW_UPS = ["no idea , sorry .", "no idea", "x", "it was good"]


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(request.param)
    return tiny_seq2seq(path, "bart", forced=5) if request.param == "forced" else tiny_seq2seq(path, request.param)


def literal(folder: Path, turns: tuple[str, ...], text: str, layout: str) -> float:
    tokenizer, model = loaded(folder, "AutoModelForSeq2SeqLM")
    start = [3] if model.generation_config.forced_bos_token_id is None else [3, 5]
    read, end = [0], tokenizer.eos_token_id
    for turn in turns:
        read += tokenizer(turn)["input_ids"] + [end] if layout == "eos" else tokenizer(turn + "\n")["input_ids"]
    read += [end] if layout == "lines" else []
    own = tokenizer(text)["input_ids"]
    with torch.inference_mode():
        said = model(input_ids=torch.tensor([read]), decoder_input_ids=torch.tensor([start + own])).logits[0].double()
    return float(torch.log_softmax(said[len(start) - 1 : -1], dim=1)[range(len(own)), own].sum())


@pytest.mark.parametrize("layout", ["eos", "lines"])
def test_sums_are_those_of_transformers(folder: Path, layout: Any) -> None:
    model = language_model(str(folder), device="cpu", longest=128)
    assert isinstance(model, Seq2SeqModel)
    expected = np.array([[literal(folder, turns, text, layout) for text in FOLLOW_UPS] for turns in DIALOGUES])
    found = model.follow_up_scores(DIALOGUES, FOLLOW_UPS, layout=layout)
    assert found.sums == pytest.approx(expected, abs=1e-4)
    sums, counts = model.reply_scores(DIALOGUES[:4], FOLLOW_UPS, layout=layout)
    assert sums == pytest.approx(np.diag(expected), abs=1e-4)
    assert counts.tolist() == found.counts.tolist()


def test_batches_and_order_change_nothing(folder: Path) -> None:
    wide, narrow = (Seq2SeqModel(str(folder), device="cpu", longest=128, tokens=tokens) for tokens in (2048, 1))
    expected = wide.follow_up_scores(DIALOGUES, FOLLOW_UPS).sums
    turned = narrow.follow_up_scores(DIALOGUES[::-1], FOLLOW_UPS[::-1]).sums[::-1, ::-1]
    assert turned == pytest.approx(expected, abs=1e-4)
    assert wide.follow_up_scores([], FOLLOW_UPS).sums.shape == (0, 4)
    assert wide.reply_scores(["a"], [""])[0].tolist() == [0]


def test_odd_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Seq2SeqModel(str(folder), device="cpu", longest=64)
    long = model.follow_up_scores([("z" * 500,), ("z" * 62,)], ["no"])
    assert long.sums[0] == pytest.approx(long.sums[1], abs=1e-4), "the start, 62 letters and the end token"
    with pytest.raises(InputError, match="does not predict the dialogue; use mode='conditional'"):
        model.follow_up_scores(DIALOGUES, FOLLOW_UPS, whole=True)
    with pytest.raises(InputError, match="a follow-up has 33 tokens"):
        model.follow_up_scores(DIALOGUES, ["z" * 33])
    with pytest.raises(InputError, match="longest must be at least 4"):
        Seq2SeqModel(str(folder), device="cpu", longest=3)
    expected = model.follow_up_scores(DIALOGUES, FOLLOW_UPS).sums
    network = watch_network(model._model, monkeypatch, most=len(FOLLOW_UPS))
    assert model.follow_up_scores(DIALOGUES, FOLLOW_UPS).sums == pytest.approx(expected, abs=1e-4)
    network.most = 0
    with pytest.raises(InputError, match="not enough memory for one text of"):
        model.follow_up_scores(DIALOGUES, FOLLOW_UPS)


def test_a_decoder_without_a_start_is_refused(tmp_path: Path) -> None:
    folder = tiny_seq2seq(tmp_path)
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"decoder_start_token_id": 3', '"decoder_start_token_id": null'))
    generation = folder / "generation_config.json"
    generation.write_text(generation.read_text().replace('"decoder_start_token_id": 3,', ""))
    with pytest.raises(InputError, match="does not define its decoder's start token"):
        language_model(str(folder), device="cpu")
