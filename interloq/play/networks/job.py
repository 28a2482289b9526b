# SPDX-License-Identifier: Apache-2.0
"""Train networks that write replies: predict each reply of a log, token by token, from the turns before it.

J = −log p(reply | context) / mean tokens of a reply         per exchange; VHRED adds its KL term

so the dev loss is the negative log-likelihood per token, and its exponential the perplexity. Batches hold exchanges of
similar length up to a number of tokens. Weights are rounded to half precision before they are measured and saved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files.durable import write_atomically
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError, count
from interloq.learn.fit import Part, dev_outputs
from interloq.learn.gru import Pieces, train_pieces
from interloq.learn.job import Curve, Job, Run
from interloq.learn.learning_curve import write_curve
from interloq.learn.settings import Training
from interloq.learn.store import save_model
from interloq.models.batches import make_batches
from interloq.play.networks.model import KIND, LONGEST, PIECES, make_network
from interloq.play.networks.network import END, SEPARATOR, ReplyNetwork, Targets, arrange_targets, draw_noise
from interloq.play.networks.reply_log import ReplyLog, describe_empty_log
from interloq.play.networks.settings import BotNetwork, BotReading, BotSources
from interloq.play.networks.words import count_words, find_language
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.relevance.examples import (
    Exchange,
    Exchanges,
    Ints,
    read_stored_source,
    write_exchanges,
)
from interloq.scorers.relevance.settings import RelevanceReading
from interloq.scorers.relevance.stretches import Stretches, context_lengths, join_contexts
from interloq.signature import file_fingerprint

EXAMPLES = "examples"
BUCKET = 8  # tokens by which contexts of one batch may differ before replies count
VANISHED = 0.1  # nats of KL per reply below which the latent variable is ignored
DIVERGED = 0.5  # KL as a share of the bound above which the latent variable costs more than the reply


@dataclass(frozen=True, slots=True)
class ReplyBatch:
    """Contexts and replies of a batch."""

    source: Any
    targets: Targets


class ReplyTask:
    """Learns to write replies. Example e · n + i is exchange i of n in epoch e."""

    def __init__(self, network: ReplyNetwork, exchanges: Exchanges, reading: BotReading, settings: BotNetwork) -> None:
        self.network, self.exchanges, self.reading, self.settings = network, exchanges, reading, settings
        self.mean_tokens = {part: float(self.lengths(part)[1].mean()) for part in ("train", "dev")}
        self._progress: NDArray[np.float64] = np.zeros(0)

    def batches(self, part: Part, epoch: int) -> Sequence[Ints]:
        source, target = self.lengths(part)
        rng = np.random.default_rng([self.settings.seed, epoch]) if part == "train" else None
        # contexts of about the same length, then replies, up and down by turns: neighbours are alike in both
        bucket = -(-source // BUCKET)
        width = self.reading.reply + 2
        keys = bucket * width + np.where(bucket % 2, target, width - 1 - target)
        batches = make_batches(
            bucket * BUCKET + target, size=self.settings.batch, tokens=self.settings.tokens, rng=rng, keys=keys
        )
        if part == "dev":
            return batches
        self._progress = np.zeros(len(source))
        for i, batch in enumerate(batches):
            self._progress[batch] = epoch - 1 + i / len(batches)
        return [batch + epoch * len(source) for batch in batches]

    def prepare(self, part: Part, examples: Ints) -> ReplyBatch:
        own = self.exchanges.range(part)
        places = examples % (own.stop - own.start)
        contexts, replies = self.rows(own.start + places)
        noise = draw_noise(examples, self.network.noise, self.settings.seed)
        progress = 0.0
        if part == "train":
            progress = float(self._progress[places[0]])
        targets = arrange_targets(add_end(replies, self.reading.reply), noise, progress)
        return ReplyBatch(self.network.arrange(_texts(contexts)), targets)

    def loss(self, prepared: ReplyBatch) -> torch.Tensor:
        device = self.network.device
        targets = prepared.targets.on(device)
        losses = self.network.losses(prepared.source.on(device), targets)
        part: Part = "train" if self.network.training else "dev"
        return self.network.objective(losses, targets).sum() / self.mean_tokens[part]

    def dev_sums(self) -> dict[str, float]:
        """Return the summed losses and the numbers of replies, tokens and words of the dev part."""
        sums = {"tokens": 0.0, "kl": 0.0}
        for _, _, losses in dev_outputs(self, self._read_losses):
            sums["tokens"] += float(losses[:, 0].sum())
            sums["kl"] += float(losses[:, 1].sum())
        return sums

    def _read_losses(self, prepared: ReplyBatch) -> torch.Tensor:
        device = self.network.device
        losses = self.network.losses(prepared.source.on(device), prepared.targets.on(device))
        kl = torch.zeros_like(losses.tokens) if losses.kl is None else losses.kl
        return torch.stack([losses.tokens, kl], dim=1)

    def lengths(self, part: Part) -> tuple[Ints, Ints]:
        """Return the tokens of each source and target; END is counted."""
        stored, own = self.exchanges, self.exchanges.range(part)
        contexts = stored.contexts[own][:, -self.reading.turns :]
        replies = np.minimum(stored.lengths[stored.replies[own]].astype(np.int64), self.reading.reply)
        if self.settings.reverse:
            last = np.minimum(stored.lengths[contexts[:, -1]].astype(np.int64), self.reading.reply)
            return replies, last + 1
        return np.minimum(context_lengths(stored, contexts), self.reading.context), replies + 1

    def rows(self, exchanges: Ints) -> tuple[Stretches, Stretches]:
        """Return what is read and what is predicted."""
        replies = self._cut(self.exchanges.replies[exchanges])
        if self.settings.reverse:
            return replies, self._cut(self.exchanges.contexts[exchanges, -1])
        return join_contexts(self.exchanges, exchanges, SEPARATOR, self.reading.context), replies

    def _cut(self, texts: NDArray[np.integer]) -> Stretches:
        taken = self.exchanges.texts.take(texts)
        lengths = np.minimum(taken.lengths, self.reading.reply)
        inside = np.arange(len(taken.tokens)) - np.repeat(taken.ends[:-1], taken.lengths) < self.reading.reply
        return Stretches(taken.tokens[inside], lengths)


def add_end(replies: Stretches, longest: int) -> Texts:
    """Return the replies, each followed by END unless it was cut: the network must not learn to stop anywhere."""
    whole = replies.lengths < longest
    lengths = replies.lengths + whole
    ends = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.full(int(ends[-1]), END, dtype=np.int32)
    is_end = np.zeros(len(tokens), dtype=bool)
    is_end[ends[1:][whole] - 1] = True
    tokens[~is_end] = replies.tokens
    return Texts(tokens, ends)


def _texts(stretches: Stretches) -> Texts:
    return Texts(stretches.tokens.astype(np.int32), np.concatenate([[0], np.cumsum(stretches.lengths)]))


@dataclass(frozen=True, kw_only=True)
class BotJob(Job[ReplyTask]):
    """Trains on exchanges. `log` is read once; without it, tokenised exchanges must be in the folder `examples`."""

    log: ReplyLog | None
    reading: BotReading
    settings: BotNetwork
    tokenizer: str | None = None
    examples: Path | None = None

    kind = KIND
    others = "other settings, another tokenizer or other data"
    smaller = "lower --tokens, or use a machine with more memory"

    def dependencies(self) -> Sequence[str]:
        tokenizer = file_fingerprint(Path(self.tokenizer)) if self.tokenizer else "trained"
        return [full_spec(self.reading), tokenizer]

    def started(self, work: Path) -> bool:
        return Exchanges.written(work / EXAMPLES) or super().started(work)

    def prepare(self, run: Run) -> None:
        facts = self._exchanges(run).facts
        if self.log is not None and self.log.one_sided:
            run.report(f"{count(self.log.one_sided, 'dialogue')} omitted in which only one speaker has a turn")
        every, dev = facts["exchanges"], facts["dev"]
        blank = f" ({facts['blank']:,} without text omitted)" if facts["blank"] else ""
        run.report(f"{count(every - dev, 'exchange')} for training, {dev:,} for dev{blank}")

    def task(self, run: Run) -> ReplyTask:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.settings.seed)
            network = make_network(self._pieces(run).size, self.settings, self.reading)
        return ReplyTask(network, self._exchanges(run), self.reading, self.settings)

    def fit(self, task: ReplyTask, run: Run) -> Curve:
        """Train, then round the weights as they are stored."""
        curve = super().fit(task, run)
        with torch.no_grad():
            for parameter in task.network.parameters():
                parameter.copy_(parameter.half())
        return curve

    def facts(self, task: ReplyTask, run: Run, curve: Curve) -> dict[str, Any]:
        pieces, language = self._pieces(run), self._language(run)
        facts = self.base_facts(curve, reading=full_spec(self.reading), pieces=pieces.signature())
        return facts | {
            "config": {"vocabulary": pieces.size, "network": asdict(self.settings), "reading": asdict(self.reading)},
            "pieces": file_fingerprint(pieces.model),
            "language": language,
            "weights_count": sum(parameter.numel() for parameter in task.network.parameters()),
            "exchanges": {name: task.exchanges.facts[name] for name in ("exchanges", "dev", "blank")},
            **measure(task, pieces, language),
        }

    def save(self, folder: Path, task: ReplyTask, run: Run, facts: dict[str, Any], curve: Curve) -> None:
        self.save_extras(folder, run)
        write_curve(folder, facts["signature"], curve)
        save_model(folder, {name: tensor.half() for name, tensor in task.network.state_dict().items()}, facts)

    def save_extras(self, folder: Path, run: Run) -> None:
        write_atomically(folder / PIECES, self._pieces(run).model.read_bytes())

    def verdict(self, facts: dict[str, Any]) -> str:
        if "kl" not in facts:
            return ""
        if facts["kl"] < VANISHED:
            return (
                f"the latent variable is ignored (KL {facts['kl']:.3f} nats per reply); "
                "raise --annealing or --word-dropout"
            )
        if facts["kl"] > DIVERGED * facts["loss_per_reply"]:
            return (
                f"the KL divergence ({facts['kl']:.1f} nats per reply) is most of the bound "
                f"({facts['loss_per_reply']:.1f}); lower --annealing or --learning-rate"
            )
        return ""

    def _folder(self, run: Run) -> Path:
        return self.examples or run.work / EXAMPLES

    def _pieces(self, run: Run) -> Pieces:
        """Return the tokenizer, trained first if it is missing."""
        path = self._folder(run) / PIECES
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            if self.tokenizer:
                write_atomically(path, Path(self.tokenizer).read_bytes())
            else:
                self._train_pieces(path, run)
        elif self.tokenizer and file_fingerprint(path) != file_fingerprint(Path(self.tokenizer)):
            raise InputError(
                "the examples were made with another tokenizer", hint="omit --tokenizer, or choose another folder"
            )
        return Pieces(path, longest=LONGEST)

    def _train_pieces(self, path: Path, run: Run) -> None:
        exchanges = self._read_log(path)
        pairs = (Pair("", turn, exchange.reply) for exchange in exchanges for turn in exchange.context[-1:])
        with run.progress("reading texts for the tokenizer", None) as step:
            first = next(pairs, None)
            if first is None:
                hint = "use dialogues of two speakers, pairs, or samples with a context"
                raise InputError(describe_empty_log(self.log) or "no text in the log has a reply", hint=hint)
            train_pieces(chain([first], pairs), path, vocabulary=self.reading.vocabulary, step=step)
        size = Pieces(path).size
        if size < self.reading.vocabulary:
            run.report(f"these texts yield a tokenizer of only {count(size, 'piece')}")

    def _read_log(self, folder: Path) -> Iterable[Exchange]:
        if self.log is None:
            raise InputError("no examples in the folder", hint="give logs to make them from", where=str(folder))
        return self.log.exchanges()

    def _exchanges(self, run: Run) -> Exchanges:
        folder, pieces = self._folder(run), self._pieces(run)
        reading = RelevanceReading(turns=self.reading.turns, longest=LONGEST, dev=self.reading.dev)
        if Exchanges.written(folder):
            stored = Exchanges.load(folder)
            for name, value in (("source", self.source), ("reading", full_spec(reading))):
                if stored.facts[name] != value:
                    raise InputError(
                        f"the examples have {name} {stored.facts[name]}, not {value}",
                        hint="use the settings they were made with, or choose another folder",
                        where=str(folder),
                    )
            return stored
        with run.progress("reading exchanges", None) as step:
            return write_exchanges(
                self._read_log(folder), folder, pieces, reading, source=self.source, similar=False, step=step
            )

    def _language(self, run: Run) -> str:
        if self.reading.language != "auto":
            return self.reading.language
        return find_language(self._pieces(run), self._exchanges(run).texts)


def measure(task: ReplyTask, pieces: Pieces, language: str) -> dict[str, Any]:
    """Return perplexities of the dev part; with a latent variable, they are upper bounds."""
    sums, exchanges = task.dev_sums(), task.exchanges
    replies = int(exchanges.facts["dev"])
    total = sums["tokens"] + sums["kl"]
    tokens, words = 0, 0
    for examples in task.batches("dev", 0):
        _, cut = task.rows(examples)
        tokens += len(add_end(cut, task.reading.reply).tokens)
        words += count_words(pieces, cut.tokens, language) + int((cut.lengths < task.reading.reply).sum())
    facts: dict[str, Any] = {
        "perplexity": {"token": _perplexity(total, tokens), "word": _perplexity(total, words)},
        "word": "character" if language in ("ja", "zh") else "word",
        "loss_per_reply": total / replies,
        "dev_counts": {"replies": replies, "tokens": tokens, "words": words},
    }
    if task.network.noise:
        facts["kl"] = sums["kl"] / replies
    return facts


def _perplexity(total: float, units: int) -> float:
    return math.exp(min(total / units, 700.0))


def from_log(
    log: TrainingLog, given: BotSources, reading: BotReading, settings: BotNetwork, training: Training
) -> BotJob:
    """Return the job of `interloq train bot`."""
    if not (log.files or given.examples):
        raise InputError("nothing to train on", hint="give files of dialogues, pairs or samples, or --examples FOLDER")
    examples = Path(given.examples) if given.examples else None
    replies = ReplyLog(log, turns=reading.turns) if log.files else None
    return BotJob(
        log=replies,
        reading=reading,
        settings=settings,
        tokenizer=given.tokenizer,
        examples=examples,
        training=training,
        source=replies.fingerprint if replies else read_stored_source(examples),
    )
