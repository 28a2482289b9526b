"""What the loop sets up for a device."""

from __future__ import annotations

import pytest
import torch
import transformers
from threadpoolctl import threadpool_info

from interloq.learn.devices import compile_layers, fixed_threads, mixed_precision, own_stream, packed_rows
from interloq.learn.settings import Training
from interloq.models.cross_encoder import CrossEncoder

CPU, GPU = torch.device("cpu"), torch.device("cuda")
SIZES = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 16}


def network() -> CrossEncoder:
    return CrossEncoder(transformers.BertModel(transformers.BertConfig(vocab_size=50, **SIZES)), 1)


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_equal_layers_are_compiled_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self: compiled.append(type(self).__name__))
    compile_layers(network())
    assert compiled == ["BertLayer"] * 3
    compile_layers(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    assert compiled[3:] == ["Sequential"], "a network without such layers is compiled whole"


def test_precision_depends_on_the_device_unless_it_is_named() -> None:
    assert [mixed_precision(Training(amp="auto"), device) for device in (CPU, GPU)] == [False, True]
    assert [mixed_precision(Training(amp="bf16"), device) for device in (CPU, GPU)] == [True, True]
    assert [mixed_precision(Training(amp="off"), device) for device in (CPU, GPU)] == [False, False]


@pytest.mark.parametrize(("amp", "device"), [("bf16", CPU), ("off", GPU)])
def test_rows_stay_padded_on_a_processor_and_in_float32(amp: str, device: torch.device) -> None:
    made, said = network(), list[str]()
    with packed_rows(made, Training(amp=amp), device, said.append) as packed, own_stream(CPU):  # type: ignore[arg-type]
        assert not packed
        assert not made.packing.on
    assert said == []


def test_a_network_that_is_not_packed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    made, said = network(), list[str]()
    monkeypatch.setattr(made.packing, "_checked", lambda *_: "it has a window")
    with packed_rows(made, Training(), GPU, said.append) as packed:
        assert not packed
    assert said == ["rows are padded: it has a window"]


def test_threads_are_fixed_for_torch_and_numpy_and_given_back() -> None:
    before = torch.get_num_threads(), blas_threads()
    with fixed_threads(3, CPU):
        assert torch.get_num_threads() == 3
        assert blas_threads() <= {3}
        with fixed_threads(1, GPU):
            assert torch.get_num_threads() == 3, "a GPU does not use them"
            assert blas_threads() <= {1}
    assert (torch.get_num_threads(), blas_threads()) == before
