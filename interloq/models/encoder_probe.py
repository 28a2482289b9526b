# SPDX-License-Identifier: Apache-2.0
"""How an encoder network behaves, found by running it on a few tokens rather than by its model type.

Layers above the wanted one can be dropped if the remaining network then returns the wanted layer's states. That fails
if the network changes states after its last layer, as ModernBERT does, or runs one layer many times, as ALBERT does:
such a network is kept whole and its hidden states are used. Padding changes nothing in most networks. If it does, as in
networks that look at neighbours regardless of the mask, only texts of equal length may share a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from interloq.errors import InputError

ROWS = (1, 6, 9)  # tokens of the test rows, which are run together and one by one
NEAR = 1e-4
FAILURE = (ArithmeticError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Result of a probe."""

    cut: bool  # the layers above the wanted one were dropped
    padding_is_safe: bool  # padding does not change the states


def layers_of(model: Any, where: str) -> int:
    """Number of layers of a text encoder; other models are refused."""
    layers = getattr(model.config, "num_hidden_layers", None)
    if getattr(model.config, "is_encoder_decoder", False) or layers is None:
        raise _not_an_encoder(model, where)
    return int(layers)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def probe(model: Any, layer: int, pad: int, where: str) -> Behaviour:
    """Probe a model on the CPU in float32, and drop the layers above `layer` if possible."""
    try:
        alone = [_whole(model, row, layer) for row in _rows(model)]
    except FAILURE as error:
        raise _not_an_encoder(model, where) from error
    cut = _cut(model, layer, alone)
    return Behaviour(cut, _padding_is_safe(model, layer, pad, alone, cut=cut))


def _rows(model: Any) -> list[torch.Tensor]:
    size = int(model.get_input_embeddings().num_embeddings)
    return [torch.tensor([(7 * i + 5) % size for i in range(length)]) for length in ROWS]


def _whole(model: Any, row: torch.Tensor, layer: int) -> torch.Tensor:
    ids = row[None]
    output = model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
    return output.hidden_states[layer][0]


def _cut(model: Any, layer: int, expected: list[torch.Tensor]) -> bool:
    """Drop the layers above `layer` from the network's list of layers; put them back if that does not work."""
    lists = [part for part in model.modules() if isinstance(part, torch.nn.ModuleList)]
    stack = next((part for part in lists if len(part) == model.config.num_hidden_layers), None)
    if stack is None:
        return False
    above = list(stack[layer:])
    del stack[layer:]
    try:
        outputs = [model(input_ids=row[None], attention_mask=torch.ones_like(row[None])) for row in _rows(model)]
        if all(_near(own.last_hidden_state[0], other) for own, other in zip(outputs, expected, strict=True)):
            return True
    except FAILURE:
        pass  # the network needs all its layers
    stack.extend(above)
    return False


def _padding_is_safe(model: Any, layer: int, pad: int, alone: list[torch.Tensor], *, cut: bool) -> bool:
    rows = _rows(model)
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
    mask = (torch.arange(ids.shape[1]) < torch.tensor(ROWS)[:, None]).long()
    output = model(input_ids=ids, attention_mask=mask, output_hidden_states=not cut)
    states = output.last_hidden_state if cut else output.hidden_states[layer]
    return all(_near(row[:length], own) for row, length, own in zip(states, ROWS, alone, strict=True))


def _near(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and bool(torch.allclose(one, other, rtol=NEAR, atol=NEAR))


def _not_an_encoder(model: Any, where: str) -> InputError:
    kind = model.config.model_type
    return InputError(f"models of type {kind!r} are not text encoders", hint="use a BERT-like encoder", where=where)
