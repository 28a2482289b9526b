"""References that come transposed are refused."""

from __future__ import annotations

import pytest

from interloq import InputError, Sample, evaluate, from_columns
from tests.metrics.made_given import OWN, REPLIES


def test_transposed_columns_are_refused() -> None:
    streams = [list(column) for column in zip(*OWN, strict=True)]
    with pytest.raises(InputError, match="references look transposed: 2 lists of 3 texts for 3 responses"):
        from_columns(REPLIES, streams)
    with pytest.raises(InputError, match="2 references for 3 responses"):
        from_columns(REPLIES, OWN[:2])
    with pytest.raises(InputError, match="1 contexts for 3 responses"):
        from_columns(REPLIES, OWN, contexts=["a"])


def test_every_sample_holding_all_references_is_refused() -> None:
    """The silent perfect score: each reply finds itself among the references of all replies."""
    samples = [Sample(str(i), f"context {i}", reply, REPLIES) for i, reply in enumerate(REPLIES)]
    with pytest.raises(InputError, match="references look transposed: 3 samples with 3 references each"):
        evaluate("bleu", samples)


@pytest.mark.parametrize("n_streams", [2, 3])
def test_transposed_records_are_refused(n_streams: int) -> None:
    full = [[*refs, refs[0] + " indeed"] for refs in OWN]
    streams = [[refs[k] for refs in full] for k in range(n_streams)]
    samples = [Sample(str(i), "", REPLIES[i], stream) for i, stream in enumerate(streams)]
    with pytest.raises(InputError, match="references look transposed"):
        evaluate("delta_bleu", samples)


def test_a_square_that_is_right_is_scored() -> None:
    full = [[*refs, refs[0] + " indeed"] for refs in OWN]
    samples = [Sample(str(i), "", reply, refs) for i, (reply, refs) in enumerate(zip(REPLIES, full, strict=True))]
    assert evaluate("bleu", samples).n == 3
    same = [Sample(str(i), "one context", reply, OWN[0]) for i, reply in enumerate(REPLIES[:2])]
    assert evaluate("bleu", same).n == 2, "two systems that answer one context share its references"
