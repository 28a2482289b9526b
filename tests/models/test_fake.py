"""The fake encoder."""

from __future__ import annotations

from interloq.models.fake import FakeEncoder


def test_the_fake_encoder_is_deterministic_and_shares_words() -> None:
    rows = FakeEncoder(64).sentences(["red apple", "red apple", "red pear", "blue sky"])
    assert (rows[0] == rows[1]).all()
    assert rows[0] @ rows[2] > rows[0] @ rows[3]
