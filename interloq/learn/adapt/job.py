"""Pre-training on logs: a pretrained network learns the language of one's own conversations before its real task.

Its stages are pairs as tokens, the loss before any training, and epochs. The result has the layout of Hugging Face.
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

from interloq.data.durable import remove
from interloq.data.files import read_json, reading_saved, write_json
from interloq.data.folders import matching
from interloq.data.token_texts import Texts
from interloq.data.write_errors import writing
from interloq.errors import InputError
from interloq.learn.adapt.settings import Adaptation
from interloq.learn.adapt.task import AdaptTask, dev_loss
from interloq.learn.devices import mixed_precision
from interloq.learn.job import Curve, Job, Run
from interloq.learn.learning_curve import write_curve
from interloq.learn.pair_tokens import PairTokens, write_pair_tokens
from interloq.learn.settings import Training
from interloq.models.mlm import BOUNDS, MaskedLikelihood, reply_bounds
from interloq.models.pretrained import load_tokenizer, model_folder, weights_fingerprint
from interloq.models.subwords import Subwords
from interloq.models.token_predictor import (
    Goal,
    SpecialTokens,
    TokenPredictor,
    carried,
    goal_of,
    load_predictor,
    room,
    special_tokens_of,
)
from interloq.records import Pair
from interloq.signature import file_fingerprint, fingerprint

KIND, SCHEMA = "adapted", 1
FACTS, WEIGHTS = "adapted.json", "model.safetensors"
BEFORE, PAIRS, SAVED = "before.json", "pairs", "saved"
TOKENIZER = ("tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json", "*.model", "*.jinja")
STRANGE = 0.1  # share of unknown tokens from which on the tokenizer is of another language
REPLIES = 500  # of the dev part, whose likelihoods are recorded


class PairWriter(Protocol):
    """Pairs that are tokens already."""

    def write(self, folder: Path, subwords: Subwords, *, dev: int) -> PairTokens:
        """Number the pairs, and write them to a folder."""


Pairs = Callable[[], Iterable[Pair]] | PairWriter


@dataclass(frozen=True, slots=True)
class Base:
    """Where a network starts: a folder, what to call it, and the fingerprint of its weights."""

    folder: Path
    name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Setup:
    """The start of a job with all that follows from it."""

    base: Base
    settings: Adaptation
    goal: Goal
    special_tokens: SpecialTokens
    longest: int
    network: TokenPredictor

    @classmethod
    def of(cls, base: Base, settings: Adaptation) -> Setup:
        """What a job needs, from the base model and the settings."""
        goal = goal_of(base.folder, settings.objective)
        network = load_predictor(base.folder, goal, seed=settings.seed)
        tokenizer = load_tokenizer(base.folder)
        special_tokens = special_tokens_of(tokenizer, goal, base.folder)
        embeddings = network.model.get_input_embeddings().num_embeddings
        if len(tokenizer) > embeddings:
            raise InputError(
                f"the tokenizer has {len(tokenizer):,} tokens and the network {embeddings:,}",
                hint="copy a model's folder whole; its parts are of different models",
                where=str(base.folder),
            )
        longest = longest_text(settings, network, special_tokens)
        if longest < 1:
            raise InputError("the network has no room for two texts", where=str(base.folder))
        return cls(base, settings, goal, special_tokens, longest, network)

    def task(self, work: Path) -> AdaptTask:
        """The task of guessing tokens."""
        return AdaptTask(self.network, PairTokens.load(work / PAIRS), self.settings, self.goal, self.special_tokens)


@dataclass(frozen=True, kw_only=True)
class AdaptJob(Job[AdaptTask]):
    """`pairs` is called for each pass over the pairs, or writes the tokens itself.

    `start` gives the network to begin with, made in the folder of working files if need be; `named` is all that it
    depends on.
    """

    pairs: Pairs
    settings: Adaptation
    start: Callable[[Run], Base]
    named: str

    kind = KIND
    others = "another model, other settings or other pairs"
    facts_file = FACTS

    @classmethod
    def of(
        cls, model: str | Path, pairs: Pairs, settings: Adaptation, training: Training, source: str = ""
    ) -> AdaptJob:
        """Adapt a pretrained network to the pairs' texts."""
        found = model_folder(model)
        base = Base(found, Path(str(model)).name, weights_fingerprint(found))
        others = [file_fingerprint(path) for path in [*found.glob("config.json"), *tokenizer_files(found)]]
        named = fingerprint(base.fingerprint, *others)
        return cls(pairs=pairs, start=lambda _: base, named=named, settings=settings, training=training, source=source)

    def made_of(self) -> Sequence[str]:
        return [self.named]

    def begun(self, work: Path) -> bool:
        return PairTokens.written(work / PAIRS)

    def prepare(self, run: Run) -> None:
        """The pairs as tokens, and what is to be known of them and of the network."""
        setup = Setup.of(self.start(run), self.settings)
        if setup.longest < self.settings.longest:
            run.say(f"texts are cut after {setup.longest} tokens: the network reads no more")
        if not PairTokens.written(run.work / PAIRS):
            self._write_pairs(setup, run)
        task = setup.task(run.work)
        run.say(task.pairs.summary)
        if setup.network.new:
            run.say("the model has no head that guesses tokens: a new one starts, the encoder is as it came")
        if setup.goal == "mlm" and (share := _unknown(task)) > STRANGE:
            run.say(f"the tokenizer does not know {share:.0%} of the tokens: the model may be of another language")

    def _write_pairs(self, setup: Setup, run: Run) -> None:
        subwords, dev = Subwords(setup.base.folder, longest=setup.longest), self.settings.dev
        with run.progress("reading pairs", None) as step:
            if callable(self.pairs):
                write_pair_tokens(self.pairs(), run.work / PAIRS, subwords, dev=dev, step=step)
            else:
                self.pairs.write(run.work / PAIRS, subwords, dev=dev)

    def task(self, run: Run) -> AdaptTask:
        return Setup.of(self.start(run), self.settings).task(run.work)

    def fitted(self, run: Run) -> tuple[AdaptTask, Curve]:
        """The loop. A batch that a GPU has no room for is cut into more and more pieces: same steps, less memory."""
        task, base = self.task(run), self.start(run)
        _write_before(task, self.training, run)
        run.processes.wait()
        while True:
            try:
                return task, self.fit(task, run)
            except torch.OutOfMemoryError:
                pieces = 2 * task.pieces
            if pieces >= 2 * self.settings.batch:
                raise InputError("no memory for a batch of one pair", hint="lower --longest, or use a smaller model")
            run.say(f"no memory for a batch: going on with {pieces} pieces of it at a time")
            network = load_predictor(base.folder, task.goal, seed=self.settings.seed)  # as it was before any step
            task = AdaptTask(network, task.pairs, self.settings, task.goal, task.special_tokens, pieces=pieces)
            torch.cuda.empty_cache()

    def facts(self, task: AdaptTask, run: Run, curve: Curve) -> dict[str, Any]:
        base, told = self.start(run), self.described(curve, base=self.start(run).fingerprint)
        best = told.pop("best")
        return told | {
            "schema": SCHEMA,
            "objective": task.goal,
            "base": {"name": base.name, "fingerprint": base.fingerprint},
            "head": "new" if task.network.new else "of the model",
            "longest": longest_text(self.settings, task.network, task.special_tokens),
            "pairs": task.pairs.counts,
            "unknown_tokens": _unknown(task),
            "before": _level(_before(run.work)),
            "after": {"epoch": best["epoch"], **_level(best["dev_loss"])},
        }

    def save(self, folder: Path, task: AdaptTask, run: Run, facts: dict[str, Any], curve: Curve) -> None:
        """All files are whole before any gets its name; the facts, which say that all is there, come last."""
        part, base, model = run.work / SAVED, self.start(run), task.network.model
        remove(part)
        usual = {BOUNDS: _usual(base, task, facts["longest"], run.device)} if task.goal == "mlm" else {}
        with writing(folder, SafetensorError):
            write_network(part, model, carried(base.folder, model.base_model_prefix))
            copy_tokenizer(base.folder, part)
            write_curve(part, facts["signature"], curve)
            for name, value in usual.items():
                write_json(part / name, value)
            write_json(part / FACTS, {**facts, "weights": file_fingerprint(part / WEIGHTS)})
            last = (WEIGHTS, FACTS)
            for name in [*sorted(path.name for path in part.iterdir() if path.name not in last), *last]:
                (part / name).replace(folder / name)

    def read(self, folder: Path) -> dict[str, Any]:
        return read_facts(folder)


def longest_text(settings: Adaptation, network: TokenPredictor, special_tokens: SpecialTokens) -> int:
    """Tokens of a text that count: no more than the network has room for."""
    return min(settings.longest, room(network.model.config, special_tokens))


def _unknown(task: AdaptTask) -> float:
    return 1 - float(task.known.sum() / task.pairs.lengths.sum())


def _write_before(task: AdaptTask, training: Training, run: Run) -> None:
    """The dev loss of the network as it came."""
    if (run.work / BEFORE).exists():
        return
    device = run.processes.device
    loss = dev_loss(task, device, amp=mixed_precision(training, device))
    if not math.isfinite(loss):
        raise InputError(f"the network's loss is {loss} before any training", hint="use another model")
    if run.processes.first:
        write_json(run.work / BEFORE, {"dev_loss": loss})


def _before(work: Path) -> float:
    with reading_saved(work / BEFORE):
        return float(read_json(work / BEFORE)["dev_loss"])


def _level(loss: float) -> dict[str, float]:
    return {"dev_loss": loss, "perplexity": math.exp(min(loss, 700.0))}


def _usual(base: Base, task: AdaptTask, longest: int, device: str) -> dict[str, Any]:
    """How likely replies of the log are to the network, for metrics that put likelihoods on a scale."""
    tokens, lengths = task.pairs.texts(np.unique(task.pairs.rows("dev")[:, 1])[:REPLIES])
    scorer = MaskedLikelihood(task.network, Subwords(base.folder, longest=longest), task.special_tokens, device=device)
    return reply_bounds(scorer, Texts(tokens, np.concatenate([[0], np.cumsum(lengths)])))


def read_facts(folder: Path) -> dict[str, Any]:
    """What is known of an adapted network; weights that are not its own are refused."""
    facts = read_json(folder / FACTS)
    weights = folder / WEIGHTS
    if not weights.exists() or file_fingerprint(weights) != facts.get("weights"):
        raise InputError(
            f"{WEIGHTS} is missing or belongs to another model than {FACTS}",
            hint="copy the folder whole, or train it again",
            where=str(folder),
        )
    return facts


def write_network(folder: Path, model: Any, others: dict[str, torch.Tensor]) -> None:
    """Config and weights in one file, with some weights that the network itself has no place for."""
    transformers.logging.disable_progress_bar()
    state = model.cpu().state_dict()  # moved whole, or else weights that are shared would become two
    model.save_pretrained(folder, state_dict={**state, **others}, max_shard_size="1000GB")
    (folder / WEIGHTS).chmod(0o644)


def copy_tokenizer(source: Path, target: Path) -> None:
    """Copy the tokenizer's files from one model folder to another."""
    for path in tokenizer_files(source):
        shutil.copyfile(path, target / path.name)


def tokenizer_files(folder: Path) -> list[Path]:
    """The files of a model folder that belong to its tokenizer."""
    return sorted({path for pattern in TOKENIZER for path in matching(folder, pattern) if path.is_file()})
