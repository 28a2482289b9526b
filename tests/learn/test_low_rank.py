from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq.errors import InputError
from interloq.learn.low_rank import attach, attach_stored, has_updates, merge, round_as_stored, select_stored_tensors
from interloq.learn.settings import LowRank
from interloq.models.cross_encoder import CrossEncoder, rows
from interloq.models.pretrained import Subwords
from tests.made_lm import tiny_lm
from tests.made_relevance import tiny_encoder

FOUR = LowRank(low_rank=4)
LAYERS = 2 * 6  # of two blocks: query, key, value, output, and both of the feed-forward part


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("models") / "encoder")


def fresh(encoder: Path) -> CrossEncoder:
    torch.manual_seed(0)
    network = CrossEncoder.pretrained(encoder, 1)
    network.eval()
    return network


def learned(encoder: Path, settings: LowRank = FOUR) -> CrossEncoder:
    """A network after a few steps."""
    network = fresh(encoder)
    attach(network, settings, seed=1)
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        asked(network, encoder).sum().backward()
        optimizer.step()
    return network


def asked(network: CrossEncoder, encoder: Path) -> torch.Tensor:
    found: torch.Tensor = network(rows([[np.array([7, 9]), np.array([8])]], Subwords(encoder)))
    return found


def plain(network: CrossEncoder) -> dict[str, torch.Tensor]:
    return {name.replace(".parametrizations.weight.original", ".weight"): t for name, t in network.state_dict().items()}


def test_updates_change_nothing_at_first(encoder: Path) -> None:
    network = fresh(encoder)
    before = asked(network, encoder)
    attach(network, FOUR, seed=1)
    assert torch.equal(asked(network, encoder), before)
    assert has_updates(network)


def test_only_updates_and_head_learn(encoder: Path) -> None:
    first, network = fresh(encoder).state_dict(), learned(encoder)
    after = plain(network)
    assert [name for name, tensor in first.items() if not torch.equal(after[name], tensor)] == [
        "head.weight",
        "head.bias",
    ]
    stored = select_stored_tensors(network)
    assert len(stored) == 2 * LAYERS + 2
    query = "encoder.encoder.layer.0.attention.self.query.weight"
    assert {name: tuple(stored[name].shape) for name in (f"{query}.a", f"{query}.b")} == {
        f"{query}.a": (4, 32),
        f"{query}.b": (32, 4),
    }
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}
    assert all(tensor.abs().sum() > 0 for tensor in stored.values())


def test_biases_and_layer_norms_learn_on_request(encoder: Path) -> None:
    stored = select_stored_tensors(learned(encoder, LowRank(low_rank=4, low_rank_biases=True)))
    others = {name for name in stored if not name.endswith((".weight.a", ".weight.b")) and not name.startswith("head")}
    vectors = {name for name, tensor in fresh(encoder).encoder.named_parameters() if tensor.dim() == 1}
    assert others == {f"encoder.{name}" for name in vectors}


def test_merged_the_network_scores_as_before(encoder: Path) -> None:
    network = learned(encoder)
    with_updates = asked(network, encoder)
    merge(network)
    assert torch.allclose(asked(network, encoder), with_updates, atol=1e-6)
    assert network.state_dict().keys() == fresh(encoder).state_dict().keys()
    assert not torch.allclose(with_updates, asked(fresh(encoder), encoder), atol=1e-3)
    assert all(parameter.requires_grad for parameter in network.parameters())


@pytest.mark.parametrize("settings", [FOUR, LowRank(low_rank=2, low_rank_scale=0.5, low_rank_biases=True)])
def test_stored_updates_give_the_same_scores(settings: LowRank, encoder: Path) -> None:
    network = learned(encoder, settings)
    round_as_stored(network)
    found = fresh(encoder)
    attach_stored(found, settings, select_stored_tensors(network), encoder)
    assert torch.allclose(asked(found, encoder), asked(network, encoder), atol=1e-6)


def test_the_same_seed_gives_the_same_updates(encoder: Path) -> None:
    def started(seed: int) -> list[Any]:
        torch.manual_seed(seed + 7)  # the state of torch's own generator does not matter, and is left as it is
        before = torch.get_rng_state()
        network = fresh(encoder)
        torch.set_rng_state(before)
        attach(network, FOUR, seed=seed)
        assert torch.equal(torch.get_rng_state(), before)
        return [tensor.tolist() for name, tensor in select_stored_tensors(network).items() if name.endswith(".a")]

    assert started(1) == started(1) != started(2)


def test_language_models_have_updates_as_well(tmp_path: Path) -> None:
    network = CrossEncoder.pretrained(tiny_lm(tmp_path), 1)
    attach(network, FOUR, seed=0)
    shapes = {name: tuple(t.shape) for name, t in select_stored_tensors(network).items() if ".h.0." in name}
    assert shapes["encoder.h.0.attn.c_attn.weight.a"] == (4, 48)
    assert len(shapes) == 2 * 4


def test_without_a_rank_everything_learns(encoder: Path) -> None:
    network = fresh(encoder)
    attach(network, LowRank(), seed=0)
    assert not has_updates(network)
    assert all(parameter.requires_grad for parameter in network.parameters())
    assert select_stored_tensors(network).keys() == network.state_dict().keys()


def test_what_does_not_fit_is_refused(encoder: Path) -> None:
    with pytest.raises(InputError, match=r"rank 33 are larger than .* 32 units; choose --low-rank 32 or less"):
        attach(fresh(encoder), LowRank(low_rank=33), seed=0)
    stored = select_stored_tensors(learned(encoder))
    with pytest.raises(InputError, match=r"weight.a' have shape \(4, 32\), the network has \(2, 32\)"):
        attach_stored(fresh(encoder), LowRank(low_rank=2), stored, encoder)
    del stored["head.bias"]
    with pytest.raises(InputError, match=r"'head.bias' have shape None"):
        attach_stored(fresh(encoder), FOUR, stored, encoder)


@pytest.mark.parametrize(("name", "value"), [("low_rank", -1), ("low_rank_scale", 0.0)])
def test_settings_without_sense_are_refused(name: str, value: float) -> None:
    with pytest.raises(InputError, match=name):
        LowRank(**{name: value})  # type: ignore[arg-type]
