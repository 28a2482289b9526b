# SPDX-License-Identifier: Apache-2.0
"""Text generation with language models, in batches in which each text is generated as if it were alone.

Sampling is Gumbel-max: token = argmax_v [ log p(v)/T + g(seed, step, v) ] over the nucleus of probability `top_p`, with
noise that is a hash of the row's seed, the step and the token. So a text depends on its prompt and its seed, not on the
other rows or the device, except for the network's rounding. T = 0 takes the most likely token.

This replaces beams and sampling in the model's own generation settings; the other settings apply (tokens that end a
text, penalties, lengths).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
import transformers

from interloq.errors import InputError
from interloq.models import pretrained
from interloq.models.batches import make_batches
from interloq.models.processes import pick_device

Precision = Literal["auto", "float32", "bfloat16", "float16"]
TOKENS = 65_536  # tokens of prompts in a batch, including padding
PART = "\ufffd"  # what incomplete characters are decoded to
LIKELY = (512, 4_096)  # numbers of tokens among which the nucleus is searched, first and second attempt
POSITIONS = 1_024  # if the model names no limit
HINT = "name a generative language model: causal, or encoder-decoder"
_SPREAD, _MIX = (
    -7046029254386353131,
    (-4658895280553007687, -7723592293110705685),
)  # constants of splitmix64, as signed numbers


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn."""

    temperature: float
    top_p: float
    max_tokens: int


class Writer:
    """`name` is a folder, an installed package or `hub:org/name@revision`; see `models.pretrained`."""

    def __init__(self, name: str, *, device: str = "auto", precision: Precision = "auto") -> None:
        self.folder, self.device = pretrained.model_folder(name), pick_device(device)
        self.tokenizer = pretrained.load_tokenizer(self.folder)
        self.with_encoder = pretrained.has_encoder(self.folder, hint=HINT)
        kind = transformers.AutoModelForSeq2SeqLM if self.with_encoder else transformers.AutoModelForCausalLM
        network = pretrained.load_network(self.folder, kind, hint=HINT)
        self.precision = pretrained.pick_precision(precision, self.device)
        try:
            self.network = network.to(self.device, self.precision).eval()
        except torch.OutOfMemoryError as error:
            raise InputError(
                f"not enough memory for the model on {self.device}", hint="use device='cpu'", where=name
            ) from error
        self.positions = int(getattr(network.config, "max_position_embeddings", None) or POSITIONS)
        ends = self.network.generation_config.eos_token_id
        ends = [ends] if isinstance(ends, int) else list(ends or [])
        if self.tokenizer.eos_token_id is not None:
            ends.append(self.tokenizer.eos_token_id)
        self.ends = list(dict.fromkeys(ends))
        self.size = 2**20  # rows per batch, halved when memory is short
        self._holding: dict[str, torch.Tensor] = {}

    def fingerprints(self) -> dict[str, str]:
        """Return the fingerprint of the loaded model, independent of its location."""
        return {
            "weights": pretrained.weights_fingerprint(self.folder),
            "tokenizer": pretrained.tokenizer_fingerprint(self.folder),
        }

    def room(self, max_tokens: int) -> int:
        """Return the longest prompt, in tokens, that leaves room for the reply."""
        if max_tokens >= self.positions:
            raise InputError(f"max_tokens must be below the model's {self.positions} positions, got {max_tokens}")
        if self.with_encoder:
            return self.positions
        return self.positions - max_tokens

    def texts(
        self,
        prompts: Sequence[Sequence[int]],
        seeds: Sequence[int],
        sampling: Sampling,
        *,
        size: int,
        stop: str = "",
        show: Callable[[str], None] | None = None,
    ) -> list[str | Exception]:
        """Return text generated after each prompt, up to an end token or, after some text, up to `stop`.

        With a single prompt, `show` may be given: it is called with the text so far after each token.
        """
        texts: list[str | Exception] = [""] * len(prompts)
        lengths = np.array([len(prompt) for prompt in prompts], dtype=np.int64)
        for batch in make_batches(lengths, size=min(size, self.size), tokens=TOKENS, rng=None):
            rows, batch_seeds = [list(prompts[i]) for i in batch], [seeds[i] for i in batch]
            for i, text in zip(batch, self._write_or_halve(rows, batch_seeds, sampling, stop, show), strict=True):
                texts[i] = text
        return texts

    def _write_or_halve(self, rows: list[list[int]], seeds: list[int], *options: Any) -> list[str | Exception]:
        try:
            return list(self._write(rows, seeds, *options))
        except torch.OutOfMemoryError as error:
            if len(rows) == 1:
                return [
                    MemoryError(f"not enough memory for a dialogue of {len(rows[0])} tokens on {self.device}: {error}")
                ]
        torch.cuda.empty_cache()
        half = len(rows) // 2
        self.size = min(self.size, half)  # later batches start smaller
        return [
            *self._write_or_halve(rows[:half], seeds[:half], *options),
            *self._write_or_halve(rows[half:], seeds[half:], *options),
        ]

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _write(
        self, rows: list[list[int]], seeds: list[int], sampling: Sampling, stop: str, show: Callable[[str], None] | None
    ) -> list[str]:
        ids, mask = _pad_rows(rows, left=not self.with_encoder)
        start = 1 if self.with_encoder else ids.shape[1]
        stops = [_Stopped(self.tokenizer, start, stop, self._with(stop[-1]))] if stop else []
        settings = copy.deepcopy(self.network.generation_config)
        changed = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}
        changed |= {"max_length": None, "max_new_tokens": sampling.max_tokens, "use_cache": True}
        # nothing reads tokens after an end token, so any token can serve as padding if the model has none
        pad = self.tokenizer.pad_token_id
        settings.update(**changed, eos_token_id=self.ends or None, pad_token_id=self.ends[0] if pad is None else pad)
        generated = self.network.generate(
            input_ids=ids.to(self.device),
            attention_mask=mask.to(self.device),
            generation_config=settings,
            logits_processor=transformers.LogitsProcessorList([_Sampled(sampling, seeds, start)]),
            stopping_criteria=transformers.StoppingCriteriaList(stops),
            streamer=_Shown(self.tokenizer, show) if show else None,
        )
        return self.tokenizer.batch_decode(generated[:, start:], skip_special_tokens=True)  # type: ignore[no-any-return]

    def _with(self, character: str) -> torch.Tensor:
        """Return tokens that contain a character or part of it, since its bytes may be spread over several tokens."""
        if character not in self._holding:
            texts = self.tokenizer.batch_decode([[i] for i in range(len(self.tokenizer))])
            holding = [i for i, text in enumerate(texts) if character in text or PART in text]
            self._holding[character] = torch.tensor(holding, dtype=torch.long, device=self.device)
        return self._holding[character]


class _Sampled(transformers.LogitsProcessor):  # type: ignore[misc]
    """Turns scores into scores whose maximum is a sample: filtered to the nucleus, plus each row's noise."""

    def __init__(self, sampling: Sampling, seeds: Sequence[int], start: int) -> None:
        self.sampling, self.start = sampling, start
        self.seeds = torch.from_numpy(np.array([seed % 2**64 for seed in seeds], dtype=np.uint64).view(np.int64))

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if self.sampling.temperature == 0:
            return scores
        scores = nucleus(scores.float() / self.sampling.temperature, self.sampling.top_p)
        rows, tokens = torch.isfinite(scores).nonzero(as_tuple=True)  # noise is expensive, and the other rows need none
        noise = gumbel(self.seeds.to(scores.device)[rows], input_ids.shape[1] - self.start, tokens)
        scores[rows, tokens] += noise.to(scores.dtype)
        return scores


class _Stopped(transformers.StoppingCriteria):  # type: ignore[misc]
    """Ends a row when `stop` follows some text; only rows whose last token may contain it are decoded."""

    def __init__(self, tokenizer: Any, start: int, stop: str, bringing: torch.Tensor) -> None:
        self.tokenizer, self.start, self.stop, self.bringing = tokenizer, start, stop, bringing

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:  # noqa: ARG002
        ended = torch.isin(input_ids[:, -1], self.bringing)
        rows = ended.nonzero()[:, 0]
        texts = self.tokenizer.batch_decode(input_ids[rows, self.start :], skip_special_tokens=True)
        ended[rows] = torch.tensor([self.stop in text.lstrip() for text in texts], dtype=torch.bool, device=rows.device)
        return ended


class _Shown(transformers.generation.streamers.BaseStreamer):  # type: ignore[misc]
    """Shows the text so far after each token, except within a character."""

    def __init__(self, tokenizer: Any, show: Callable[[str], None]) -> None:
        self.tokenizer, self.show = tokenizer, show
        self.tokens: list[int] | None = None  # none before the prompt, which comes first

    def put(self, value: torch.Tensor) -> None:
        if self.tokens is None:
            self.tokens = []
            return
        self.tokens += value.reshape(-1).tolist()
        text = self.tokenizer.decode(self.tokens, skip_special_tokens=True)
        if not text.endswith(PART):
            self.show(text)

    def end(self) -> None:
        """Do nothing: the text is complete, and the caller has it."""


def nucleus(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """Return logits with minus infinity for all tokens outside the nucleus: the most likely ones that add up to top_p.

    Tokens as likely as the last of these are kept as well, so that ties need no order. Sorting a few top tokens is
    usually enough; more, and finally all, are sorted only for the rows that need it.
    """
    if top_p >= 1:
        return logits
    words, total = logits.shape[-1], logits.logsumexp(-1, keepdim=True)
    least = torch.empty_like(total)  # of the logits inside
    rows = torch.arange(len(logits), device=logits.device)
    for k in (*(k for k in LIKELY if k < words), words):
        some = logits if len(rows) == len(logits) else logits[rows]
        ordered = some.topk(k).values if k < words else some.sort(dim=-1, descending=True).values
        chances = (ordered - total[rows]).exp()
        inside = (chances.cumsum(-1) - chances < top_p).sum(-1, keepdim=True)
        least[rows] = ordered.gather(-1, inside - 1)
        rows = rows[chances.sum(-1) < top_p]
        if not len(rows):
            break
    return logits.masked_fill(logits < least, -torch.inf)


def gumbel(seeds: torch.Tensor, step: int, tokens: torch.Tensor) -> torch.Tensor:
    """Return standard Gumbel noise as a hash of seed, step and token; both arguments may broadcast."""
    rows = _mix_bits(_mix_bits(seeds) + step * _SPREAD % 2**63)
    mixed = _mix_bits(rows + tokens * _SPREAD)
    uniform = (((mixed >> 12) & (2**52 - 1)).double() + 0.5) / 2**52  # never 0 or 1
    return -torch.log(-torch.log(uniform))


def _mix_bits(numbers: torch.Tensor) -> torch.Tensor:
    """Apply the finalizer of splitmix64 (Steele et al., 2014); torch's shift keeps the sign, so bits are masked off."""
    numbers = numbers + _SPREAD
    numbers = (numbers ^ ((numbers >> 30) & (2**34 - 1))) * _MIX[0]
    numbers = (numbers ^ ((numbers >> 27) & (2**37 - 1))) * _MIX[1]
    return numbers ^ ((numbers >> 31) & (2**33 - 1))


def _pad_rows(rows: list[list[int]], *, left: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and attention mask; a causal model's rows grow on the right, so they are padded on the left."""
    longest = max(map(len, rows))
    ids, mask = (torch.zeros((len(rows), longest), dtype=torch.long) for _ in range(2))
    for i, row in enumerate(rows):
        own = slice(longest - len(row), None) if left else slice(len(row))
        ids[i, own], mask[i, own] = torch.tensor(row), 1
    return ids, mask
