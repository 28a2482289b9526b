"""The scorer `valid`: replies alone against the same replies spoiled."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from interloq.errors import InputError
from interloq.learn.job import train
from interloq.learn.start import Start
from interloq.models.pretrained import Subwords
from interloq.models.token_rows import TokenRows
from interloq.scorers.relevance.examples import Exchange, Exchanges
from interloq.scorers.relevance.job import RelevanceTask
from interloq.scorers.relevance.model import RelevanceScorer, ValidScorer
from interloq.scorers.relevance.negatives import SHORTEST, draw
from interloq.scorers.relevance.settings import EDITS, VALID, RelevanceSettings
from tests.made_relevance import exchanges, scorer_job, small_scorer, stored, talks

SMALL = replace(VALID, batch=32, reply=12)
ORDER = [("i", "we", "they"), ("really", "never"), ("like",), ("the",), ("tea", "rain", "music", "bread"), (".", "?")]


def sentences(n: int) -> list[Exchange]:
    """Utterances with one order of words."""
    drawn = random.Random(0)
    return [Exchange((f"tea {i}",), " ".join(map(drawn.choice, ORDER)), f"talk {i}") for i in range(n)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Exchanges, Subwords]:
    short = [Exchange((f"tea {i} ?",), text, f"short {i}") for i, text in enumerate(["tea", "rain .", "so so ."] * 20)]
    return stored(tmp_path_factory.mktemp("made"), [*exchanges(talks(60)), *short])


def test_every_wrong_reply_is_a_spoiled_one(made: tuple[Exchanges, Subwords]) -> None:
    found, _ = made
    own = found.range("train")
    drawn = draw(found, "train", 1, SMALL)
    texts, how = drawn.texts[:, 0], drawn.spoiled[:, 0]
    replies, lengths = found.replies[own], found.lengths
    long = lengths[replies] >= SHORTEST
    assert 0 < long.sum() < len(replies)
    assert np.array_equal(texts[long], replies[long])
    assert (lengths[texts[~long]] >= SHORTEST).all()  # another reply of the log in place of a short one
    assert set(texts[~long].tolist()) <= set(replies.tolist())
    shares = {kind: (how == EDITS.index(kind)).mean() for kind in EDITS}
    assert shares["other"] == shares["parrot"] == shares["cut"] == 0
    assert [shares[kind] for kind in ("shuffled", "dropped", "repeated")] == pytest.approx([0.3, 0.3, 0.4], abs=0.12)


def test_rows_are_replies_alone(made: tuple[Exchanges, Subwords]) -> None:
    found, subwords = made
    task = RelevanceTask(Start.of(subwords.folder).network(1, seed=0), found, SMALL, subwords)
    examples = task.batches("train", 1)[0]
    batch = task.prepare("train", examples)
    own = found.range("train")
    assert isinstance(batch.rows, TokenRows)
    assert len(batch.rows.ids) == 2 * len(examples)
    assert not batch.rows.kinds.any()
    for row, i in enumerate((examples - (own.stop - own.start)).tolist()):
        tokens = found.texts[found.replies[own.start + i]][:12].tolist()
        true, wrong = (
            ids[mask == 1].tolist()
            for ids, mask in list(zip(batch.rows.ids, batch.rows.mask, strict=True))[2 * row :][:2]
        )
        assert true == [subwords.start, *tokens, subwords.end]
        assert (wrong[0], wrong[-1]) == (subwords.start, subwords.end)
        assert wrong != true


def test_a_reply_that_stays_the_same_is_repeated(tmp_path: Path) -> None:
    """Shuffling changes nothing where all words are one."""
    same = [Exchange((f"tea {i}",), "so so so so so .", f"talk {i}") for i in range(20)]
    found, subwords = stored(tmp_path, same)
    shuffled = replace(SMALL, shuffled=1.0, dropped=0.0, repeated=0.0)
    task = RelevanceTask(Start.of(subwords.folder).network(1, seed=0), found, shuffled, subwords)
    rows = task.prepare("train", task.batches("train", 1)[0]).rows
    assert isinstance(rows, TokenRows)
    lengths = rows.mask.sum(dim=1)
    assert (lengths[::2] == 8).all()
    assert (lengths[1::2] > 8).all()


def test_it_learns_the_order_of_words(tmp_path: Path) -> None:
    stored(tmp_path, sentences(300))
    folder = tmp_path / "valid"
    facts = train(scorer_job(tmp_path, SMALL, epochs=6, patience=6), folder, device="cpu")
    assert facts["kind"] == "valid"
    assert facts["wins"]["spoiled"] > 0.9
    scorer = ValidScorer.load(folder, device="cpu")
    good, shuffled, again = scorer.of(
        ["we really like the tea .", "the like tea we really .", "we we we like the tea ."]
    )
    assert good > 0.7 > max(shuffled, again)


def test_what_a_scorer_reads_is_what_it_learned_from(made: tuple[Exchanges, Subwords]) -> None:
    found, subwords = made
    task = RelevanceTask(Start.of(subwords.folder).network(1, seed=0).eval(), found, SMALL, subwords)
    facts = {"config": {"turns": 1, "context": 0, "reply": 12}, "temperature": 1.0}
    scorer = ValidScorer(task.network, subwords, facts, "cpu")
    text = "we like tea today ."
    ids = [subwords.start, *subwords.texts([text])[0].tolist(), subwords.end]
    with torch.inference_mode():
        states = task.network.encoder(input_ids=torch.tensor([ids])).last_hidden_state
        logit = task.network.head(states[:, 0])
    assert scorer.of([text, text]) == pytest.approx([float(torch.sigmoid(logit))] * 2, abs=1e-6)


def test_settings_without_a_context() -> None:
    assert VALID.kind == "valid"
    assert RelevanceSettings().kind == "relevance"
    for options in ({"context": 0}, {"context": 0, "negatives": "spoiled,random"}, {"context": -1}):
        with pytest.raises(InputError):
            RelevanceSettings(**options)
    with pytest.raises(InputError, match="all kinds of spoiled replies are 0"):
        replace(VALID, shuffled=0.0, dropped=0.0, repeated=0.0)


def test_a_log_of_short_replies_is_refused(tmp_path: Path) -> None:
    stored(tmp_path, [Exchange((f"tea {i}",), "tea .", f"talk {i}") for i in range(20)])
    with pytest.raises(InputError, match="no reply has 4 tokens"):
        train(scorer_job(tmp_path, SMALL), tmp_path / "out", device="cpu")


def test_spoiled_replies_may_stand_beside_others(tmp_path: Path) -> None:
    settings = RelevanceSettings(batch=32, context=24, reply=12, negatives="random,spoiled")
    folder = small_scorer(tmp_path, settings=settings)
    assert RelevanceScorer.load(folder, device="cpu").scores([["tea ?"]], ["tea ."]).shape == (1,)


def test_the_two_kinds_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    valid, relevance = small_scorer(tmp_path / "a", settings=SMALL), small_scorer(tmp_path / "b")
    with pytest.raises(InputError, match="contains a 'relevance', not a 'valid'"):
        ValidScorer.load(relevance)
    with pytest.raises(InputError, match="contains a 'valid', not a 'relevance'"):
        RelevanceScorer.load(valid)
    assert ValidScorer.load(valid, device="cpu").signature().startswith("valid-")
