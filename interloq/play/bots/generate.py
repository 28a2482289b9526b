# SPDX-License-Identifier: Apache-2.0
"""Text generation with language models, in batches in which each text is generated as if it were alone.

Hugging Face generates the tokens. `interloq.play.decoding` chooses them when they are sampled (Gumbel-max, with each
row's own noise), and does diverse beam search, which Hugging Face no longer has.

This replaces beams and sampling in the model's own generation settings; the other settings apply (tokens that end a
text, penalties, lengths), except in diverse beam search, where only the end tokens do.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
import transformers

from interloq.errors import InputError
from interloq.models import pretrained
from interloq.models.batches import make_batches
from interloq.models.processes import pick_device
from interloq.play.bot import ReplyCandidate
from interloq.play.bots.cached_network import CachedNetwork, pad_rows
from interloq.play.causal import model as causal
from interloq.play.decoding import add_noise, decode, seed_copies
from interloq.play.decoding_options import Decoding

Precision = Literal["auto", "float32", "bfloat16", "float16"]
TOKENS = 65_536  # tokens of prompts in a batch, including padding
PART = "\ufffd"  # what incomplete characters are decoded to
POSITIONS = 1_024  # if the model names no limit
HINT = "name a generative language model: causal, or encoder-decoder"


class Writer:
    """`name` is a folder, an installed package or `hub:org/name@revision`; see `models.pretrained`."""

    def __init__(self, name: str, *, device: str = "auto", precision: Precision = "auto") -> None:
        self.folder, self.device = pretrained.model_folder(name), pick_device(device)
        self.tokenizer = pretrained.load_tokenizer(self.folder)
        self.with_encoder = pretrained.has_encoder(self.folder, hint=HINT)
        kind = transformers.AutoModelForSeq2SeqLM if self.with_encoder else transformers.AutoModelForCausalLM
        self.has_updates = causal.has_updates(self.folder)
        if self.has_updates:
            network = causal.load_updated(self.folder, self.tokenizer)
        else:
            network = pretrained.load_network(self.folder, kind, hint=HINT)
        self.precision = pretrained.pick_precision(precision, self.device)
        try:
            self.network = network.to(self.device, self.precision).eval()
        except torch.OutOfMemoryError as error:
            raise InputError(
                f"not enough memory for the model on {self.device}", hint="use device='cpu'", where=name
            ) from error
        self.words = int(network.get_input_embeddings().num_embeddings)
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
        weights = causal.updates_fingerprint if self.has_updates else pretrained.weights_fingerprint
        return {
            "weights": weights(self.folder),
            "tokenizer": pretrained.tokenizer_fingerprint(self.folder),
        }

    def room(self, max_tokens: int) -> int:
        """Return the longest prompt, in tokens, that leaves room for the reply."""
        if max_tokens >= self.positions:
            raise InputError(f"max_tokens must be below the model's {self.positions} positions, got {max_tokens}")
        if self.with_encoder:
            return self.positions
        return self.positions - max_tokens

    def candidates(
        self,
        prompts: Sequence[Sequence[int]],
        seeds: Sequence[int],
        decoding: Decoding,
        max_tokens: int,
        *,
        n: int,
        size: int,
        stop: str = "",
        show: Callable[[str], None] | None = None,
    ) -> list[list[ReplyCandidate] | Exception]:
        """Return `n` texts for each prompt, up to an end token or, after some text, up to `stop`.

        They are samples, or the best finished beams. With a single prompt and one beam, `show` may be given: it is
        called with the text so far after each token.
        """
        decoding.check_candidates(n)
        found: list[list[ReplyCandidate] | Exception] = [[] for _ in prompts]
        lengths = np.array([len(prompt) for prompt in prompts], dtype=np.int64)
        copies = max(n, decoding.beams)
        size = max(1, min(size, self.size) // copies)
        for batch in make_batches(lengths, size=size, tokens=max(1, TOKENS // copies), rng=None):
            rows, batch_seeds = [list(prompts[i]) for i in batch], [seeds[i] for i in batch]
            options = (decoding, max_tokens, n, stop, show)
            for i, texts in zip(batch, self._write_or_halve(rows, batch_seeds, *options), strict=True):
                found[i] = texts
        return found

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def log_probabilities(
        self, prompts: Sequence[Sequence[int]], texts: Sequence[str], *, size: int, most: int
    ) -> list[float]:
        """Return log p of each text and its end token after a prompt; only the first `most` tokens count."""
        rows = []
        for prompt, text in zip(prompts, texts, strict=True):
            tokens = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            rows.append((list(prompt), [*tokens, *self.ends[-1:]][:most]))
        sums = [0.0] * len(rows)
        lengths = np.array([len(prompt) + len(target) for prompt, target in rows], dtype=np.int64)
        for batch in make_batches(lengths, size=min(size, self.size), tokens=TOKENS // 8, rng=None):
            network = CachedNetwork(self.network, -1)
            for i, value in zip(batch, network.log_probabilities([rows[i] for i in batch]), strict=True):
                sums[i] = value
        return sums

    def _write_or_halve(
        self, rows: list[list[int]], seeds: list[int], decoding: Decoding, max_tokens: int, n: int, *options: Any
    ) -> list[list[ReplyCandidate] | Exception]:
        try:
            return list(self._write(rows, seeds, decoding, max_tokens, n, *options))
        except torch.OutOfMemoryError as error:
            if len(rows) == 1:
                return [
                    MemoryError(f"not enough memory for a dialogue of {len(rows[0])} tokens on {self.device}: {error}")
                ]
        torch.cuda.empty_cache()
        half = len(rows) // 2
        self.size = min(self.size, half * max(n, decoding.beams))  # later batches start smaller
        return [
            *self._write_or_halve(rows[:half], seeds[:half], decoding, max_tokens, n, *options),
            *self._write_or_halve(rows[half:], seeds[half:], decoding, max_tokens, n, *options),
        ]

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _write(
        self,
        rows: list[list[int]],
        seeds: list[int],
        decoding: Decoding,
        max_tokens: int,
        n: int,
        stop: str,
        show: Callable[[str], None] | None,
    ) -> list[list[ReplyCandidate]]:
        if decoding.groups > 1:
            return self._search_groups(rows, seeds, decoding, max_tokens, n, stop)
        samples = n if decoding.beams == 1 else 1
        ids, mask = pad_rows([row for row in rows for _ in range(samples)], left=not self.with_encoder)
        start = 1 if self.with_encoder else ids.shape[1]
        sampled = _Sampled(decoding, seed_copies(seeds, samples).to(self.device), start, keeps_sums=n > 1)
        generated = self.network.generate(
            input_ids=ids.to(self.device),
            attention_mask=mask.to(self.device),
            generation_config=self._settings(decoding, max_tokens, n),
            logits_processor=transformers.LogitsProcessorList([sampled] if decoding.beams == 1 else []),
            stopping_criteria=transformers.StoppingCriteriaList(self._stops(start, stop)),
            streamer=_Shown(self.tokenizer, show) if show and decoding.beams == 1 else None,
        )
        if decoding.beams == 1:
            return self._group_texts(generated[:, start:], sampled.log_probabilities(generated, self.ends), n)
        lengths = (generated.beam_indices >= 0).sum(-1)
        sums = generated.sequences_scores * lengths**decoding.length_penalty
        return self._group_texts(generated.sequences[:, start:], sums.tolist(), n)

    def _settings(self, decoding: Decoding, max_tokens: int, n: int) -> Any:
        """Return the model's own settings with this decoding; samples are drawn by `_Sampled`."""
        settings = copy.deepcopy(self.network.generation_config)
        changed: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        changed |= {"num_beams": decoding.beams, "max_length": None, "max_new_tokens": max_tokens, "use_cache": True}
        if decoding.beams > 1:
            changed |= {"length_penalty": decoding.length_penalty, "early_stopping": False}
            changed |= {"num_return_sequences": n, "return_dict_in_generate": True, "output_scores": True}
        # nothing reads tokens after an end token, so any token can serve as padding if the model has none
        pad = self.tokenizer.pad_token_id
        settings.update(**changed, eos_token_id=self.ends or None, pad_token_id=self.ends[0] if pad is None else pad)
        return settings

    def _search_groups(
        self, rows: list[list[int]], seeds: list[int], decoding: Decoding, max_tokens: int, n: int, stop: str
    ) -> list[list[ReplyCandidate]]:
        """Return the best texts of diverse beam search."""
        stops: list[Any] = [_Ended(self.ends[1:]), *self._stops(0, stop)]

        def is_complete(tokens: torch.Tensor) -> torch.Tensor:
            return torch.stack([stopped(tokens, None) for stopped in stops]).any(0)

        network = CachedNetwork(self.network, self.ends[0] if self.ends else -1)
        batch = len(rows) * decoding.beams
        found = decode(network, rows, seeds, decoding, max_tokens, candidates=n, batch=batch, stopped=is_complete)
        texts: list[list[ReplyCandidate]] = []
        for replies in found:
            decoded = self.tokenizer.batch_decode([reply.tokens for reply in replies], skip_special_tokens=True)
            texts.append(list(map(ReplyCandidate, decoded, [reply.log_probability for reply in replies])))
        return texts

    def _stops(self, start: int, stop: str) -> list[_Stopped]:
        return [_Stopped(self.tokenizer, start, stop, self._with(stop[-1]))] if stop else []

    def _group_texts(self, tokens: torch.Tensor, sums: Sequence[float], n: int) -> list[list[ReplyCandidate]]:
        texts = self.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        written = list(map(ReplyCandidate, texts, sums))
        return [written[first : first + n] for first in range(0, len(written), n)]

    def _with(self, character: str) -> torch.Tensor:
        """Return tokens that contain a character or part of it, since its bytes may be spread over several tokens."""
        if character not in self._holding:
            texts = self.tokenizer.batch_decode([[i] for i in range(len(self.tokenizer))])
            holding = [i for i, text in enumerate(texts) if character in text or PART in text]
            self._holding[character] = torch.tensor(holding, dtype=torch.long, device=self.device)
        return self._holding[character]


class _Sampled(transformers.LogitsProcessor):  # type: ignore[misc]
    """Turns scores into scores whose maximum is a sample: filtered, plus each row's noise."""

    def __init__(self, decoding: Decoding, seeds: torch.Tensor, start: int, *, keeps_sums: bool) -> None:
        self.decoding, self.seeds, self.start, self.keeps_sums = decoding, seeds, start, keeps_sums
        self.chances: list[torch.Tensor] = []  # log p of each step's tokens, if they are wanted

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        noisy = add_noise(scores.float(), self.seeds, input_ids.shape[1] - self.start, self.decoding)
        if self.keeps_sums:
            chosen = noisy.argmax(-1, keepdim=True)
            self.chances.append(scores.float().log_softmax(-1).gather(1, chosen)[:, 0])
        return noisy

    def log_probabilities(self, generated: torch.Tensor, ends: Sequence[int]) -> list[float]:
        """Return log p of each row's text with its end token; zeros if they were not wanted."""
        if not self.chances:
            return [0.0] * len(generated)
        tokens = generated[:, self.start :]
        is_end = torch.isin(tokens, torch.tensor(ends, device=tokens.device))
        is_after = (is_end.cumsum(-1) - is_end.long()) > 0
        sums: list[float] = torch.stack(self.chances, dim=1).masked_fill(is_after, 0.0).sum(-1).tolist()
        return sums


class _Ended:
    """Ends a row at further end tokens."""

    def __init__(self, ends: Sequence[int]) -> None:
        self.ends = ends

    def __call__(self, tokens: torch.Tensor, scores: Any) -> torch.Tensor:  # noqa: ARG002
        return torch.isin(tokens[:, -1], torch.tensor(self.ends, dtype=torch.long, device=tokens.device))


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
