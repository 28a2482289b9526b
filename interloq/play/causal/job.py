# SPDX-License-Identifier: Apache-2.0
"""Train a causal language model to write replies: tune its weights, or train the same shape from random weights.

J = −log p(reply | speaker, whole context) / mean tokens of a reply         per exchange

so the dev loss is the negative log-likelihood per token. Weights are rounded as they are stored, in half precision,
before they are measured. A speaker token is a vector per user, as in the interlocutor's model of one's own users; part
of the replies teach the token that users without one share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from interloq.errors import InputError, count
from interloq.learn.fit import Examples, Part, dev_outputs
from interloq.learn.job import Curve, Job, Run
from interloq.learn.learning_curve import write_curve
from interloq.learn.low_rank import attach, select_stored_tensors
from interloq.learn.settings import LowRank, Training
from interloq.learn.store import save_model
from interloq.models import pretrained
from interloq.models.batches import make_batches
from interloq.play.causal.model import BASE, HINT, KIND, TEMPLATE, CausalBatch, CausalNetwork, add_speakers
from interloq.play.causal.rows import FACTS, NOBODY, ReplyRows, read_rows
from interloq.play.causal.settings import CausalSettings, CausalSource
from interloq.play.networks.reply_log import ReplyLog, describe_empty_log
from interloq.play.networks.settings import BotReading
from interloq.play.networks.words import UNSPACED
from interloq.registry import full_spec
from interloq.retrieve.training_log import TrainingLog
from interloq.signature import file_fingerprint


class CausalTask:
    """Learns to write replies. Example e · n + i is row i of n in epoch e."""

    def __init__(self, network: CausalNetwork, rows: ReplyRows, settings: CausalSettings) -> None:
        self.network, self.rows, self.settings = network, rows, settings
        self.speaks = network.speakers is not None
        self.mean_tokens = {part: float(rows.replies[rows.range(part)].mean()) for part in ("train", "dev")}

    def batches(self, part: Part, epoch: int) -> Sequence[Examples]:
        own = self.rows.range(part)
        lengths = np.diff(self.rows.ends)[own] + 1
        rng = np.random.default_rng([self.settings.seed, epoch]) if part == "train" else None
        batches = make_batches(lengths, size=self.settings.batch, tokens=self.settings.tokens, rng=rng)
        return [batch + epoch * len(lengths) for batch in batches]

    def prepare(self, part: Part, examples: Examples) -> CausalBatch:
        own = self.rows.range(part)
        size = own.stop - own.start
        rows = own.start + examples % size
        speakers = self.rows.users[rows].astype(np.int64)
        if part == "train" and self.speaks:
            for i, example in enumerate(examples.tolist()):
                if np.random.default_rng([self.settings.seed, example]).random() < self.settings.shared:
                    speakers[i] = NOBODY
        return arrange_rows(self.rows, rows, speakers, speaks=self.speaks)

    def loss(self, prepared: CausalBatch) -> torch.Tensor:
        part: Part = "train" if self.network.training else "dev"
        return self._losses(prepared).sum() / self.mean_tokens[part]

    def dev_sum(self) -> float:
        """Return −log p of all replies of the dev part."""
        return sum(float(losses.sum()) for _, _, losses in dev_outputs(self, self._losses))

    def _losses(self, prepared: CausalBatch) -> torch.Tensor:
        return self.network.losses(prepared.on(self.network.device))


def arrange_rows(rows: ReplyRows, which: Examples, speakers: Examples, *, speaks: bool) -> CausalBatch:
    """Return rows as one batch; if the network has speakers, with a place for one before each reply."""
    texts = [rows.texts[i] for i in which.tolist()]
    before = [len(text) - int(n) for text, n in zip(texts, rows.replies[which], strict=True)]
    ids = np.zeros((len(which), max(map(len, texts)) + speaks), dtype=np.int64)
    places, targets = [], []
    for i, (text, start) in enumerate(zip(texts, before, strict=True)):
        ids[i, :start] = text[:start]
        ids[i, start + speaks : len(text) + speaks] = text[start:]
        first = i * ids.shape[1] + start + speaks - 1
        places.append(np.arange(first, first + len(text) - start))
        targets.append(text[start:].astype(np.int64))
    arrays = (ids, np.concatenate(places), np.concatenate(targets), speakers, np.array(before, dtype=np.int64))
    return CausalBatch(*map(torch.from_numpy, arrays))


@dataclass(frozen=True, kw_only=True)
class CausalJob(Job[CausalTask]):
    """Trains `model` on exchanges; with `reinitialise`, only its shape and tokenizer are used."""

    log: ReplyLog
    model: str
    reading: BotReading
    settings: CausalSettings
    low_rank: LowRank = field(default_factory=LowRank)

    kind = KIND
    others = "other settings, another model or other data"
    smaller = "lower --tokens or --context, or use a machine with more memory"

    @cached_property
    def folder(self) -> Path:
        """Folder of the model to start from."""
        return pretrained.model_folder(self.model)

    @cached_property
    def tokenizer(self) -> Any:
        """Tokenizer of the model, with the template of a trained one."""
        tokenizer = pretrained.load_tokenizer(self.folder)
        if tokenizer.eos_token_id is None:
            raise InputError("the model has no end token", hint="use another model", where=self.model)
        tokenizer.chat_template = TEMPLATE
        return tokenizer

    def dependencies(self) -> Sequence[str]:
        parts = [full_spec(self.reading), pretrained.tokenizer_fingerprint(self.folder), *self.low_rank.parts.values()]
        return [*parts, file_fingerprint(self.folder / pretrained.CONFIG), self._start()]

    def _start(self) -> str:
        return "random" if self.settings.reinitialise else pretrained.weights_fingerprint(self.folder)

    def started(self, work: Path) -> bool:
        return (work / FACTS).exists() or super().started(work)

    def prepare(self, run: Run) -> None:
        if not (run.work / FACTS).exists():
            self._check_length()
            with run.progress("reading exchanges", None) as step:
                self._read(step).save(run.work)
        facts = self._rows(run).facts
        every, dev = facts["exchanges"], facts["dev"]
        blank = f" ({facts['blank']:,} without text omitted)" if facts["blank"] else ""
        users = f"; {count(len(facts['users']), 'user')} with a token" if self.settings.speaker_token else ""
        run.report(f"{count(every - dev, 'exchange')} for training, {dev:,} for dev{blank}{users}")

    def _read(self, step: Any) -> ReplyRows:
        settings = self.settings
        exchanges = self.log.exchanges()
        options = {"user_replies": settings.user_replies, "reverse": settings.reverse, "step": step}
        try:
            return read_rows(exchanges, self.tokenizer, self.reading, **options)
        except InputError as error:
            raise InputError(describe_empty_log(self.log) or error.what, hint=error.hint) from error

    def _check_length(self) -> None:
        positions = getattr(pretrained.read_config(self.folder), "max_position_embeddings", None) or math.inf
        if (needed := self.reading.context + self.reading.reply + 1) > positions:
            what = f"rows have up to {needed:,} tokens, and the model reads {positions:,}"
            raise InputError(what, hint="lower --context or --reply", where=self.model)

    def task(self, run: Run) -> CausalTask:
        rows = self._rows(run)
        speakers = len(rows.facts["users"]) + 1 if self.settings.speaker_token else 0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.settings.seed)
            network = CausalNetwork(self._new_model(), speakers)
        if self.low_rank.low_rank:
            network.freeze()
        attach(network, self.low_rank, seed=self.settings.seed)
        return CausalTask(network, rows, self.settings)

    def _new_model(self) -> Any:
        if not self.settings.reinitialise:
            return pretrained.load_network(self.folder, transformers.AutoModelForCausalLM, hint=HINT)
        config = pretrained.read_config(self.folder, hint=HINT)
        if self.settings.layers:
            config.num_hidden_layers = self.settings.layers
            if getattr(config, "layer_types", None):
                config.layer_types = config.layer_types[: self.settings.layers]
        return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)

    def fit(self, task: CausalTask, run: Run) -> Curve:
        """Train, then round the weights as they are stored."""
        curve = super().fit(task, run)
        with torch.no_grad():
            for parameter in task.network.parameters():
                if parameter.requires_grad:
                    parameter.copy_(parameter.half())
        return curve

    def facts(self, task: CausalTask, run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        rows = task.rows
        dev, total = rows.range("dev"), task.dev_sum()
        tokens, words = int(rows.replies[dev].sum()), int(rows.words[dev].sum())
        facts = self.base_facts(curve, reading=full_spec(self.reading), model=self._start(), **self.low_rank.parts)
        if self.low_rank.low_rank:
            place = str(Path(self.model).resolve()) if Path(self.model).is_dir() else self.model
            base = {"name": place, "weights": pretrained.weights_fingerprint(self.folder)}
            facts |= {BASE: base, "low_rank": asdict(self.low_rank)}
        speaks = self.settings.speaker_token
        return facts | {
            "reverse": self.settings.reverse,
            "speakers": speaks,
            "users": len(rows.facts["users"]) if speaks else 0,
            "user_names": rows.facts["users"] if speaks else [],
            "language": rows.facts["language"],
            "weights_count": sum(parameter.numel() for parameter in task.network.parameters()),
            "exchanges": {name: rows.facts[name] for name in ("exchanges", "dev", "blank")},
            "perplexity": {"token": math.exp(min(total / tokens, 700)), "word": math.exp(min(total / words, 700))},
            "word": "character" if rows.facts["language"] in UNSPACED else "word",
            "loss_per_reply": total / (dev.stop - dev.start),
            "dev_counts": {"replies": dev.stop - dev.start, "tokens": tokens, "words": words},
        }

    def save(self, folder: Path, task: CausalTask, run: Run, facts: dict[str, Any], curve: Curve) -> None:  # noqa: ARG002
        network = task.network
        model, speakers = network.model, network.speakers
        tensors = select_stored_tensors(network)
        if not self.low_rank.low_rank:
            add_speakers(model, self.tokenizer, facts["user_names"], None if speakers is None else speakers.weight)
            model.tie_weights()
            places = {tensor.data_ptr(): name for name, tensor in reversed(model.state_dict().items())}
            tensors = {name: model.state_dict()[name].half() for name in places.values()}  # tied weights once
        model.config.save_pretrained(folder)
        model.generation_config.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        write_curve(folder, facts["signature"], curve)
        save_model(folder, tensors, facts)

    def _rows(self, run: Run) -> ReplyRows:
        return ReplyRows.load(run.work)


def from_log(
    log: TrainingLog,
    source: CausalSource,
    reading: BotReading,
    settings: CausalSettings,
    low_rank: LowRank,
    training: Training,
) -> CausalJob:
    """Return the job of `interloq train bot --model`."""
    if not log.files:
        raise InputError("nothing to train on", hint="give files of dialogues, pairs or samples")
    if settings.reinitialise and low_rank.low_rank:
        raise InputError("random weights have no low-rank updates", hint="omit --low-rank or --reinitialise")
    replies = ReplyLog(log, turns=reading.turns)
    return CausalJob(
        log=replies,
        model=source.model or "",
        reading=reading,
        settings=replace(settings, seed=training.seed),
        low_rank=low_rank,
        training=training,
        source=replies.fingerprint,
    )
