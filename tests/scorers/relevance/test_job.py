from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interloq.data.token_texts import Texts
from interloq.errors import InputError
from interloq.learn.job import train
from interloq.learn.store import load_model, save_model
from interloq.models.subwords import Subwords
from interloq.retrieve.similar import near
from interloq.scorers.relevance.examples import NONE, Exchange, Exchanges, write_exchanges
from interloq.scorers.relevance.job import labelled, wins
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.scorers.relevance.negatives import GROUP, MARK, draw, spoil, token_kinds
from interloq.scorers.relevance.settings import EDITS, Reading, Relevance
from interloq.scorers.relevance.task import RelevanceTask, start
from tests.made_relevance import SMALL, exchanges, scorer_job, small_scorer, stored, talks, tiny_encoder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Exchanges, Subwords]:
    wrong = exchanges(talks(20, seed=5), origin=1, wrong=("tea tea tea .", "rain rain rain ."))
    return stored(tmp_path_factory.mktemp("made"), [*exchanges(talks(60)), *wrong])


def texts(found: Exchanges, subwords: Subwords) -> list[str]:
    from interloq.models.pretrained import load_tokenizer

    tokenizer = load_tokenizer(subwords.folder)
    pieces = [tokenizer.convert_ids_to_tokens(found.texts[i].tolist()) for i in range(len(found.lengths))]
    return [" ".join(row).replace(" ##", "") for row in pieces]


# ---- exchanges on disk -----------------------------------------------------------------------------------------------


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
    reading = Reading(turns=3, dev=10)
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
    with pytest.raises(InputError, match="no exchange with text"):
        stored(tmp_path / "none", blank)
    with pytest.raises(InputError, match="1 different dialogues"):
        stored(tmp_path / "one", exchanges(talks(1)))


def test_examples_of_other_settings_are_refused(tmp_path: Path) -> None:
    stored(tmp_path, exchanges(talks(8)))
    with pytest.raises(InputError, match="the examples have reading"):
        train(scorer_job(tmp_path, turns=2), tmp_path / "out", device="cpu")
    with pytest.raises(InputError, match="the examples have source made, not other"):
        train(replace(scorer_job(tmp_path), source="other"), tmp_path / "out", device="cpu")
    with pytest.raises(InputError, match="name logs"):
        train(replace(scorer_job(tmp_path), examples=tmp_path / "nothing"), tmp_path / "out", device="cpu")


def test_near_is_bm25_without_frequent_tokens_and_first_ranks() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 40, rng.integers(1, 9)).tolist() for _ in range(60)]
    documents = packed(rows)
    asked = rows[:5]
    found = near(documents, packed(asked), 6)
    for query, places in zip(asked, found.tolist(), strict=True):
        scores = literal_bm25(query, rows)
        best = sorted((i for i in range(60) if scores[i] > 0), key=lambda i: (-scores[i], i))[4:10]
        assert [scores[i] for i in places if i >= 0] == pytest.approx([scores[i] for i in best], rel=1e-4)


def packed(rows: list[list[int]]) -> Texts:
    return Texts(
        np.array([token for row in rows for token in row], dtype=np.int32),
        np.concatenate([[0], np.cumsum([len(r) for r in rows])]),
    )


def literal_bm25(query: list[int], rows: list[list[int]]) -> list[float]:
    df = Counter(token for row in rows for token in set(row))
    mean = sum(map(len, rows)) / len(rows)
    scores = []
    for row in rows:
        total = 0.0
        for token in query:
            if df[token] <= 10 and (tf := row.count(token)):
                idf = np.log1p((len(rows) - df[token] + 0.5) / (df[token] + 0.5))
                total += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(row) / mean))
        scores.append(total)
    return scores


# ---- wrong replies ---------------------------------------------------------------------------------------------------


def test_wrong_replies_were_never_given_to_the_utterance(made: tuple[Exchanges, Subwords]) -> None:
    found, subwords = made
    said, own = texts(found, subwords), found.range("train")
    true = {(said[c[-1]], said[r]) for c, r in zip(found.contexts, found.replies, strict=True)}
    settings = replace(SMALL, negatives="random,retrieved,adversarial,random")
    drawn = draw(found, "train", 1, settings)
    for row, (wrong, spoiled) in enumerate(zip(drawn.texts, drawn.spoiled, strict=True)):
        last = said[found.contexts[own.start + row, -1]]
        for text, how in zip(wrong, spoiled, strict=True):
            if how:
                assert text == found.replies[own.start + row]
            else:
                assert (last, said[text]) not in true
    replies = {origin: set(found.replies[own][found.origins[own] == origin].tolist()) for origin in (0, 1)}
    for origin, text in zip(found.origins[own], drawn.texts[:, 0], strict=True):
        assert int(text) in replies[int(origin)]


def test_draws_are_the_same_for_a_seed_and_differ_between_epochs(made: tuple[Exchanges, Subwords]) -> None:
    first, again, later, other = (
        draw(made[0], "train", epoch, replace(SMALL, seed=seed)) for epoch, seed in ((1, 0), (1, 0), (2, 0), (1, 1))
    )
    assert np.array_equal(first.texts, again.texts)
    assert np.array_equal(first.spoiled, again.spoiled)
    for each in (later, other):
        assert (first.texts != each.texts).mean() > 0.3


def test_adversarial_replies_are_of_the_kinds_asked_for(made: tuple[Exchanges, Subwords]) -> None:
    found, own = made[0], made[0].range("train")
    shares = dict.fromkeys(EDITS, 0.0)
    for kind in EDITS:
        settings = Relevance(negatives="adversarial", written=0, **shares | {kind: 1.0})  # type: ignore[arg-type]
        drawn = draw(found, "train", 1, settings)
        if kind == "parrot":
            contexts = found.contexts[own]
            assert (contexts == drawn.texts).any(axis=1).mean() > 0.95  # "hello" may answer "hello"
        elif kind == "other":
            same = [found.replies[found.talks == talk] for talk in found.talks[own]]
            inside = [t in group for t, group in zip(drawn.texts[:, 0], same, strict=True)]
            assert np.mean(inside) > 0.9
        else:
            assert (drawn.spoiled == EDITS.index(kind)).mean() > 0.5  # short replies are not spoiled
    written = draw(found, "train", 1, Relevance(negatives="adversarial", written=1))
    which = found.origins[own] == 1
    assert set(written.texts[which, 0].tolist()) == set(found.wrong.tolist())


def test_settings_are_checked() -> None:
    for options in ({"negatives": "random,wrong"}, {"batch": 0}, {"other": -1.0}, {"written": 2.0}, {"seed": -1}):
        with pytest.raises(InputError):
            Relevance(**options)
    with pytest.raises(InputError):
        Reading(turns=0)


KINDS = np.array([0] * 8 + [GROUP] * 4 + [MARK] * 2, dtype=np.int8)


@given(st.lists(st.integers(0, 11), min_size=5, max_size=20), st.booleans(), st.integers(0, 9))
def test_spoiled_replies_consist_of_the_words_of_the_true_one(tokens: list[int], ends: bool, seed: int) -> None:
    """Token 0 to 7 begin words, 8 to 11 go on with one, 12 and 13 are marks."""
    whole = np.array([0, *tokens, *([13] if ends else [])])
    words = in_words(whole)
    made = {
        kind: in_words(spoil(whole, EDITS.index(kind), KINDS, np.random.default_rng(seed)))
        for kind in ("shuffled", "dropped", "repeated", "cut")
    }
    assert Counter(made["shuffled"]) == Counter(words)
    assert Counter(made["dropped"]) <= Counter(words)
    assert subsequence(made["dropped"], words)
    assert Counter(made["repeated"]) >= Counter(words)
    assert subsequence(words, made["repeated"])
    body = made["cut"][:-1] if ends else made["cut"]
    assert body == words[: len(body)]
    for each in made.values():
        assert (each[-1] == (13,)) == ends


def in_words(tokens: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[tuple[int, ...]]:
    words: list[tuple[int, ...]] = []
    for token in tokens.tolist():
        if 8 <= token <= 11 and words:
            words[-1] = (*words[-1], token)
        else:
            words.append((token,))
    return words


def subsequence(short: list[tuple[int, ...]], long: list[tuple[int, ...]]) -> bool:
    rest = iter(long)
    return all(word in rest for word in short)


def test_pieces_that_go_on_and_marks_are_known(made: tuple[Exchanges, Subwords]) -> None:
    kinds = token_kinds(made[1])
    for text, wanted in (("cats", [0, GROUP]), ("tea ?", [0, MARK])):
        assert kinds[made[1].texts([text])[0]].tolist() == wanted


# ---- learning --------------------------------------------------------------------------------------------------------


def test_rows_are_those_that_the_scorer_reads(made: tuple[Exchanges, Subwords]) -> None:
    found, subwords = made
    settings = replace(SMALL, shuffled=0, dropped=0, repeated=0, cut=0)
    task = RelevanceTask(start(subwords.folder, 0), found, settings, subwords)
    said = texts(found, subwords)
    scorer = RelevanceScorer(task.network, subwords, {"config": {"context": 24, "reply": 12}}, "cpu")
    examples = task.batches("train", 2)[0]
    batch = task.prepare("train", examples)
    own, drawn = found.range("train"), draw(found, "train", 2, settings)
    n = len(found.talks[own])
    asked = []
    for i in (examples - 2 * n).tolist():
        context = tuple(said[turn] for turn in found.contexts[own.start + i] if turn != NONE)
        replies = [found.replies[own.start + i], *drawn.texts[i]]
        asked += [(context, said[reply]) for reply in replies]
    for row, (before, after) in enumerate(scorer._read(asked)):
        wanted = [subwords.start, *before, subwords.end, *after, subwords.end]
        ids, mask, kinds = (part[row].tolist() for part in (batch.rows.ids, batch.rows.mask, batch.rows.kinds))
        assert ids == wanted + [subwords.pad] * (len(ids) - len(wanted))
        assert sum(mask) == len(wanted)
        assert kinds == [0] * (len(before) + 2) + [1] * (len(after) + 1) + [0] * (len(ids) - len(wanted))


@pytest.mark.parametrize("loss", ["binary", "listwise"])
def test_loss_is_the_formula(made: tuple[Exchanges, Subwords], loss: Literal["binary", "listwise"]) -> None:
    found, subwords = made
    task = RelevanceTask(start(subwords.folder, 0), found, replace(SMALL, loss=loss), subwords)
    task.network.eval()
    batch = task.prepare("dev", task.batches("dev", 0)[0])
    total = 0.0
    for true, *wrong in task.logits(batch).double().tolist():
        if loss == "listwise":
            total += np.log(sum(np.exp(z) for z in (true, *wrong))) - true
        else:
            others = [np.log1p(np.exp(z)) for z in wrong]
            total += (np.log1p(np.exp(-true)) + sum(others) / len(others)) / 2
    assert float(task.loss(batch).detach()) == pytest.approx(total, rel=1e-4)


def test_it_learns_what_belongs_together(tmp_path: Path) -> None:
    """Enough data and steps for any seed: of the first five the worst has .72 of the wins."""
    stored(tmp_path, exchanges(talks(600), most=1), turns=1, dev=90)
    folder, settings = tmp_path / "relevance", replace(SMALL, negatives="random")
    job = scorer_job(tmp_path, settings, turns=1, dev=90, epochs=20, patience=20)
    facts = train(job, folder, device="cpu")
    assert facts["wins"]["random"] > 0.65  # chance is .5, give or take .05
    scorer = RelevanceScorer.load(folder, device="cpu")
    good, bad = scorer.scores([["we like tea ."]] * 2, ["i really like tea .", "i really like trains ."])
    assert good > bad
    told = json.loads((folder / "calibration.json").read_text())
    assert told["temperature"] == facts["temperature"]
    assert len(json.loads((folder / "learning_curve.json").read_text())["epochs"]) == 20


def test_more_tokens_than_the_encoder_reads_are_refused(tmp_path: Path) -> None:
    stored(tmp_path, exchanges(talks(8)))
    with pytest.raises(InputError, match="reads 64 tokens, and context and reply have up to 147"):
        train(scorer_job(tmp_path, Relevance()), tmp_path / "out", device="cpu")


def test_wins_and_labels() -> None:
    logits = np.array([[1.0, 0.0, 2.0], [1.0, 1.0, 0.0]])
    assert wins(logits, Relevance(negatives="random,adversarial")) == {"random": 0.75, "adversarial": 0.5}
    values, labels = labelled(logits)
    assert values.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert labels.tolist() == [1, 1, 0, 0]


# ---- folders ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scorer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_scorer(tmp_path_factory.mktemp("scorer"))


def test_damaged_folders_are_refused(scorer_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model in the folder"):
        RelevanceScorer.load(tmp_path)
    other = shutil.copytree(scorer_folder, tmp_path / "other")
    tiny = tiny_encoder(tmp_path / "tiny")
    text = (tiny / "tokenizer.json").read_text().replace('"tea"', '"tee"')
    (other / "tokenizer.json").write_text(text)
    with pytest.raises(InputError, match="not the one the scorer was trained with"):
        RelevanceScorer.load(other)
    facts, tensors = load_model(scorer_folder, kind="relevance")
    save_model(tmp_path / "kind", tensors, facts | {"kind": "rater"})
    with pytest.raises(InputError, match="holds a 'rater'"):
        RelevanceScorer.load(tmp_path / "kind")
    nan = shutil.copytree(scorer_folder, tmp_path / "nan")
    save_model(nan, tensors | {"head.bias": torch.full((1,), torch.nan)}, facts)
    with pytest.raises(InputError, match="NaN"):
        RelevanceScorer.load(nan)


def test_the_folder_needs_no_other(scorer_folder: Path, tmp_path: Path) -> None:
    alone = shutil.copytree(scorer_folder, tmp_path / "alone")
    asked = ([["tea ?"], ["tea ?", "rain ."]], ["tea .", "rain !"])
    first, second = (RelevanceScorer.load(folder, device="cpu").scores(*asked) for folder in (scorer_folder, alone))
    assert np.array_equal(first, second)
