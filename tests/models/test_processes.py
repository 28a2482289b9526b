"""One process, and shares of several."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from interloq import InputError
from interloq.models.processes import Processes, pick_device


def test_alone_there_is_nothing_to_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with Processes.join("cpu") as processes:
        assert processes.first
        assert processes.description == "cpu"
        assert processes.sum(2.5) == 2.5
        network, loss = torch.nn.Linear(2, 1), torch.tensor(3.0)
        assert processes.add_gradients(network, loss) is loss


def test_shares_are_all_examples_once() -> None:
    examples = np.arange(11)
    shares = [Processes(torch.device("cpu"), rank, 3).share(examples).tolist() for rank in range(3)]
    assert sorted(number for share in shares for number in share) == examples.tolist()
    assert [len(share) for share in shares] == [4, 4, 3]
    assert Processes(torch.device("cpu"), 1, 3).description == "3 × cpu"
    assert not Processes(torch.device("cpu"), 1, 3).first


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert pick_device("auto").type == pick_device("cpu").type == "cpu"
    with pytest.raises(InputError, match="no CUDA device"):
        pick_device("cuda")
    with pytest.raises(InputError, match="unknown device 'gpu'"):
        pick_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert pick_device("auto").type == "cuda"
