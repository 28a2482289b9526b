# SPDX-License-Identifier: Apache-2.0
"""Training of the scorers `relevance` and `valid`: tell true replies from wrong ones to the same context.

[CLS] turn [SEP] … turn [SEP] reply [SEP] → logit z        relevance
[CLS] reply [SEP] → logit z                                valid, which reads no context

binary    J = ½ · −log σ(z⁺) + ½ · mean over the wrong replies of −log(1 − σ(z⁻))
listwise  J = −log( e^z⁺ / (e^z⁺ + Σ e^z⁻) )

With the binary loss, σ(z) is P(the reply is true) if half of all replies are true. Exchanges are tokenised once, to
`<folder>/work` or to a separate folder that other jobs can use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts, spans
from interloq.errors import InputError, count
from interloq.learn.calibrate import calibration
from interloq.learn.cross_encoder_job import CrossEncoderJob
from interloq.learn.fit import dev_outputs
from interloq.learn.job import Curve, Run
from interloq.learn.settings import LowRank, Training
from interloq.models.batches import make_batches
from interloq.models.cross_encoder import CrossEncoder, join_rows
from interloq.models.pretrained import Subwords
from interloq.models.token_rows import Packed, TokenRows
from interloq.registry import full_spec
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.relevance.examples import (
    Exchange,
    Exchanges,
    Ints,
    Part,
    read_stored_source,
    reading_facts,
    write_exchanges,
)
from interloq.scorers.relevance.log import ExchangeLog
from interloq.scorers.relevance.negatives import WrongReplies, draw, spoil, token_kinds
from interloq.scorers.relevance.settings import EDITS, KINDS, RelevanceReading, RelevanceSettings, RelevanceSources
from interloq.scorers.relevance.stretches import Stretches, context_lengths, join_contexts
from interloq.signature import fingerprint
from interloq.signature import signature as signed

EXAMPLES = "examples"
Floats = NDArray[np.float64]
REPEATED = EDITS.index("repeated")
TOKENS = 2**16  # per batch, padding included


@dataclass(frozen=True, slots=True)
class RelevanceBatch:
    """Rows of a batch: for each exchange, the true reply and then the wrong replies."""

    rows: TokenRows | Packed
    exchanges: int


class RelevanceTask:
    """Learns from exchanges. Example e · n + i is exchange i of n with the wrong replies of epoch e."""

    def __init__(
        self, network: CrossEncoder, exchanges: Exchanges, settings: RelevanceSettings, subwords: Subwords
    ) -> None:
        self.network, self.exchanges, self.settings, self.subwords = network, exchanges, settings, subwords
        self.kinds = token_kinds(subwords)
        self.choices = 1 + len(settings.slots)  # replies per exchange
        self._drawn: dict[tuple[Part, int], WrongReplies] = {}

    def batches(self, part: Part, epoch: int) -> Sequence[Ints]:
        rng = None
        if part == "train":
            rng = np.random.default_rng([self.settings.seed, epoch])
        else:
            epoch = 0
        self._drawn = {key: replies for key, replies in self._drawn.items() if key[0] != part}
        drawn = self._drawn[part, epoch] = draw(self.exchanges, part, epoch, self.settings)
        longest = self._lengths(part, drawn)
        most = TOKENS // self.choices
        batches = make_batches(longest, size=self.settings.batch, tokens=most, rng=rng)
        return [batch + epoch * len(longest) for batch in batches]

    def prepare(self, part: Part, examples: Ints) -> RelevanceBatch:
        own = self.exchanges.range(part)
        epoch, places = np.divmod(examples, own.stop - own.start)
        drawn = self._drawn[part, int(epoch[0])]
        replies = self._replies(own.start + places, drawn.texts[places], drawn.spoiled[places], examples)
        contexts = None
        if self.settings.context:
            contexts = join_contexts(self.exchanges, own.start + places, self.subwords.end, self.settings.context)
        return RelevanceBatch(self.network.packing.arrange(_rows(replies, self.subwords, contexts)), len(examples))

    def logits(self, prepared: RelevanceBatch) -> torch.Tensor:
        """Return the logits [exchanges, 1 + wrong replies]; the true reply is first."""
        logits: torch.Tensor = self.network(prepared.rows)
        return logits.float().view(prepared.exchanges, -1)

    def loss(self, prepared: RelevanceBatch) -> torch.Tensor:
        logits = self.logits(prepared)
        if self.settings.loss == "listwise":
            return -torch.log_softmax(logits, dim=1)[:, 0].sum()
        true, wrong = -torch.nn.functional.logsigmoid(logits[:, 0]), -torch.nn.functional.logsigmoid(-logits[:, 1:])
        return (true + wrong.mean(dim=1)).sum() / 2

    def _lengths(self, part: Part, drawn: WrongReplies) -> Ints:
        """Return the tokens in the longest row of each exchange; tokens added by spoiling are not counted."""
        stored, own = self.exchanges, self.exchanges.range(part)
        context = context_lengths(stored, stored.contexts[own])
        texts = np.column_stack([stored.replies[own], drawn.texts])
        reply = stored.lengths[texts].max(axis=1).astype(np.int64)
        lengths: Ints = np.minimum(context, self.settings.context) + np.minimum(reply, self.settings.reply) + 3
        return lengths

    def _replies(
        self, exchanges: Ints, wrong: NDArray[np.int32], spoiled: NDArray[np.int8], examples: Ints
    ) -> Stretches:
        """Return the true and wrong replies, exchange by exchange, truncated at the end."""
        texts = np.column_stack([self.exchanges.replies[exchanges], wrong]).ravel()
        how = np.column_stack([np.zeros(len(exchanges), dtype=np.int8), spoiled]).ravel()
        lengths = np.minimum(self.exchanges.lengths[texts], self.settings.reply).astype(np.int64)
        plain = Stretches(self.exchanges.tokens[spans(self.exchanges.texts.ends[texts], lengths)], lengths)
        spoiled_replies = {}
        for i in np.flatnonzero(how).tolist():
            spoiled_replies[i] = self._spoil(plain, i, int(how[i]), examples)
        return plain.replace_texts(spoiled_replies)

    def _spoil(self, replies: Stretches, i: int, how: int, examples: Ints) -> NDArray[Any]:
        rng = np.random.default_rng([self.settings.seed, int(examples[i // self.choices]), i % self.choices])
        made = spoil(replies[i], how, self.kinds, rng)[: self.settings.reply]
        if not self.settings.context and np.array_equal(made, replies[i]):  # a single word, or "no no no" shuffled
            made = spoil(replies[i], REPEATED, self.kinds, rng)[: self.settings.reply]
        return made


def _rows(replies: Stretches, subwords: Subwords, contexts: Stretches | None = None) -> TokenRows:
    """Return each context with each of its replies (the same number for all), or replies alone."""
    parts = [contexts, replies] if contexts else [replies]
    lengths = np.concatenate([part.lengths for part in parts])
    tokens = np.concatenate([part.tokens for part in parts]).astype(np.int32)
    numbers = np.arange(len(replies.lengths))
    indices = numbers[:, None]
    if contexts:
        owners = numbers * len(contexts.lengths) // len(numbers)
        indices = np.column_stack([owners, len(contexts.lengths) + numbers])
    return join_rows(Texts(tokens, np.concatenate([[0], np.cumsum(lengths)])), indices, subwords)


@dataclass(frozen=True, kw_only=True)
class RelevanceJob(CrossEncoderJob[RelevanceTask]):
    """Trains on exchanges. `exchanges` is called once; without it, they must be in the folder `examples`, tokenised."""

    exchanges: Callable[[], Iterable[Exchange]] | None = None
    examples: Path | None = None
    reading: RelevanceReading
    settings: RelevanceSettings

    @property
    def kind(self) -> str:
        return self.settings.kind

    @property
    def longest(self) -> int:
        return self.reading.longest

    def reading_ids(self) -> Sequence[str]:
        return [self.start.fingerprint, *reading_facts(self.subwords, self.reading).values()]

    def started(self, work: Path) -> bool:
        return Exchanges.written(work / EXAMPLES) or super().started(work)

    def matches(self, facts: dict[str, Any]) -> bool:
        """Accept ids of earlier versions too, which included the number of exchanges."""
        counted = fingerprint(*self.parts, str(facts.get("examples", {}).get("exchanges")))  # a tuned one has none
        return facts["job"] in (self.name, counted)

    def prepare(self, run: Run) -> None:
        facts, wrong = self._exchanges(run).facts, len(self.settings.slots)
        dev, every = facts["dev"], facts["exchanges"]
        replies = count(wrong, "wrong reply", "wrong replies")
        run.report(f"{count(every - dev, 'exchange')} for training, {dev:,} for dev, {replies} each")

    def _exchanges(self, run: Run) -> Exchanges:
        folder = self.examples or run.work / EXAMPLES
        if Exchanges.written(folder):
            return self._check_examples(Exchanges.load(folder), folder)
        if self.exchanges is None:
            raise InputError("no examples in the folder", hint="give logs to make them from", where=str(folder))
        # jobs that share a folder of examples may use other kinds of wrong replies
        similar = self.examples is not None or "retrieved" in self.settings.slots
        with run.progress("reading exchanges", None) as step:
            return write_exchanges(
                self.exchanges(), folder, self.subwords, self.reading, source=self.source, similar=similar, step=step
            )

    def _check_examples(self, stored: Exchanges, folder: Path) -> Exchanges:
        for name, value in {**reading_facts(self.subwords, self.reading), "source": self.source}.items():
            if stored.facts[name] != value:
                raise InputError(
                    f"the examples have {name} {stored.facts[name]}, not {value}",
                    hint="use the settings they were made with, or choose another folder",
                    where=str(folder),
                )
        return stored

    def task(self, run: Run) -> RelevanceTask:
        network = self.network()
        wanted, positions = self.settings.context + self.settings.reply + 3, network.positions
        if positions is not None and wanted > positions:
            raise InputError(
                f"the encoder reads {positions} tokens, but context and reply have up to {wanted}",
                hint="lower context or reply",
            )
        return RelevanceTask(network, self._exchanges(run), self.settings, self.subwords)

    def facts(self, task: RelevanceTask, run: Run, curve: Curve) -> dict[str, Any]:
        settings, stored, logits = self.settings, task.exchanges, dev_logits(task)
        parts = {"training": full_spec(self.training), "encoder": self.start.fingerprint, "job": run.name}
        return self.base_facts(curve) | {
            "signature": str(signed(settings, **parts, **self.low_rank.parts)),
            "config": {
                "turns": int(stored.contexts.shape[1]),
                "longest": self.subwords.longest,
                "context": settings.context,
                "reply": settings.reply,
            },
            **self.low_rank_facts(),
            "subwords": self.subwords.signature(),
            "calibration": calibration(*label_logits(logits)),
            "examples": stored.facts,
            "wins": wins(logits, settings),
        }


def from_log(
    log: TrainingLog,
    given: RelevanceSources,
    reading: RelevanceReading,
    settings: RelevanceSettings,
    training: Training,
    low_rank: LowRank,
) -> RelevanceJob:
    """Return the job of `interloq train relevance` and `interloq train valid`."""
    if not (log.files or given.hard or given.examples):
        raise InputError("nothing to train on", hint="give files of dialogues or pairs, or --examples FOLDER")
    examples = Path(given.examples) if given.examples else None
    exchanges = ExchangeLog(log, given.hard, turns=reading.turns)
    return RelevanceJob(
        encoder=given.encoder,
        exchanges=exchanges.exchanges if exchanges.files else None,
        examples=examples,
        reading=reading,
        settings=settings,
        low_rank=low_rank,
        training=training,
        source=exchanges.fingerprint if exchanges.files else read_stored_source(examples),
    )


def dev_logits(task: RelevanceTask) -> Floats:
    """Return the logits [exchanges, 1 + wrong replies] of the dev part."""
    logits = np.zeros((task.exchanges.facts["dev"], task.choices))
    for examples, _, outputs in dev_outputs(task, task.logits):
        logits[examples] = outputs
    return logits


def label_logits(logits: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the logits and labels of each true reply and one of its wrong replies: half are true, as in the loss."""
    rows = np.arange(len(logits))
    wrong = logits[rows, 1 + rows % (logits.shape[1] - 1)]
    return np.concatenate([logits[:, 0], wrong]), np.repeat([1, 0], len(logits))


def wins(logits: Floats, settings: RelevanceSettings) -> dict[str, float]:
    """Return the share of true replies that score above the wrong one, by kind of wrong reply; .5 is chance."""
    above = np.sign(logits[:, :1] - logits[:, 1:]) / 2 + 0.5
    slots = np.array(settings.slots)
    return {kind: float(above[:, slots == kind].mean()) for kind in KINDS if kind in settings.slots}
