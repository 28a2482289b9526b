"""Pre-training on logs: a pretrained network learns the language of one's own conversations before its real task.

The work is a chain of stages in `<folder>/work`: pairs as tokens, the loss before, epochs. Run again, it goes on after
the last stage, or the last checkpoint, that was finished. The result has the layout of Hugging Face; `adapted.json`
comes last and says that all is there.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import transformers
from safetensors import SafetensorError

from interloq.data.durable import remove
from interloq.data.files import read_json, reading_saved, write_json
from interloq.data.folders import matching
from interloq.data.progress import Progress, silent
from interloq.data.token_texts import Texts
from interloq.data.write_errors import writing
from interloq.errors import InputError
from interloq.learn.adapt.settings import ADAPT, Adaptation
from interloq.learn.adapt.task import AdaptTask, dev_loss
from interloq.learn.fit import fit
from interloq.learn.job import claim, clear_work
from interloq.learn.learning_curve import best_epoch, write_curve
from interloq.learn.pair_tokens import PairTokens, write_pair_tokens
from interloq.learn.settings import Training
from interloq.models.mlm import BOUNDS, MaskedLikelihood, reply_bounds
from interloq.models.pretrained import load_tokenizer, model_folder, weights_fingerprint
from interloq.models.processes import Processes
from interloq.models.subwords import Subwords
from interloq.models.token_guesser import Goal, Marks, TokenGuesser, carried, goal_of, load_guesser, marks_of, room
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.signature import file_fingerprint, fingerprint
from interloq.signature import signature as signed

KIND, SCHEMA = "adapted", 1
FACTS, WEIGHTS = "adapted.json", "model.safetensors"
BEFORE, PAIRS, SAVED = "before.json", "pairs", "saved"
TOKENIZER = ("tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json", "*.model", "*.jinja")
STRANGE = 0.1  # share of unknown tokens from which on the tokenizer is of another language
REPLIES = 500  # of the dev part, whose likelihoods are recorded


class PairWriter(Protocol):
    """Pairs that are tokens already."""

    def write(self, folder: Path, subwords: Subwords, *, dev: int) -> PairTokens: ...


Pairs = Callable[[], Iterable[Pair]] | PairWriter
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Base:
    """Where a network starts: a folder, what to call it, and the fingerprint of its weights."""

    folder: Path
    name: str
    fingerprint: str


def train(
    pairs: Pairs,
    folder: str | Path,
    model: str | Path,
    settings: Adaptation,
    training: Training = ADAPT,
    *,
    source: str = "",
    device: str = "auto",
    progress: Progress = silent,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Adapt a pretrained network to the pairs' texts and save it to `folder`. Returns its facts.

    `pairs` is called for each pass over the pairs, or writes the tokens itself. `source` names them: a folder
    with a job on others is refused.
    """
    found = model_folder(model)
    base = Base(found, Path(str(model)).name, weights_fingerprint(found))
    others = [file_fingerprint(path) for path in [*found.glob("config.json"), *tokenizer_files(found)]]
    return learn(
        pairs,
        folder,
        lambda _: base,
        settings,
        training,
        named=fingerprint(base.fingerprint, *others),
        source=source,
        device=device,
        progress=progress,
        say=say,
    )


def learn(
    pairs: Pairs,
    folder: str | Path,
    start: Callable[[Path], Base],
    settings: Adaptation,
    training: Training,
    *,
    named: str,
    source: str,
    device: str,
    progress: Progress,
    say: Say,
) -> dict[str, Any]:
    """The same for any start: `start` gets the folder of working files; `named` is all that it depends on."""
    folder, work = Path(folder).resolve(), Path(folder).resolve() / "work"
    loop = replace(training, checkpoint_minutes=ADAPT.checkpoint_minutes)  # how often it is saved decides nothing
    job = fingerprint(full_spec(settings), full_spec(loop), named, source)
    with Processes.joined(device) as processes:
        say = say if processes.first else lambda _: None
        if processes.first and not claim(
            folder,
            job,
            begun=PairTokens.written(folder / "work" / PAIRS),
            facts=FACTS,
            others="another model, other settings or other pairs",
        ):
            start(work)
        processes.wait()
        if (folder / FACTS).exists():
            say(f"{folder.name} is trained already")
            return read_facts(folder)
        setup = Setup.of(start(work), settings)
        if processes.first:
            _read(pairs, setup, work, progress, say)
        processes.wait()
        before = _before(setup, work, training, processes)
        processes.wait()
        task, curve = _fitted(setup, training, work, job, device, progress, say)
        facts = _facts(setup, task, training, source, before, curve)
        processes.wait()
        if processes.first:
            _save(folder, setup, task, {"job": job, "source": source, **facts}, curve, device)
        processes.wait()
    return read_facts(folder)


def read_facts(folder: Path) -> dict[str, Any]:
    """What is known of an adapted network; weights that are not its own are refused."""
    facts = read_json(folder / FACTS)
    weights = folder / WEIGHTS
    if not weights.exists() or file_fingerprint(weights) != facts.get("weights"):
        raise InputError(
            f"{WEIGHTS} is missing or belongs to another model than {FACTS}",
            cure="copy the folder whole, or train it again",
            where=str(folder),
        )
    return facts


@dataclass(frozen=True, slots=True)
class Setup:
    """The start of a job with all that follows from it."""

    base: Base
    settings: Adaptation
    goal: Goal
    marks: Marks
    longest: int
    network: TokenGuesser

    @classmethod
    def of(cls, base: Base, settings: Adaptation) -> Setup:
        goal = goal_of(base.folder, settings.objective)
        network = load_guesser(base.folder, goal, seed=settings.seed)
        tokenizer = load_tokenizer(base.folder)
        marks = marks_of(tokenizer, goal, base.folder)
        embeddings = network.model.get_input_embeddings().num_embeddings
        if len(tokenizer) > embeddings:
            raise InputError(
                f"the tokenizer has {len(tokenizer):,} tokens and the network {embeddings:,}",
                cure="copy a model's folder whole; its parts are of different models",
                where=str(base.folder),
            )
        longest = min(settings.longest, room(network.model.config, marks))
        if longest < 1:
            raise InputError("the network has no room for two texts", where=str(base.folder))
        return cls(base, settings, goal, marks, longest, network)

    def task(self, work: Path, network: TokenGuesser, pieces: int = 1) -> AdaptTask:
        return AdaptTask(network, PairTokens.load(work / PAIRS), self.settings, self.goal, self.marks, pieces=pieces)


# ---- stages ----------------------------------------------------------------------------------------------------------


def _read(pairs: Pairs, setup: Setup, work: Path, progress: Progress, say: Say) -> None:
    """The pairs as tokens, once, and what is to be known of them and of the network."""
    if setup.longest < setup.settings.longest:
        say(f"texts are cut after {setup.longest} tokens: the network reads no more")
    if not PairTokens.written(work / PAIRS):
        subwords = Subwords(setup.base.folder, longest=setup.longest)
        with progress("reading pairs", None) as step:
            if callable(pairs):
                write_pair_tokens(pairs(), work / PAIRS, subwords, dev=setup.settings.dev, step=step)
            else:
                pairs.write(work / PAIRS, subwords, dev=setup.settings.dev)
    task = setup.task(work, setup.network)
    stored = task.pairs
    blank = f" ({stored.blank:,} without text left out)" if stored.blank else ""
    say(f"{len(stored.rows('train')):,} pairs to train on, {stored.dev:,} to check with{blank}")
    if setup.network.new:
        say("the model has no head that guesses tokens: a new one starts, the encoder is as it came")
    if setup.goal == "mlm" and (share := _unknown(task)) > STRANGE:
        say(f"the tokenizer does not know {share:.0%} of the tokens: the model may be of another language")


def _unknown(task: AdaptTask) -> float:
    return 1 - float(task.known.sum() / task.pairs.lengths.sum())


def _before(setup: Setup, work: Path, training: Training, processes: Processes) -> float:
    """The dev loss of the network as it came."""
    if (work / BEFORE).exists():
        with reading_saved(work / BEFORE):
            return float(read_json(work / BEFORE)["dev_loss"])
    amp = training.amp == "bf16" or (training.amp == "auto" and processes.device.type == "cuda")
    loss = dev_loss(setup.task(work, setup.network), processes.device, amp=amp)
    if not math.isfinite(loss):
        raise InputError(f"the network's loss is {loss} before any training", cure="use another model")
    if processes.first:
        write_json(work / BEFORE, {"dev_loss": loss})
    return loss


def _fitted(
    setup: Setup, training: Training, work: Path, job: str, device: str, progress: Progress, say: Say
) -> tuple[AdaptTask, list[dict[str, Any]]]:
    """The loop. A batch that a GPU has no room for is cut into more and more pieces: same steps, less memory."""
    network, pieces = setup.network, 1
    while True:
        task = setup.task(work, network, pieces)
        try:
            return task, fit(task, training, work, job=job, device=device, progress=progress, say=say)
        except torch.OutOfMemoryError:
            pieces *= 2
        if pieces >= 2 * setup.settings.batch:
            raise InputError("no memory for a batch of one pair", cure="lower --longest, or use a smaller model")
        say(f"no memory for a batch: going on with {pieces} pieces of it at a time")
        network = load_guesser(setup.base.folder, setup.goal, seed=setup.settings.seed)  # as it was before any step
        torch.cuda.empty_cache()


def _facts(
    setup: Setup, task: AdaptTask, training: Training, source: str, before: float, curve: list[dict[str, Any]]
) -> dict[str, Any]:
    stored, best = task.pairs, best_epoch(curve)
    devices = "+".join(dict.fromkeys(epoch["device"] for epoch in curve))
    own = {"training": full_spec(training), "base": setup.base.fingerprint, "source": source, "device": devices}
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "signature": str(signed(setup.settings, **own)),
        "objective": setup.goal,
        "base": {"name": setup.base.name, "fingerprint": setup.base.fingerprint},
        "head": "new" if setup.network.new else "of the model",
        "longest": setup.longest,
        "pairs": {"train": len(stored.rows("train")), "dev": stored.dev, "blank": stored.blank},
        "unknown_tokens": _unknown(task),
        "before": _level(before),
        "after": {"epoch": best["epoch"], **_level(best["dev_loss"])},
    }


def _level(loss: float) -> dict[str, float]:
    return {"dev_loss": loss, "perplexity": math.exp(min(loss, 700.0))}


# ---- saving ----------------------------------------------------------------------------------------------------------


def _save(
    folder: Path,
    setup: Setup,
    task: AdaptTask,
    facts: dict[str, Any],
    curve: list[dict[str, Any]],
    device: str,
) -> None:
    """All files are whole before any gets its name; the weights go before the facts, which say that all is there."""
    part, network = folder / "work" / SAVED, task.network
    remove(part)
    usual = {BOUNDS: _usual(setup, task, device)} if setup.goal == "mlm" else {}
    with writing(folder, SafetensorError):
        write_network(part, network.model, carried(setup.base.folder, network.model.base_model_prefix))
        copy_tokenizer(setup.base.folder, part)
        write_curve(part, facts["signature"], curve)
        for name, value in usual.items():
            write_json(part / name, value)
        write_json(part / FACTS, {**facts, "weights": file_fingerprint(part / WEIGHTS)})
        last = (WEIGHTS, FACTS)
        for name in [*sorted(path.name for path in part.iterdir() if path.name not in last), *last]:
            (part / name).replace(folder / name)
    clear_work(folder)


def _usual(setup: Setup, task: AdaptTask, device: str) -> dict[str, Any]:
    """How likely replies of the log are to the network, for metrics that put likelihoods on a scale."""
    tokens, lengths = task.pairs.texts(np.unique(task.pairs.rows("dev")[:, 1])[:REPLIES])
    subwords = Subwords(setup.base.folder, longest=setup.longest)
    scorer = MaskedLikelihood(task.network, subwords, setup.marks, device=device)
    return reply_bounds(scorer, Texts(tokens, np.concatenate([[0], np.cumsum(lengths)])))


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
