"""The modules of `interloq.models` that have no file of their own here."""

from __future__ import annotations

import io
import json
import os
import threading
import weakref
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError
from interloq.errors import MissingDependencyError
from interloq.models.batches import POOL, make_batches, random_bits
from interloq.models.fake import FakeEncoder
from interloq.models.loaded import load_model
from interloq.models.memory import cut_to_fit
from interloq.models.numba_threads import start_threads
from interloq.models.processes import Processes, pick_device
from interloq.models.template_worker import MEMORY, serve
from interloq.models.token_rows import SPARE, round_up
from tests.models.made_rows import made_rows

LENGTHS = st.lists(st.integers(1, 40), max_size=300).map(lambda values: np.array(values, dtype=np.int64))


@given(lengths=LENGTHS, size=st.integers(1, 9), tokens=st.integers(1, 200), seed=st.none() | st.integers(0, 99))
def test_each_example_once_and_no_batch_too_large(
    lengths: np.ndarray, size: int, tokens: int, seed: int | None
) -> None:
    batches = make_batches(lengths, size=size, tokens=tokens, rng=None if seed is None else np.random.default_rng(seed))
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= size
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= tokens


@given(lengths=LENGTHS, size=st.integers(1, 9), tokens=st.integers(1, 200))
def test_without_a_seed_all_are_sorted_and_batches_are_as_full_as_they_may_be(
    lengths: np.ndarray, size: int, tokens: int
) -> None:
    batches = make_batches(lengths, size=size, tokens=tokens, rng=None)
    order = [i for batch in batches for i in batch.tolist()]
    assert order == sorted(range(len(lengths)), key=lambda i: (lengths[i], i))
    for batch, after in pairwise(batches):  # the next example would not have fitted
        assert len(batch) == size or (len(batch) + 1) * lengths[after[0]] > tokens


def test_random_batches_are_in_random_order_and_of_like_length() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, size=20 * POOL)
    one, other = (
        [batch.tolist() for batch in make_batches(lengths, size=10, tokens=10**6, rng=np.random.default_rng(seed))]
        for seed in (1, 2)
    )
    assert one != other
    spread = np.mean([np.ptp(lengths[batch]) for batch in one])
    assert spread < 5  # of ten at random it would be about 80
    means = [lengths[batch].mean() for batch in one]
    assert np.abs(np.corrcoef(means[1:], means[:-1])[0, 1]) < 0.3


def test_mixing_has_no_collisions_and_even_bits() -> None:
    bits = random_bits(np.arange(100_000), 0, 0)
    assert len(np.unique(bits)) == 100_000
    ones = [float(((bits >> np.uint64(i)) & np.uint64(1)).mean()) for i in range(64)]
    assert all(abs(share - 0.5) < 0.01 for share in ones)


def test_the_fake_encoder_is_deterministic_and_shares_words() -> None:
    rows = FakeEncoder(64).sentences(["red apple", "red apple", "red pear", "blue sky"])
    assert (rows[0] == rows[1]).all()
    assert rows[0] @ rows[2] > rows[0] @ rows[3]


def no_memory() -> InputError:
    return InputError("no memory for one")


def test_parts_come_in_order_however_they_are_cut() -> None:
    cuts: list[None] = []

    def work(part: slice) -> list[int]:
        if part.stop - part.start > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return list(range(part.start, part.stop))

    parts = cut_to_fit(work, 11, error=no_memory, smaller=lambda: cuts.append(None))
    assert [i for part in parts for i in part] == list(range(11))
    assert len(cuts) == len(parts) - 1 > 0
    assert cut_to_fit(work, 0, error=no_memory, smaller=lambda: None) == [[]]


def test_tensors_of_a_try_that_failed_are_gone_before_the_next() -> None:
    """An error that is being handled keeps the frames it came through, and all that they hold."""
    alive: list[bool] = []
    held: list[weakref.ref[torch.Tensor]] = []

    def work(part: slice) -> None:
        alive.append(any(reference() is not None for reference in held))
        states = torch.ones(4)
        held.append(weakref.ref(states))
        if part.stop - part.start > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")

    cut_to_fit(work, 4, error=no_memory, smaller=lambda: None)
    assert alive == [False] * 7


def test_torch_keeps_its_number_of_threads() -> None:
    before, running = torch.get_num_threads(), threading.active_count()
    start_threads()
    assert torch.get_num_threads() == before
    assert threading.active_count() == running, "the thread that starts them ends"
    start_threads()
    assert start_threads.cache_info().hits >= 1


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


def echo(*, conversations: list[Any], chat_template: str, add_generation_prompt: bool, **values: str) -> Any:
    assert add_generation_prompt
    if chat_template == "large":
        raise MemoryError
    if chat_template == "bad":
        raise ValueError("no\nwords " * 200)
    return [f"{conversations[0][0]['content']} {values['eos_token']}"], []


def test_requests_are_answered_in_order() -> None:
    requests = [
        {"template": name, "messages": [{"role": "user", "content": "hi"}], "values": {"eos_token": "end"}}
        for name in ("good", "large", "bad", "good")
    ]
    answers = io.StringIO()
    serve(io.StringIO("".join(json.dumps(request) + "\n" for request in requests)), answers, echo)
    found = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert found[0] == found[3] == {"text": "hi end"}
    assert found[1] == {"limit": f"it takes more than {MEMORY >> 20} MiB"}
    assert len(found[2]["refused"]) == 300


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(0, 2))
def test_rows_are_packed_end_to_end(lengths: list[int], start: int) -> None:
    rows = made_rows(tuple(lengths))
    packed = rows.pack(start)
    tokens, ends = sum(lengths), packed.ends.tolist()
    assert packed.ids.shape == packed.positions.shape == packed.kinds.shape == (1, round_up(tokens))
    for i, length in enumerate(lengths):
        own = slice(ends[i], ends[i + 1])
        assert packed.ids[0, own].tolist() == rows.ids[i, :length].tolist()
        assert packed.kinds[0, own].tolist() == rows.kinds[i, :length].tolist()
        assert packed.positions[0, own].tolist() == list(range(start, start + length))
    assert (packed.first.tolist(), packed.last.tolist()) == (
        ends[: len(lengths)],
        [end - 1 for end in ends[1:]][: len(lengths)],
    )
    assert ends == sorted(ends)
    assert ends[-1] == round_up(tokens), "every token is in a row"
    assert max(b - a for a, b in pairwise(ends)) <= packed.longest
    assert set(packed.positions[0, tokens:].tolist()) <= {start}


def test_few_shapes_occur() -> None:
    sizes = {round_up(count) for count in range(4096, 32769)}
    assert len(sizes) <= 50
    assert all(count <= round_up(count) <= max(count + SPARE, 1.0626 * count) for count in range(1, 32769, 11))


MADE: list[tuple[str, dict[str, object]]] = []


class Network:
    """Remembers how it was made."""

    def __init__(self, name: str, **options: object) -> None:
        MADE.append((name, options))


def ask(name: str | Path, **options: Any) -> object:
    return load_model("test", f"{__name__}:Network", str(name), **options)


def test_the_same_network_is_shared_until_its_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights").write_text("1")
    first = ask(tmp_path, layer=1)
    monkeypatch.chdir(tmp_path.parent)
    assert ask(tmp_path.name, layer=1) is first, "another spelling of the same folder"
    assert ask(tmp_path, layer=2) is not first
    os.utime(tmp_path / "weights", ns=(1, 1))
    assert ask(tmp_path, layer=1) is not first
    assert ask("a-package") is ask("a-package")


def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(MissingDependencyError, match=r"bertscore needs the package 'nowhere'.*interloq\[encoder\]"):
        load_model("bertscore", "nowhere:Encoder", "x")
