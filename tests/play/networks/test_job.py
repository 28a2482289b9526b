"""The examples, the task and the job of bots; learning is tested in test_networks.py, resuming in the contract."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq import Dialogue, InputError, Turn, write
from interloq.cli.main import main
from interloq.data.progress import silent
from interloq.learn.gru import Pieces
from interloq.learn.job import Run, train
from interloq.models.processes import Processes
from interloq.play.networks.job import BotJob, ReplyTask, add_end
from interloq.play.networks.model import ReplyModel, load_backward
from interloq.play.networks.network import END, SEPARATOR
from interloq.play.networks.settings import BotNetwork
from interloq.play.networks.words import count_words, join_pieces
from interloq.scorers.relevance.stretches import Stretches
from tests.play.networks.made_copies import AGAIN, READING, make_job, write_log

Captured = pytest.CaptureFixture[str]
TINY = ["--dimensions", "16", "--layers", "1", "--vocabulary", "40", "--epochs", "1", "--device", "cpu"]


def make_run(folder: Path, job: BotJob, reports: list[str] | None = None) -> Run:
    report = (lambda _: None) if reports is None else reports.append
    return Run(job.name, folder, Processes(torch.device("cpu")), "cpu", silent, report)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[BotJob, Run]:
    folder = tmp_path_factory.mktemp("job")
    job = make_job(write_log(folder / "log.jsonl", n=120), kind="lstm")
    run = make_run(folder / "work", job)
    job.prepare(run)
    return job, run


@pytest.fixture
def task(prepared: tuple[BotJob, Run]) -> ReplyTask:
    job, run = prepared
    return job.task(run)


def read_batch(task: ReplyTask, pieces: Pieces, examples: Any) -> list[tuple[list[str], str]]:
    """Return contexts and replies of a batch as texts."""
    batch = task.prepare("train", examples)
    found = []
    for i in range(len(examples)):
        source = batch.source.rows.tokens[i][batch.source.rows.mask[i]].tolist()
        turns: list[list[int]] = [[]]
        for token in source:
            if token == SEPARATOR:
                turns.append([])
            else:
                turns[-1].append(token)
        reply = batch.targets.tokens[i][: int((batch.targets.owners == i).sum())].tolist()
        assert batch.targets.inputs[i][: len(reply)].tolist() == [END, *reply[:-1]]
        assert reply[-1] == END
        found.append(([join_pieces(pieces, turn) for turn in turns], join_pieces(pieces, reply[:-1])))
    return found


def test_batches_hold_every_exchange_with_its_whole_context(prepared: tuple[BotJob, Run], task: ReplyTask) -> None:
    job, run = prepared
    pieces = job._pieces(run)
    count = task.exchanges.facts["exchanges"] - task.exchanges.facts["dev"]
    batches = task.batches("train", 1)
    assert sorted(np.concatenate(batches) - count) == list(range(count))
    seen = [each for batch in batches for each in read_batch(task, pieces, batch)]
    lengths = {len(context) for context, _ in seen}
    assert lengths == {1, 2, 3}
    for context, reply in seen:
        expected = AGAIN if len(context) == 2 else " ".join(reversed(context[0].split()))
        assert reply == expected


def test_train_and_dev_share_no_dialogue(task: ReplyTask) -> None:
    talks = task.exchanges.talks
    assert not set(talks[task.exchanges.range("dev")]) & set(talks[task.exchanges.range("train")])


def test_batches_are_bounded_by_tokens_and_differ_between_epochs(task: ReplyTask) -> None:
    source, target = task.lengths("train")
    for batch in task.batches("train", 1):
        places = batch % len(source)
        assert len(batch) * (source + target)[places].max() <= task.settings.tokens
    first, second = (np.concatenate(task.batches("train", epoch)) % len(source) for epoch in (1, 2))
    assert not np.array_equal(first, second)
    assert np.array_equal(np.concatenate(task.batches("train", 1)) % len(source), first)


def test_a_reply_that_was_cut_does_not_end() -> None:
    stretches = Stretches(np.array([5, 6, 7, 8, 9, 4]), np.array([3, 2, 1]))
    ended = add_end(stretches, 3)
    assert [ended[i].tolist() for i in range(3)] == [[5, 6, 7], [8, 9, END], [4, END]]


def test_a_reverse_network_learns_the_last_turn_from_the_reply(prepared: tuple[BotJob, Run]) -> None:
    job, run = prepared
    network = BotNetwork(**vars(job.settings) | {"reverse": True})
    task = ReplyTask(job.task(run).network, job._exchanges(run), READING, network)
    (first, *_) = task.batches("train", 1)
    forward = dict.fromkeys(range(3))
    for (context, reply), _ in zip(read_batch(task, job._pieces(run), first), forward, strict=False):
        assert len(context) == 1  # the reply
        assert reply in (AGAIN, " ".join(reversed(context[0].split()))) or context[0] == AGAIN


def test_words_are_counted_from_pieces(prepared: tuple[BotJob, Run]) -> None:
    job, run = prepared
    pieces = job._pieces(run)
    text = "tea dog fox again"
    tokens = pieces.texts([text])[0]
    assert join_pieces(pieces, tokens.tolist()) == text
    assert count_words(pieces, tokens, "en") == 4
    assert count_words(pieces, tokens, "ja") == len(text.replace(" ", ""))


def test_bad_logs_are_refused_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    talks = [Dialogue(f"d{i}", (Turn("hello", "a"), Turn("anyone", "a"))) for i in range(9)]
    write("alone.jsonl", talks, kind="dialogues")
    write("few.jsonl", [Dialogue("d", (Turn("hi", "a"), Turn("hello", "b")))], kind="dialogues")
    Path("empty.jsonl").write_text("")
    for name, says in (
        ("alone", "in 9 dialogues only one speaker has a turn, so nobody replies"),
        ("few", "only 1 different dialogues or utterances"),
        ("empty", "empty.jsonl: the file contains nothing"),
    ):
        assert main(["train", "bot", f"{name}.jsonl", "-o", f"bot-{name}", *TINY]) == 2
        assert says in capsys.readouterr().err, name
        assert not Path(f"bot-{name}/model.json").exists()


def test_settings_of_another_kind_and_odd_sizes_are_refused() -> None:
    for settings, says in (
        ({"kind": "lstm", "heads": 2}, "heads is used with kind transformer only, not with lstm"),
        ({"kind": "transformer", "latent": 3}, "latent is used with kind vhred only"),
        ({"kind": "transformer", "dimensions": 20}, "dimensions must be a multiple of 8, got 20"),
        ({"kind": "conv", "kernel": 4}, "kernel must be an odd number, got 4"),
    ):
        with pytest.raises(InputError, match=says):
            BotNetwork(**settings)  # type: ignore[arg-type]


def test_kept_examples_serve_other_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    write_log(Path("log.jsonl"), n=60)
    assert main(["train", "bot", "log.jsonl", "-o", "one", "--examples", "kept", "--kind", "lstm", *TINY]) == 0
    Path("log.jsonl").unlink()
    assert main(["train", "bot", "-o", "two", "--examples", "kept", "--kind", "conv", *TINY, "--json"]) == 0
    out = capsys.readouterr().out
    facts = json.loads(out[out.index("{") :])
    assert facts["perplexity"]["token"] == pytest.approx(math.exp(facts["best"]["dev_loss"]), rel=0.02)
    assert ReplyModel.load("two", device="cpu").settings.kind == "conv"
    assert main(["train", "bot", "-o", "three", "--examples", "kept", *TINY, "--turns", "2"]) == 2
    assert "the examples have reading" in capsys.readouterr().err
    write_log(Path("other.jsonl"), n=30, seed=1)
    assert main(["train", "tokenizer", "other.jsonl", "-o", "other.model", "--vocabulary", "28"]) == 0
    assert main(["train", "bot", "-o", "three", "--examples", "kept", *TINY, "--tokenizer", "other.model"]) == 2
    assert "made with another tokenizer" in capsys.readouterr().err
    assert main(["train", "bot", "-o", "four", *TINY]) == 2
    assert "nothing to train on" in capsys.readouterr().err


def test_a_latent_variable_that_is_ignored_or_too_costly_is_reported(prepared: tuple[BotJob, Run]) -> None:
    job, _ = prepared
    assert job.verdict({}) == ""
    assert "ignored (KL 0.020 nats per reply)" in job.verdict({"kl": 0.02, "loss_per_reply": 30.0})
    assert "most of the bound" in job.verdict({"kl": 20.0, "loss_per_reply": 30.0})
    assert job.verdict({"kl": 5.0, "loss_per_reply": 30.0}) == ""


def test_a_diverging_divergence_is_reported(tmp_path: Path) -> None:
    job = make_job(write_log(tmp_path / "log.jsonl", n=60), kind="vhred", annealing=1e9, epochs=10)
    reports: list[str] = []
    facts = train(job, tmp_path / "bot", device="cpu", report=reports.append)
    assert facts["kl"] > 0.5 * facts["loss_per_reply"]  # nothing holds it back
    assert "lower --annealing or --learning-rate" in reports[-1]


def test_only_a_reverse_network_is_a_backward_model(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", n=60)
    for reverse in (False, True):
        train(make_job(log, kind="conv", epochs=1, reverse=reverse), tmp_path / str(reverse), device="cpu")
    with pytest.raises(InputError, match="train it with --reverse"):
        load_backward(tmp_path / "False")
    backward = load_backward(tmp_path / "True", device="cpu")
    turns = [Turn("tea dog", "a"), Turn("fox", "b"), Turn("cat", "a")]
    # only the last turn and the reply count
    chances = backward.log_probabilities([turns, turns[-1:]], ["sun", "sun"])
    assert chances[0] == pytest.approx(chances[1], abs=1e-5)
    assert chances[0] < 0
