"""Linear layers whose weights are laid out once for the processor's cache, not anew for every batch.

oneDNN multiplies packed weights faster than the default library multiplies plain ones, a sixth on some processors. Its
operation is not among those that torch promises to keep, so it is tried on every layer, and where it is missing or does
not agree the plain layer stays. For reading alone: packed weights cannot learn.
"""

from __future__ import annotations

from typing import Any

import torch

ROWS = 768  # for which the layout is chosen; any number of rows works
NEAR = 1e-4
TROUBLE = (AttributeError, NotImplementedError, RuntimeError)


class PackedLinear(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, plain: torch.nn.Linear) -> None:
        super().__init__()
        self.register_buffer("packed", torch.ops.mkldnn._reorder_linear_weight(plain.weight.detach(), ROWS), False)
        self.bias = plain.bias

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.mkldnn._linear_pointwise(rows, self.packed, self.bias, "none", [], "")
        return found


@torch.inference_mode()  # type: ignore[untyped-decorator]
def pack(network: Any) -> None:
    """Packs the linear layers of a network that is on the processor, in float32."""
    for module in network.modules():
        for name, child in module.named_children():
            if type(child) is torch.nn.Linear and (packed := _packed(child)) is not None:
                setattr(module, name, packed)


def _packed(plain: torch.nn.Linear) -> PackedLinear | None:
    rows = torch.linspace(-1, 1, 3 * plain.in_features).view(3, plain.in_features)
    try:
        found = PackedLinear(plain)
        return found if torch.allclose(found(rows), plain(rows), rtol=NEAR, atol=NEAR) else None
    except TROUBLE:
        return None
