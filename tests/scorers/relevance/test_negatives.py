"""Wrong replies: drawn, adversarial and spoiled."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from interloq.models.pretrained import Subwords
from interloq.scorers.relevance.examples import Exchanges, Part
from interloq.scorers.relevance.negatives import GROUP, MARK, draw, spoil, token_kinds
from interloq.scorers.relevance.settings import EDITS, RelevanceSettings
from tests.made_relevance import SMALL, exchanges, stored, talks
from tests.scorers.relevance.made_examples import texts


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


def test_a_log_with_one_exchange_draws_from_all_logs(tmp_path: Path) -> None:
    alone = exchanges(talks(1, turns=2, seed=7), origin=1)
    found, _ = stored(tmp_path, [*exchanges(talks(40)), *alone])
    part: Part = "dev" if 1 in found.origins[found.range("dev")] else "train"
    drawn = draw(found, part, 1, SMALL)
    assert (drawn.texts >= 0).all()
    place = int(np.flatnonzero(found.origins[found.range(part)] == 1)[0])
    assert found.replies[found.range(part)][place] not in drawn.texts[place, :2]


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
        settings = RelevanceSettings(negatives="adversarial", written=0, **shares | {kind: 1.0})  # type: ignore[arg-type]
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
    written = draw(found, "train", 1, RelevanceSettings(negatives="adversarial", written=1))
    which = found.origins[own] == 1
    assert set(written.texts[which, 0].tolist()) == set(found.wrong.tolist())


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
