"""Settings of raters."""

from __future__ import annotations

import pytest

from interloq import InputError
from interloq.rate.settings import TRAINABLE, Batching, Shape


@pytest.mark.parametrize("field", ["embedding", "hidden", "layers", "width"])
def test_sizes_are_positive(field: str) -> None:
    with pytest.raises(InputError, match=f"{field} must be at least 1, got 0"):
        Shape(**{field: 0})
    with pytest.raises(InputError, match="tokens must be at least 1"):
        Batching(tokens=0)


def test_an_encoder_trains_another_kind_of_rater() -> None:
    assert TRAINABLE.instead is not None
    option, other = TRAINABLE.instead
    names = [{name for _, name in job.options()} for job in (TRAINABLE, other)]
    assert option == "encoder"
    assert {"hidden", "vocabulary"} <= names[0] - names[1]
    assert {"encoder", "batch", "epochs"} <= names[0] & names[1]


def test_the_result_warns_of_a_rater_that_learned_nothing() -> None:
    curve = [{"epoch": 1, "dev_loss": 0.7}, {"epoch": 2, "dev_loss": 0.69}]
    text = TRAINABLE.result({"temperature": 1.25}, curve)
    assert "epochs: 2, dev loss 0.6900" in text
    assert "temperature 1.25" in text
    assert "note:" in text
    assert "note:" not in TRAINABLE.result({"temperature": 1.0}, [{"epoch": 1, "dev_loss": 0.2}])
