"""What metrics of context and reply share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from interloq import Sample
from interloq.metrics.metric import Array
from interloq.metrics.network_metric import NO_CONTEXT, ContextReply, needs_context


class Asked:
    """Scores a reply by its length, and remembers what it was asked."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def scores(self, contexts: Sequence[str], replies: Sequence[str]) -> Array:
        self.seen += zip(contexts, replies, strict=True)
        return np.array([len(reply) / 10 for reply in replies])


NETWORK = Asked()


@dataclass(frozen=True)
class Made(ContextReply):
    def network(self) -> Asked:
        return NETWORK


def test_only_replies_with_text_are_asked_about() -> None:
    texts: list[tuple[list[str], str]] = [(["a", "b"], "four"), (["a"], " "), ([], "x"), (["a", ""], "x")]
    given = [Sample(str(i), context, reply) for i, (context, reply) in enumerate(texts)]
    rows = Made("folder").stats(given)
    assert rows[:, 0].tolist() == pytest.approx([0.4, 0.0, np.nan, np.nan], nan_ok=True)
    assert NETWORK.seen == [("b", "four")]
    assert Made("folder").value(rows[:2].sum(axis=0)) == pytest.approx(0.2)


def test_a_sample_without_an_utterance_has_a_reason() -> None:
    assert needs_context(Sample("1", ["a", " "], "x")) == NO_CONTEXT
    assert needs_context(Sample("1", ["a"], "x")) is None
