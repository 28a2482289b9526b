"""What can be relied on in an encoder's network, tried on a few tokens instead of known by its kind.

Layers above the one that is wanted can be dropped where the rest then gives out that layer's states. Not so where the
network changes states after its last layer, as ModernBERT does, or has one layer that it runs many times, as ALBERT
does: such a network is kept whole and its inner states are taken. Padding changes nothing in most networks; where it
does, as in those that look at neighbours whatever the mask says, only texts of equal length may share a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from interloq.errors import InputError

ROWS = (1, 6, 9)  # tokens of the rows that are tried, together and each by itself
NEAR = 1e-4
FAILURE = (ArithmeticError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Habits:
    """What a trial found out about an encoder."""

    cut: bool  # the layers above the wanted one are gone
    takes_padding: bool


def layers_of(model: Any, where: str) -> int:
    """How many layers an encoder has; what is not an encoder of texts is refused."""
    layers = getattr(model.config, "num_hidden_layers", None)
    if getattr(model.config, "is_encoder_decoder", False) or layers is None:
        raise _strange(model, where)
    return int(layers)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def tried(model: Any, layer: int, pad: int, where: str) -> Habits:
    """Drops the layers above `layer` where that is possible. The model is on the processor, in float32."""
    try:
        alone = [_whole(model, row, layer) for row in _rows(model)]
    except FAILURE as error:
        raise _strange(model, where) from error
    cut = _cut(model, layer, alone)
    return Habits(cut, _padded(model, layer, pad, alone, cut=cut))


def _rows(model: Any) -> list[torch.Tensor]:
    size = int(model.get_input_embeddings().num_embeddings)
    return [torch.tensor([(7 * i + 5) % size for i in range(length)]) for length in ROWS]


def _whole(model: Any, row: torch.Tensor, layer: int) -> torch.Tensor:
    ids = row[None]
    found = model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
    return found.hidden_states[layer][0]


def _cut(model: Any, layer: int, expected: list[torch.Tensor]) -> bool:
    """Encoders keep their layers in one list; those of a list that was cut in vain come back."""
    lists = [part for part in model.modules() if isinstance(part, torch.nn.ModuleList)]
    stack = next((part for part in lists if len(part) == model.config.num_hidden_layers), None)
    if stack is None:
        return False
    above = list(stack[layer:])
    del stack[layer:]
    try:
        found = [model(input_ids=row[None], attention_mask=torch.ones_like(row[None])) for row in _rows(model)]
        if all(_near(own.last_hidden_state[0], other) for own, other in zip(found, expected, strict=True)):
            return True
    except FAILURE:
        pass  # it cannot do with fewer
    stack.extend(above)
    return False


def _padded(model: Any, layer: int, pad: int, alone: list[torch.Tensor], *, cut: bool) -> bool:
    rows = _rows(model)
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
    mask = (torch.arange(ids.shape[1]) < torch.tensor(ROWS)[:, None]).long()
    found = model(input_ids=ids, attention_mask=mask, output_hidden_states=not cut)
    states = found.last_hidden_state if cut else found.hidden_states[layer]
    return all(_near(row[:length], own) for row, length, own in zip(states, ROWS, alone, strict=True))


def _near(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and bool(torch.allclose(one, other, rtol=NEAR, atol=NEAR))


def _strange(model: Any, where: str) -> InputError:
    kind = model.config.model_type
    return InputError(f"models of type {kind!r} are no encoders of texts", hint="use a BERT-like encoder", where=where)
