"""Linear layers whose weights are laid out once for the processor's cache, not anew for every batch.

oneDNN multiplies packed weights faster than the default library multiplies plain ones, a sixth on some processors. Its
operation is not among those that torch promises to keep, and a network may want more of a layer than its product. So
both are tried, and where a result is missing or does not agree the plain layers stay. For reading alone: packed weights
cannot learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

ROWS = 768  # for which the layout is chosen; any number of rows works
NEAR = 1e-4
TROUBLE = (AttributeError, NotImplementedError, RuntimeError, TypeError)


class PackedLinear(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, plain: torch.nn.Linear) -> None:
        super().__init__()
        self.register_buffer("packed", torch.ops.mkldnn._reorder_linear_weight(plain.weight.detach(), ROWS), False)
        self.bias = plain.bias

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.mkldnn._linear_pointwise(rows, self.packed, self.bias, "none", [], "")
        return found


@torch.inference_mode()  # type: ignore[untyped-decorator]
def pack(network: Any, probe: Callable[[], torch.Tensor]) -> None:
    """Packs the linear layers of a network on the processor, in float32; `probe` lets it calculate something."""
    expected = probe()
    plain = [
        (module, name, child)
        for module in network.modules()
        for name, child in module.named_children()
        if type(child) is torch.nn.Linear
    ]
    for module, name, child in plain:
        if (packed := _packed(child)) is not None:
            setattr(module, name, packed)
    try:
        agrees = torch.allclose(probe(), expected, rtol=NEAR, atol=NEAR)
    except TROUBLE:
        agrees = False
    if not agrees:
        for module, name, child in plain:
            setattr(module, name, child)


def _packed(plain: torch.nn.Linear) -> PackedLinear | None:
    rows = torch.linspace(-1, 1, 3 * plain.in_features).view(3, plain.in_features)
    try:
        found = PackedLinear(plain)
        return found if torch.allclose(found(rows), plain(rows), rtol=NEAR, atol=NEAR) else None
    except TROUBLE:
        return None
