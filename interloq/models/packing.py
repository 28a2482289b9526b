# SPDX-License-Identifier: Apache-2.0
"""Networks of transformers that read rows packed end to end: attention stays within each row.

Attention is computed by the variable-length kernel of FlashAttention, which torch contains (bf16 and fp16, on a GPU).
Elsewhere a mask does the same; it is slow and meant for checks. A network is packed only if it gives a few rows the
same states packed as padded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from interloq.models.token_rows import Packed, TokenRows

ATTENTION = "interloq_packed"  # the name by which transformers knows the attention below
HALF = (torch.bfloat16, torch.float16)
PROBE = (7, 3, 12)  # lengths of the rows that packed and padded states are compared on
EXACT, ROUNDED = 1e-4, 5e-2  # difference allowed in float32, and in bf16, relative to the states


class Packing:
    """Packing for one network of transformers; `on` while it reads packed rows."""

    def __init__(self, model: Any) -> None:
        self.model, self.on, self.reason = model, False, ""
        self.types = (getattr(model.config, "type_vocab_size", 0) or 0) > 1
        self.start = first_position(model)

    def arrange(self, rows: TokenRows) -> TokenRows | Packed:
        """Arrange rows on the CPU as the network currently reads them: packed or padded."""
        return rows.pack(self.start) if self.on else rows

    def options(self, rows: TokenRows | Packed) -> dict[str, Any]:
        """Return the arguments of the network for these rows."""
        types = {"token_type_ids": rows.kinds} if self.types else {}
        if isinstance(rows, TokenRows):
            return {"input_ids": rows.ids, "attention_mask": rows.mask, **types}
        return {
            "input_ids": rows.ids,
            "position_ids": rows.positions,
            "cu_seq_lens_q": rows.ends,
            "max_length_q": rows.longest,
            **types,
        }

    @contextmanager
    def enable(self, device: torch.device) -> Iterator[bool]:
        """Turn packing on if the network gives packed rows the same states as padded ones, else set `reason`.

        The network must be on that device.
        """
        before = self.model.config._attn_implementation
        self.reason = self._why_not(device, before)
        self.on = not self.reason
        if self.on:
            self._attend_by(ATTENTION)
        try:
            yield self.on
        finally:
            self.on = False
            self._attend_by(before)

    def _attend_by(self, name: str) -> None:
        import transformers  # not needed by networks that only score

        if self.model.config._attn_implementation != name:
            transformers.AttentionInterface.register(ATTENTION, packed_attention)
            self.model.set_attn_implementation(name)
        if self.model.config._attn_implementation != name:  # MPNet, whose relative positions are part of attention
            raise NotImplementedError(f"{type(self.model).__name__} has an attention of its own")

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _why_not(self, device: torch.device, before: str) -> str:
        """Return why the network cannot read packed rows; empty if it can."""
        trained = self.model.training
        self.model.eval()
        try:
            for amp, most in ((False, EXACT), (True, ROUNDED)):
                off = self._difference(device, before, amp=amp)
                if not off < most:
                    precision = "bf16" if amp else "float32"
                    return f"states of packed rows differ by {off:.1e} in {precision}"
        except (AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            return f"{type(error).__name__}: {error}"  # it takes no position ids, or has an attention of its own
        finally:
            self._attend_by(before)
            self.model.train(trained)
        return ""

    def _difference(self, device: torch.device, before: str, *, amp: bool) -> float:
        """Return the difference between the states of padded and of packed rows, relative to their norm."""
        inside = torch.arange(max(PROBE)) < torch.tensor(PROBE)[:, None]
        pad, size = getattr(self.model.config, "pad_token_id", None) or 0, self.model.config.vocab_size
        other = (pad + 1 + torch.arange(inside.numel()) % (size - 1)) % size  # any token but padding
        ids = torch.where(inside, other.view_as(inside), pad)
        rows = TokenRows(ids, inside.int(), torch.zeros_like(ids))
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=amp):
            self._attend_by(before)
            padded = self._states(rows.on(device))[inside.to(device)]
            self._attend_by(ATTENTION)
            packed = self._states(rows.pack(self.start).on(device))[0, : len(padded)]
        return float((packed - padded).float().norm() / padded.float().norm())

    def _states(self, rows: TokenRows | Packed) -> torch.Tensor:
        states: torch.Tensor = self.model.base_model(**self.options(rows)).last_hidden_state
        return states


def first_position(model: Any) -> int:
    """Return the position id of a row's first token; RoBERTa-like models count from the padding index + 1."""
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    if padding is None:
        return 0
    return int(padding) + 1


def count_positions(model: Any) -> int | None:
    """Return the number of tokens that the network can read in a row; None if it has no limit."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions is None or positions < 1:  # XLNet has -1
        return None
    return int(positions) - first_position(model)


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,  # noqa: ARG001
    dropout: float = 0.0,
    scaling: float | None = None,
    *,
    cu_seq_lens_q: torch.Tensor,
    max_length_q: int,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """Compute attention within each row.

    Query, key and value are [1, heads, tokens, size], as transformers gives them.
    """
    for name in ("sliding_window", "softcap", "s_aux"):
        if others.get(name) is not None:
            raise NotImplementedError(f"packed attention does not support {name}")
    if is_causal is None:
        is_causal = bool(getattr(module, "is_causal", True))
    groups = query.shape[1] // key.shape[1]
    if groups > 1:  # several heads share keys and values
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    if torch.is_autocast_enabled(query.device.type):
        half = torch.get_autocast_dtype(query.device.type)
        query, key, value = query.to(half), key.to(half), value.to(half)
    if query.is_cuda and query.dtype in HALF:
        flat = [part.squeeze(0).transpose(0, 1) for part in (query, key, value)]  # [0] would copy gradients
        ends, most = cu_seq_lens_q, max_length_q
        outputs = torch.ops.aten._flash_attention_forward(
            *flat, ends, ends, most, most, dropout, is_causal, False, scale=scaling
        )
        return outputs[0][None], None
    places = torch.arange(query.shape[2], device=cu_seq_lens_q.device, dtype=cu_seq_lens_q.dtype)
    row = torch.searchsorted(cu_seq_lens_q, places, right=True)
    allowed = row[:, None] == row
    if is_causal:
        allowed = allowed.tril()
    states = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=allowed, dropout_p=dropout, scale=scaling
    )
    return states.transpose(1, 2).contiguous(), None
