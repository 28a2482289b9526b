"""Copies of the utterance among the negative examples of raters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq.errors import InputError
from interloq.rate.pairs import PARTS
from interloq.rate.parrots import Parrots, copy_utterance
from interloq.records import Pair
from tests.rate.made_log import content, log, make


def test_a_share_of_the_negatives_repeats_the_utterance_and_nothing_else_changes(tmp_path: Path) -> None:
    plain, data = make(log(3), tmp_path / "plain"), make(log(3), tmp_path / "made", parrots=Parrots(0.2))
    for part in PARTS:
        (rows, labels), (before, labels_before) = data.examples(part), plain.examples(part)
        changed = np.flatnonzero((rows != before).any(axis=1))
        assert labels.tolist() == labels_before.tolist()
        assert len(changed) == data.facts[part]["parrots"] == round(0.2 * np.sum(labels == 0))
        assert not labels[changed].any()
        assert (rows[:, :3] == before[:, :3]).all()
        for utterance, _, _, copied in rows[changed]:
            kept = iter(data.texts[utterance].tolist())
            assert all(token in kept for token in data.texts[copied].tolist()), "in the same order"
            assert len(data.texts[copied]) >= 2 / 3 * len(data.texts[utterance])


def test_without_parrots_nothing_changes(tmp_path: Path) -> None:
    plain = content(make(log(3), tmp_path / "plain").folder)
    assert content(make(log(3), tmp_path / "made", parrots=Parrots(0)).folder) == plain
    assert Parrots().parts == {}


def test_utterances_that_were_answered_with_themselves_are_not_copied(tmp_path: Path) -> None:
    same = [Pair("", f"hello {i}", text) for i in range(40) for text in (f"hello {i}", f"oh {i}")]
    data = make(same, tmp_path / "made", parrots=Parrots(0.5))
    assert [data.facts[part]["parrots"] for part in PARTS] == [0, 0]


def test_copies_of_several_turns_are_copies_of_one() -> None:
    rng, tokens = np.random.default_rng(0), np.array([1, 2, 9, 3, 4])
    copies = {tuple(copy_utterance(tokens, rng, between=9).tolist()) for _ in range(50)}
    assert copies == {(1, 2), (3, 4)}


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_the_share_is_checked(share: Any) -> None:
    with pytest.raises(InputError, match="parrots must"):
        Parrots(share)
