"""Settings of causal bots, and the tokens of speakers."""

from __future__ import annotations

import pytest

from interloq.errors import InputError
from interloq.play.causal.settings import OWN, SHARED, TRAINABLE, CausalSettings, find_speaker_token
from tests.made_lm import byte_tokenizer


def test_users_without_a_token_share_one() -> None:
    tokenizer = byte_tokenizer(eos_token="<|endoftext|>")  # noqa: S106
    assert find_speaker_token(tokenizer, "") is None
    with pytest.raises(InputError, match="no speaker tokens; omit user, or train it with --speaker-token"):
        find_speaker_token(tokenizer, "ann")
    tokenizer.add_special_tokens({"additional_special_tokens": [SHARED, OWN.format("ann")]})
    shared, own = tokenizer.convert_tokens_to_ids([SHARED, "<|user:ann|>"])
    assert find_speaker_token(tokenizer, "ann") == own
    assert find_speaker_token(tokenizer, "nobody") == find_speaker_token(tokenizer, "") == shared


@pytest.mark.parametrize(
    ("options", "message"),
    [({"layers": 2}, "2 layers need --reinitialise"), ({"reverse": True, "speaker_token": True}, "no speaker tokens")],
)
def test_settings_that_exclude_each_other_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CausalSettings(**options)  # type: ignore[arg-type]


def test_a_model_makes_it_another_job() -> None:
    option, causal = TRAINABLE.instead or ("", TRAINABLE)
    assert (option, causal.job) == ("model", "interloq.play.causal.job:from_log")
    assert "vocabulary" not in {name for _, name in causal.options()}
