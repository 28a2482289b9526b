from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.scorers.judge.model import pair_hash
from interloq.scorers.judge.rated import RatedSets
from interloq.scorers.judge.replies import NAME, RatedReplies
from interloq.scorers.judge.settings import TuneSettings
from interloq.scorers.relevance.model import RelevanceScorer
from tests.made_judge import rated


@pytest.fixture(scope="module")
def replies(scorer: Path) -> RatedReplies:
    sets = RatedSets.of_sets([("a", rated(60)), ("b", rated(40, seed=1)), ("few", rated(4, seed=2))])
    loaded = RelevanceScorer.load(scorer, device="cpu")
    return RatedReplies.of(sets, loaded, TuneSettings(least=20), lambda _: None)


def test_replies_are_tokenised_as_the_scorer_reads_them(replies: RatedReplies, scorer: Path) -> None:
    first = rated(60)[7]
    (wanted,) = RelevanceScorer.load(scorer, device="cpu").token_rows(
        [[t.text for t in first.context]], [first.response]
    )
    assert [replies.texts[2 * 7 + i].tolist() for i in range(2)] == [part.tolist() for part in wanted]
    assert replies.hashes[7] == pair_hash(first)
    assert len(replies.texts.lengths) == 2 * len(replies.targets) == 200
    assert np.bincount(replies.sets).tolist() == [60, 40]


def test_they_are_saved_and_loaded(replies: RatedReplies, tmp_path: Path) -> None:
    assert not RatedReplies.written(tmp_path)
    replies.save(tmp_path)
    assert RatedReplies.written(tmp_path)
    found = RatedReplies.load(tmp_path)
    assert all(np.array_equal(getattr(found, item.name), getattr(replies, item.name)) for item in fields(found))
    (tmp_path / NAME).write_bytes(b"no archive")
    with pytest.raises(InputError, match=str(tmp_path)):
        RatedReplies.load(tmp_path)
