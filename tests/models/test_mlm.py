"""Pseudo-likelihoods against transformers, one masked token at a time, on small BERTs with random weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.learn.adapt.job import AdaptJob
from interloq.learn.adapt.settings import ADAPT, Adaptation
from interloq.learn.job import train
from interloq.models.mlm import BOUNDS, MaskedLikelihood, read_bounds, reply_bounds, values
from tests.made_lm import tiny_bert
from tests.made_network import loaded, watch_network
from tests.made_ruber import topic_pairs

TEXTS = ["it was a very good day .", "no", "we saw the film there again .", "how was it ?", "no", "day ξ day"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"), head="MaskedLM")


def literal(folder: Path, text: str) -> tuple[float, int]:
    """Each non-special token is masked alone; the loss of transformers is −log p of the right one."""
    tokenizer, model = loaded(folder, "BertForMaskedLM")
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    total, count = 0.0, 0
    for place in range(1, ids.shape[1] - 1):
        if int(ids[0, place]) in tokenizer.all_special_ids:
            continue
        hidden, labels = ids.clone(), torch.full_like(ids, -100)
        hidden[0, place], labels[0, place] = tokenizer.mask_token_id, ids[0, place]
        with torch.inference_mode():
            total -= float(model(input_ids=hidden, labels=labels).loss.double())
        count += 1
    return total, count


def scorer(folder: Path, **options: Any) -> MaskedLikelihood:
    return MaskedLikelihood.load(str(folder), device="cpu", **options)


def test_sums_are_those_of_transformers(bert: Path) -> None:
    sums, counts = scorer(bert).scores(TEXTS)
    wanted = [literal(bert, text) for text in TEXTS]
    assert sums == pytest.approx([total for total, _ in wanted], rel=1e-5)
    assert counts.tolist() == [count for _, count in wanted]
    assert counts[-1] == 2  # ξ is unknown: read, but not guessed at
    assert values("likelihood", sums, counts) == pytest.approx([total / count for total, count in wanted], rel=1e-5)
    assert values("surprise", sums, counts) == pytest.approx([-total for total, _ in wanted], rel=1e-5)


def test_a_text_is_read_once(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = scorer(bert)
    network = watch_network(model.predictor, monkeypatch)
    model.scores(["no day", "day", "no day", "no day"])
    assert sum(network.rows) == 3  # a row for each token
    assert [len(part) for part in model.scores([])] == [0, 0]


def test_texts_without_known_tokens_have_none(bert: Path) -> None:
    model = scorer(bert)
    sums, counts = model.scores(["", " ", "ξψ", "no"])
    assert counts.tolist() == [0, 0, 0, 1]
    assert [model.count_known(text) for text in ("", "ξψ ξ", "no day")] == [0, 0, 2]
    for mode in ("likelihood", "surprise"):
        assert np.isnan(values(mode, sums, counts)).tolist() == [True, True, True, False]


def test_long_texts_are_cut_where_the_network_ends(bert: Path) -> None:
    sums, counts = scorer(bert).scores(["day " * 200, "day " * 300])
    assert counts.tolist() == [60, 60]  # of 64 places
    assert sums[0] == sums[1] == pytest.approx(literal(bert, "day " * 60)[0], rel=1e-5)
    assert scorer(bert, longest=3).scores(["day " * 9])[1].tolist() == [3]


def test_a_batch_without_room_is_cut_in_two(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = scorer(bert)
    wanted, _ = model.scores(TEXTS)
    network = watch_network(model.predictor, monkeypatch, most=2)
    assert model.scores(TEXTS)[0] == pytest.approx(wanted, rel=1e-5)
    assert model.tokens < 8192
    network.most = 0
    with pytest.raises(InputError, match="not enough memory for one row of 3 tokens"):
        model.scores(["no"])


# ---- models that cannot guess ----------------------------------------------------------------------------------------


def test_a_tokenizer_without_a_mask_is_refused(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path, head="MaskedLM")
    plain = transformers.AutoTokenizer.from_pretrained(folder)
    special = {name: getattr(plain, name) for name in ("unk_token", "cls_token", "sep_token", "pad_token")}
    for path in folder.glob("tokenizer*"):
        path.unlink()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=plain.backend_tokenizer, **special)
    made.save_pretrained(folder)
    with pytest.raises(InputError, match="the tokenizer has no mask token"):
        scorer(folder)


# ---- what is usual for replies ---------------------------------------------------------------------------------------


def packed(rows: Sequence[Sequence[int]]) -> Texts:
    tokens = np.array([token for row in rows for token in row], dtype=np.int32)
    return Texts(tokens, np.concatenate([[0], np.cumsum([len(row) for row in rows])]))


def test_bounds_are_quartiles(bert: Path) -> None:
    model = scorer(bert)
    facts = reply_bounds(model, model.subwords.texts([*TEXTS, "ξ"]))
    found = [literal(bert, text) for text in TEXTS]
    means, sums = [total / count for total, count in found], [-total for total, _ in found]
    assert facts["replies"] == len(TEXTS)
    assert facts["likelihood"] == pytest.approx(np.percentile(means, [25, 75]), rel=1e-5)
    assert facts["surprise"] == pytest.approx(np.percentile(sums, [25, 75]), rel=1e-5)
    assert reply_bounds(model, packed([[model.subwords.unknown]])) == {"replies": 0, "quantiles": [0.25, 0.75]}


def test_adapting_records_them(bert: Path, tmp_path: Path) -> None:
    """With a dev part of one pair in ten; the replies of the other pairs are those learned from."""
    settings, training = Adaptation(batch=32, longest=16), replace(ADAPT, epochs=1)
    train(AdaptJob.of(bert, lambda: topic_pairs(100), settings, training), tmp_path / "out", device="cpu")
    facts = json.loads((tmp_path / "out" / BOUNDS).read_text())
    model = scorer(tmp_path / "out")
    low, high = model.quartiles("likelihood")
    assert [low, high] == facts["likelihood"]
    assert low < high < 0
    every = values("likelihood", *model.scores([pair.response for pair in topic_pairs(100)]))
    assert np.quantile(every, 0.02) < low < np.median(every) < high < np.quantile(every, 0.98)
    assert 0 < facts["replies"] <= 12


def test_folders_without_bounds(bert: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no bounds for replies; .*interloq train adapt"):
        scorer(bert).quartiles("surprise")
    for text in ("{", "[]", '{"likelihood": [1]}', '{"likelihood": [1, "x"]}'):
        (tmp_path / BOUNDS).write_text(text)
        with pytest.raises(InputError, match=r"has no bounds for likelihood|not valid JSON|expected a JSON object"):
            read_bounds(tmp_path, "likelihood")
