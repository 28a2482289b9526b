# SPDX-License-Identifier: Apache-2.0
"""Pre-training on logs: a pretrained network learns the language of your own conversations before its actual task.

The stages are tokenising the pairs, measuring the loss before any training, and the epochs. The result is in Hugging
Face layout.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import transformers
from safetensors import SafetensorError

from interloq.data.files.durable import remove
from interloq.data.files.folders import find_matching
from interloq.data.files.opening import read_json, reading_saved, write_json
from interloq.data.files.write_errors import writing
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.learn.adapt.settings import Adaptation
from interloq.learn.adapt.task import AdaptTask, dev_loss
from interloq.learn.devices import uses_mixed_precision
from interloq.learn.job import Curve, Job, Run
from interloq.learn.learning_curve import write_curve
from interloq.learn.pair_tokens import PairTokens, write_pair_tokens
from interloq.learn.settings import Training
from interloq.learn.store import WEIGHTS, check_weights_file
from interloq.models import token_predictor
from interloq.models.mlm import BOUNDS, MaskedLikelihood, reply_bounds
from interloq.models.pretrained import Subwords, check_fit, load_tokenizer, model_folder, weights_fingerprint
from interloq.records import Pair
from interloq.signature import file_fingerprint, fingerprint

KIND, SCHEMA = "adapted", 1
FACTS = "adapted.json"
BEFORE, PAIRS, SAVED = "before.json", "pairs", "saved"
TOKENIZER = ("tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json", "*.model", "*.jinja")
FOREIGN = 0.1  # with a larger share of unknown tokens, the tokenizer is for another language
REPLIES = 500  # of the dev part, for the bounds of likelihoods


class PairWriter(Protocol):
    """Pairs that are already tokenised."""

    def write(self, folder: Path, subwords: Subwords, *, dev: int) -> PairTokens:
        """Write the pairs' token ids to a folder."""


Pairs = Callable[[], Iterable[Pair]] | PairWriter


@dataclass(frozen=True, slots=True)
class Base:
    """The network to start from: its folder, its name, and the fingerprint of its weights."""

    folder: Path
    name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Setup:
    """Base network and settings of a job, with everything derived from them."""

    base: Base
    settings: Adaptation
    goal: token_predictor.Goal
    special_tokens: token_predictor.SpecialTokens
    longest: int
    network: token_predictor.TokenPredictor

    @classmethod
    def of(cls, base: Base, settings: Adaptation) -> Setup:
        """Load the base network."""
        goal = token_predictor.goal_of(base.folder, settings.objective)
        network = token_predictor.load_predictor(base.folder, goal, seed=settings.seed)
        tokenizer = load_tokenizer(base.folder)
        special_tokens = token_predictor.special_tokens_of(tokenizer, goal, base.folder)
        check_fit(len(tokenizer), network.model, base.folder)
        longest = longest_text(settings, network, special_tokens)
        if longest < 1:
            raise InputError("the network has no room for two texts", where=str(base.folder))
        return cls(base, settings, goal, special_tokens, longest, network)

    def task(self, work: Path) -> AdaptTask:
        """Return the task of predicting tokens."""
        return AdaptTask(self.network, PairTokens.load(work / PAIRS), self.settings, self.goal, self.special_tokens)


@dataclass(frozen=True, kw_only=True)
class AdaptJob(Job[AdaptTask]):
    """Trains a network further on pairs. `pairs` is called for each pass over them, or writes the tokens itself.

    `start` returns the base network, creating it in the folder for temporary files if needed; `base_id` identifies
    everything that the base network depends on.
    """

    pairs: Pairs
    settings: Adaptation
    start: Callable[[Run], Base]
    base_id: str

    kind = KIND
    others = "another model, other settings or other pairs"
    facts_file = FACTS

    @classmethod
    def of(
        cls, model: str | Path, pairs: Pairs, settings: Adaptation, training: Training, source: str = ""
    ) -> AdaptJob:
        """Adapt a pretrained network to the texts of pairs."""
        folder = model_folder(model)
        base = Base(folder, Path(str(model)).name, weights_fingerprint(folder))
        base_id = fingerprint(
            base.fingerprint, *map(file_fingerprint, [*folder.glob("config.json"), *tokenizer_files(folder)])
        )
        return cls(
            pairs=pairs, start=lambda _: base, base_id=base_id, settings=settings, training=training, source=source
        )

    def dependencies(self) -> Sequence[str]:
        return [self.base_id]

    def started(self, work: Path) -> bool:
        return PairTokens.written(work / PAIRS)

    def prepare(self, run: Run) -> None:
        """Tokenise the pairs, and report on them and on the network."""
        setup = Setup.of(self.start(run), self.settings)
        if setup.longest < self.settings.longest:
            run.report(f"texts are truncated to {setup.longest} tokens, the most that the network can read")
        if not PairTokens.written(run.work / PAIRS):
            subwords, dev = Subwords(setup.base.folder, longest=setup.longest), self.settings.dev
            with run.progress("reading pairs", None) as step:
                if callable(self.pairs):
                    write_pair_tokens(self.pairs(), run.work / PAIRS, subwords, dev=dev, step=step)
                else:
                    self.pairs.write(run.work / PAIRS, subwords, dev=dev)
        task = setup.task(run.work)
        run.report(task.pairs.summary)
        if setup.network.new:
            run.report("the model has no head that predicts tokens: a new one is trained; the encoder is unchanged")
        if setup.goal == "mlm" and (share := _unknown_share(task)) > FOREIGN:
            run.report(f"{share:.0%} of the tokens are unknown to the tokenizer: the model may be for another language")

    def task(self, run: Run) -> AdaptTask:
        return Setup.of(self.start(run), self.settings).task(run.work)

    def fit_task(self, run: Run) -> tuple[AdaptTask, Curve]:
        """Train the network.

        A batch that does not fit in GPU memory is split into more pieces, which changes the memory but not the steps.
        """
        task, base = self.task(run), self.start(run)
        _write_before(task, self.training, run)
        run.processes.wait()
        while True:
            try:
                return task, self.fit(task, run)
            except torch.OutOfMemoryError:
                pieces = 2 * task.pieces
            if pieces >= 2 * self.settings.batch:
                raise InputError(
                    "not enough memory for a batch of one pair", hint="lower longest, or use a smaller model"
                )
            run.report(f"not enough memory for a batch: trying again with each batch split into {pieces} pieces")
            network = token_predictor.load_predictor(
                base.folder, task.goal, seed=self.settings.seed
            )  # as before the first step
            task = AdaptTask(network, task.pairs, self.settings, task.goal, task.special_tokens, pieces=pieces)
            torch.cuda.empty_cache()

    def facts(self, task: AdaptTask, run: Run, curve: Curve) -> dict[str, Any]:
        base, facts = self.start(run), self.base_facts(curve, base=self.start(run).fingerprint)
        best = facts.pop("best")
        with reading_saved(run.work / BEFORE):
            before = float(read_json(run.work / BEFORE)["dev_loss"])
        return facts | {
            "schema": SCHEMA,
            "objective": task.goal,
            "base": {"name": base.name, "fingerprint": base.fingerprint},
            "head": "new" if task.network.new else "of the model",
            "longest": longest_text(self.settings, task.network, task.special_tokens),
            "pairs": task.pairs.counts,
            "unknown_tokens": _unknown_share(task),
            "before": _level(before),
            "after": {"epoch": best["epoch"], **_level(best["dev_loss"])},
        }

    def save(self, folder: Path, task: AdaptTask, run: Run, facts: dict[str, Any], curve: Curve) -> None:
        """Save all files. Each is complete before any is renamed; the facts, which mark completion, come last."""
        part, base, model = run.work / SAVED, self.start(run), task.network.model
        remove(part)
        bounds = {BOUNDS: _reply_bounds(base, task, facts["longest"], run.device)} if task.goal == "mlm" else {}
        with writing(folder, SafetensorError):
            write_network(part, model, token_predictor.read_carried_weights(base.folder, model.base_model_prefix))
            copy_tokenizer(base.folder, part)
            write_curve(part, facts["signature"], curve)
            for name, value in bounds.items():
                write_json(part / name, value)
            write_json(part / FACTS, {**facts, "weights": file_fingerprint(part / WEIGHTS)})
            last = (WEIGHTS, FACTS)
            for name in [*sorted(path.name for path in part.iterdir() if path.name not in last), *last]:
                (part / name).replace(folder / name)

    def read(self, folder: Path) -> dict[str, Any]:
        return read_facts(folder)


def longest_text(
    settings: Adaptation, network: token_predictor.TokenPredictor, special_tokens: token_predictor.SpecialTokens
) -> int:
    """Return the number of tokens of a text that are used: at most what the network can read."""
    return min(settings.longest, token_predictor.room(network.model.config, special_tokens))


def _unknown_share(task: AdaptTask) -> float:
    return 1 - float(task.known.sum() / task.pairs.lengths.sum())


def _write_before(task: AdaptTask, training: Training, run: Run) -> None:
    """Write the dev loss before any training."""
    if (run.work / BEFORE).exists():
        return
    device = run.processes.device
    loss = dev_loss(task, device, amp=uses_mixed_precision(training, device))
    if not math.isfinite(loss):
        raise InputError(f"the network's loss is {loss} before any training", hint="use another model")
    if run.processes.first:
        write_json(run.work / BEFORE, {"dev_loss": loss})


def _level(loss: float) -> dict[str, float]:
    return {"dev_loss": loss, "perplexity": math.exp(min(loss, 700.0))}


def _reply_bounds(base: Base, task: AdaptTask, longest: int, device: str) -> dict[str, Any]:
    """Return the typical likelihoods of the log's replies, for metrics that rescale likelihoods."""
    tokens, lengths = task.pairs.texts(np.unique(task.pairs.rows("dev")[:, 1])[:REPLIES])
    scorer = MaskedLikelihood(task.network, Subwords(base.folder, longest=longest), task.special_tokens, device=device)
    return reply_bounds(scorer, Texts(tokens, np.concatenate([[0], np.cumsum(lengths)])))


def read_facts(folder: Path) -> dict[str, Any]:
    """Return facts of an adapted network; weights of another network are refused."""
    facts = read_json(folder / FACTS)
    check_weights_file(folder, facts, FACTS)
    return facts


def write_network(folder: Path, model: Any, others: dict[str, torch.Tensor]) -> None:
    """Save the config, and all weights in one file, including `others` that are not part of the network."""
    transformers.logging.disable_progress_bar()
    state = model.cpu().state_dict()  # moved as a whole, or shared weights would be duplicated
    model.save_pretrained(folder, state_dict={**state, **others}, max_shard_size="1000GB")
    (folder / WEIGHTS).chmod(0o644)


def copy_tokenizer(source: Path, target: Path) -> None:
    """Copy the tokenizer's files from one model folder to another."""
    for path in tokenizer_files(source):
        shutil.copyfile(path, target / path.name)


def tokenizer_files(folder: Path) -> list[Path]:
    """Return the tokenizer files in a model folder."""
    return sorted({path for pattern in TOKENIZER for path in find_matching(folder, pattern) if path.is_file()})
