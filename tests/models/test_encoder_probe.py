"""How encoders behave, found by running them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from interloq import InputError
from interloq.models.encoder_probe import layers_of, probe
from tests.made_network import random_network, sizes


def network(kind: str, **config: Any) -> Any:
    return random_network(kind, vocab_size=40, **sizes(layers=3), **config).eval()


def test_layers_above_the_wanted_one_are_dropped_if_nothing_changes() -> None:
    model = network("bert")
    ids = torch.tensor([[5, 12, 19]])
    wanted = model(input_ids=ids, output_hidden_states=True).hidden_states[2]
    found = probe(model, 2, 0, "x")
    assert (found.cut, found.padding_is_safe) == (True, True)
    assert len(model.encoder.layer) == 2
    assert torch.allclose(model(input_ids=ids).last_hidden_state, wanted, atol=1e-5)


def test_a_network_that_runs_one_layer_many_times_is_kept_whole() -> None:
    model = network("albert", embedding_size=16)
    assert not probe(model, 2, 0, "x").cut
    assert layers_of(model, "x") == 3


def test_padding_that_changes_states_is_noticed() -> None:
    model = network("bert")
    forward = model.forward

    def deaf(attention_mask: Any, **options: Any) -> Any:
        return forward(**options)

    model.forward = deaf
    assert not probe(model, 3, 0, "x").padding_is_safe


def test_what_is_not_a_text_encoder_is_refused() -> None:
    model = network("bert")
    model.config.is_encoder_decoder = True
    with pytest.raises(InputError, match=r"here: models of type 'bert'"):
        layers_of(model, "here")

    def failing(**_: Any) -> Any:
        raise ValueError("pixels")

    model.forward = failing
    with pytest.raises(InputError, match="'bert'"):
        probe(model, 1, 0, "here")
