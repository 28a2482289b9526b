"""The modules of `interloq.scorers.relevance`: examples, log, pairs, settings."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from interloq import Dialogue, Sample, Turn, write
from interloq.errors import InputError
from interloq.learn.job import train
from interloq.learn.pair_tokens import PairTokens
from interloq.models.pretrained import Subwords
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.interlocutor.settings import InterlocutorReading
from interloq.scorers.relevance.examples import NONE, Exchange, Exchanges, write_exchanges
from interloq.scorers.relevance.log import ExchangeLog
from interloq.scorers.relevance.pairs import ExchangePairs
from interloq.scorers.relevance.settings import RelevanceReading, RelevanceSettings
from tests.made_relevance import exchanges, scorer_job, stored, talks, tiny_encoder
from tests.scorers.relevance.made_examples import texts


def test_every_exchange_is_kept_once_in_words(made: tuple[Exchanges, Subwords]) -> None:
    found, subwords = made
    said = texts(found, subwords)
    kept = Counter(
        (tuple(said[turn] for turn in context if turn != NONE), said[reply])
        for context, reply in zip(found.contexts, found.replies, strict=True)
    )
    given = [*exchanges(talks(60)), *exchanges(talks(20, seed=5))]
    assert kept == Counter({(e.context, e.reply): 1 for e in given})


def test_the_order_of_exchanges_changes_nothing(made: tuple[Exchanges, Subwords], tmp_path: Path) -> None:
    given = exchanges(talks(30))
    shuffled = random.Random(1).sample(given, len(given))
    reading = RelevanceReading(turns=3, dev=10)
    first, second = (
        write_exchanges(each, tmp_path / name, made[1], reading) for name, each in (("a", given), ("b", shuffled))
    )
    for name in ("tokens", "lengths", "forms", "contexts", "replies", "talks", "similar"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert first.facts == second.facts


def test_no_dialogue_is_on_both_sides(made: tuple[Exchanges, Subwords]) -> None:
    found, _ = made
    dev, train_ = (set(found.talks[found.range(part)].tolist()) for part in ("dev", "train"))
    assert dev
    assert not dev & train_
    assert 24 <= found.facts["dev"] <= 36  # a tenth of 240, or a dialogue more


def test_blank_sides_are_counted_and_left_out(tmp_path: Path) -> None:
    blank = [Exchange(("hi", " "), "tea", "1"), Exchange(("tea ?",), " ", "2"), Exchange((), "tea", "3")]
    found, _ = stored(tmp_path, [*exchanges(talks(8)), *blank])
    assert found.facts["blank"] == 3
    with pytest.raises(InputError, match="no exchange has both a context and a reply"):
        stored(tmp_path / "none", blank)
    with pytest.raises(InputError, match="1 different dialogues"):
        stored(tmp_path / "one", exchanges(talks(1)))


def test_examples_of_other_settings_are_refused(tmp_path: Path) -> None:
    stored(tmp_path, exchanges(talks(8)))
    with pytest.raises(InputError, match="the examples have reading"):
        train(scorer_job(tmp_path, turns=2), tmp_path / "out", device="cpu")
    with pytest.raises(InputError, match="the examples have source made, not other"):
        train(replace(scorer_job(tmp_path), source="other"), tmp_path / "out", device="cpu")
    with pytest.raises(InputError, match="give logs"):
        train(replace(scorer_job(tmp_path), examples=tmp_path / "nothing"), tmp_path / "out", device="cpu")


def test_a_folder_that_another_job_is_writing_is_refused(made: tuple[Exchanges, Subwords], tmp_path: Path) -> None:
    reading = RelevanceReading(turns=3, dev=30)

    def exchanges_during_which_another_starts() -> Iterator[Exchange]:
        with pytest.raises(InputError, match="another process"):
            write_exchanges([], tmp_path / "kept", made[1], reading)
        yield from exchanges(talks(40))

    written = write_exchanges(exchanges_during_which_another_starts(), tmp_path / "kept", made[1], reading)
    assert Exchanges.load(tmp_path / "kept").facts == written.facts
    assert not (tmp_path / "kept" / "lock").exists()


@pytest.fixture
def logs(folder: Path) -> Path:
    said = [("a", "one"), ("b", "two"), ("b", "three"), ("a", "four")]
    write("talks.jsonl", [Dialogue("d", [Turn(text, who) for who, text in said])], kind="dialogues")
    write("pairs.jsonl", [Pair("1", "how are you", "fine"), Pair("2", "any news", "none")], kind="pairs")
    return folder


def read(log: ExchangeLog) -> list[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    return [(exchange.context, exchange.reply, exchange.wrong) for exchange in log.exchanges()]


def test_replies_follow_another_speaker(logs: Path) -> None:
    found = read(ExchangeLog(TrainingLog(["talks.jsonl"]), turns=2))
    assert found == [(("one",), "two", ()), (("two", "three"), "four", ())]


def test_what_test_samples_share_is_excluded(logs: Path) -> None:
    write("test.jsonl", [Sample("x", ["How are you?"], "x", ["good"])], kind="samples")
    log = TrainingLog(["pairs.jsonl"], ["test.jsonl"])
    assert read(ExchangeLog(log, turns=3)) == [(("any news",), "none", ())]
    assert log.excluded == 1


def test_a_copied_dialogue_is_excluded_whole(logs: Path) -> None:
    write("test.jsonl", [Sample("x", ["one", "two"], "x", ["good"])], kind="samples")
    log = TrainingLog(["talks.jsonl"], ["test.jsonl"])
    assert read(ExchangeLog(log, turns=3)) == []
    assert log.excluded == 2


def test_written_replies_bring_wrong_ones(logs: Path) -> None:
    item = {"context": ["hi"], "positive_responses": ["hey", "hello"], "adversarial_negative_responses": ["bye"]}
    (logs / "written.jsonl").write_text(json.dumps(item) + "\n\n")
    log = ExchangeLog(TrainingLog([]), ["written.jsonl"], turns=3)
    assert read(log) == [(("hi",), "hey", ("bye",)), (("hi",), "hello", ("bye",))]
    assert log.fingerprint != ExchangeLog(TrainingLog(["pairs.jsonl"]), turns=3).fingerprint


@pytest.mark.parametrize("line", ["{", "{}", '{"context": "hi", "positive_responses": []}', "[]"])
def test_a_line_without_replies_is_named(logs: Path, line: str) -> None:
    (logs / "written.jsonl").write_text(line)
    with pytest.raises(InputError, match=r"written\.jsonl:1"):
        read(ExchangeLog(TrainingLog([]), ["written.jsonl"], turns=3))


def test_settings_are_checked() -> None:
    for options in ({"negatives": "random,wrong"}, {"batch": 0}, {"other": -1.0}, {"written": 2.0}, {"seed": -1}):
        with pytest.raises(InputError):
            RelevanceSettings(**options)
    with pytest.raises(InputError):
        RelevanceReading(turns=0)


def test_stored_examples_and_jobs_keep_the_names_of_their_settings() -> None:
    for settings, name in (
        (RelevanceReading(), "Reading"),
        (RelevanceSettings(), "Relevance"),
        (InterlocutorReading(), "Reading"),
    ):
        assert full_spec(settings).startswith(f"{name}(")


def test_pairs_of_examples_are_those_of_the_log(made: tuple[Exchanges, Subwords], tmp_path: Path) -> None:
    examples, whole = made
    subwords = Subwords(whole.folder, longest=6)
    pairs = ExchangePairs(examples).write(tmp_path, subwords, dev=12)
    assert PairTokens.load(tmp_path).dev == pairs.dev > 0
    rows = [[pairs.texts(row[[column]])[0].tolist() for column in (0, 1)] for row in pairs.pairs]
    log = [*talks(60), *talks(20, seed=5)]
    wanted = {pair for turns in log for pair in pairwise(turns)}
    assert sorted(rows) == sorted([subwords.texts([text])[0].tolist() for text in pair] for pair in wanted)
    assert not set(pairs.rows("dev")[:, 0].tolist()) & set(pairs.rows("train")[:, 0].tolist())


def test_another_tokenizer_is_refused(made: tuple[Exchanges, Subwords], tmp_path: Path) -> None:
    tiny_encoder(tmp_path / "other")
    path = tmp_path / "other" / "tokenizer.json"
    path.write_text(path.read_text().replace('"tea"', '"tee"'))
    with pytest.raises(InputError, match="another tokenizer"):
        ExchangePairs(made[0]).write(tmp_path / "pairs", Subwords(tmp_path / "other"), dev=12)
