# SPDX-License-Identifier: Apache-2.0
"""Low-rank updates of a pretrained network: LoRA (Hu et al., 2022).

    W' = W + s · B A        A [rank, in] random, B [out, rank] zero at first; s is α / rank in the paper

Every linear layer of the encoder gets an update: attention and feed-forward layers alike. The encoder's own weights are
frozen; all weights of the head on top of it are trained. Only the updates and the head are stored, in half precision.
For scoring, the updates are added to the encoder's weights, so scoring costs no more than with the encoder alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.nn.utils import parametrize

from interloq.errors import InputError
from interloq.learn.settings import LowRank
from interloq.learn.store import check_shapes
from interloq.models.cpu_linear import find_stored_weights, release_pages

if TYPE_CHECKING:  # every training imports this module, and trainings of our own networks need no transformers
    from interloq.models.cross_encoder import CrossEncoder

STORED = torch.float16  # more precise than bfloat16, and updates are far from its limits
PART = ".parametrizations.weight.0."  # torch puts this between the names of a layer and of its update's matrix


class Update(torch.nn.Module):  # type: ignore[misc]
    """The update of one weight matrix."""

    def __init__(self, weight: torch.Tensor, settings: LowRank) -> None:
        super().__init__()
        rows, columns = weight.shape
        bound = columns**-0.5
        options = {"device": weight.device, "dtype": weight.dtype}
        self.a = torch.nn.Parameter(torch.empty(settings.low_rank, columns, **options).uniform_(-bound, bound))
        self.b = torch.nn.Parameter(torch.zeros(rows, settings.low_rank, **options))
        self.scale = settings.low_rank_scale

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the weights with the update."""
        return weight + self.scale * (self.b @ self.a)


def attach(network: CrossEncoder, settings: LowRank, *, seed: int) -> None:
    """Add updates to the encoder's linear layers and freeze the rest, except the head; rank 0 changes nothing."""
    if not settings.low_rank:
        return
    layers = list(_layers(network))
    sizes = [min(layer.weight.shape) for _, layer in layers]
    least = min(sizes, default=settings.low_rank)
    if settings.low_rank > least:
        what = f"updates of rank {settings.low_rank} are larger than the encoder's smallest layer"
        raise InputError(f"{what}, which has {least} units", hint=f"choose --low-rank {least} or less")
    network.encoder.requires_grad_(False)
    if settings.low_rank_biases:
        for parameter in network.encoder.parameters():
            if parameter.dim() == 1:
                parameter.requires_grad_(True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for _, layer in layers:
            parametrize.register_parametrization(layer, "weight", Update(layer.weight, settings), unsafe=True)


def merge(network: CrossEncoder) -> None:
    """Add the updates to the weights; the network then has its usual layers, and all of them can be trained."""
    with torch.no_grad():
        for _, layer in _layers(network):
            if parametrize.is_parametrized(layer, "weight"):
                pretrained = find_stored_weights(layer)
                parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
                release_pages(pretrained)
    network.requires_grad_(True)


def select_stored_tensors(network: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return all weights of a network; if it has updates, only those that were trained, in half precision."""
    if not has_updates(network):
        return dict(network.state_dict())
    return {name: parameter.detach().to(STORED) for name, parameter in _find_trained_parameters(network)}


def round_as_stored(network: torch.nn.Module) -> None:
    """Round updates and head to their stored precision, so that the measured network is the one that is loaded."""
    if has_updates(network):
        with torch.no_grad():
            for _, parameter in _find_trained_parameters(network):
                parameter.copy_(parameter.to(STORED))


def attach_stored(network: CrossEncoder, settings: LowRank, tensors: Mapping[str, torch.Tensor], where: Path) -> None:
    """Attach stored updates to the network they were trained for, and load the head stored with them."""
    attach(network, settings, seed=0)
    own = dict(_find_trained_parameters(network))
    check_shapes(own, tensors, where)
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(tensors[name])


def has_updates(network: torch.nn.Module) -> bool:
    """Return whether a network has low-rank updates that are not merged."""
    return any(isinstance(module, Update) for module in network.modules())


def _find_trained_parameters(network: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Parameter]]:
    """Yield the trained parameters.

    The matrices of a layer's update are named `LAYER.weight.a` and `LAYER.weight.b`.
    """
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            yield name.replace(PART, ".weight."), parameter


def _layers(network: CrossEncoder) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield the linear layers of the encoder; GPT-2's are Conv1D, of transformers, which is not imported for them."""
    for name, module in network.encoder.named_modules():
        if isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D":
            yield name, module
