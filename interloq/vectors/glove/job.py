# SPDX-License-Identifier: Apache-2.0
"""GloVe: Pennington, Socher, Manning 2014, "GloVe: Global Vectors for Word Representation".

Loss: ½ Σ f(X_ij) · (w_i · w̃_j + b_i + b̃_j − log X_ij)² over all pairs with X_ij > 0, where
f(x) = min(1, (x / x_max)^alpha); minimised by AdaGrad, one entry at a time in random order. A word's vector is w + w̃.

As in the authors' program, initial values are (u − ½) / (dimensions + 1) with u uniform in [0, 1), squared gradients
start at 1 and include the learning rate, and components of a gradient are clipped at ±clip. The 2014 program also
uses the learning rate for biases, and later releases use 1; `bias_rate` allows either. Unlike that program, this one
uses float32 instead of float64, and an order of entries in which threads never share a word (shuffle.py), so a seed
gives the same result with any number of threads.

Training is a sequence of stages in `<folder>/work`; each ends by writing a small JSON file. An interrupted job resumes
after the last finished stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.durable import atomic_folder, remove
from interloq.data.files.opening import read_json, reading_saved, write_json
from interloq.data.files.write_errors import writing
from interloq.data.progress import Progress, Step, format_duration, silent
from interloq.errors import InputError, MissingDependencyError, count
from interloq.learn.claim import WORK, claim, clear_work
from interloq.learn.learning_curve import write_curve
from interloq.registry import full_spec
from interloq.signature import fingerprint
from interloq.signature import signature as signed
from interloq.vectors.glove import cooccur, shuffle
from interloq.vectors.glove.numbered_corpus import Corpus, write_corpus
from interloq.vectors.glove.settings import Glove, GloveParameters
from interloq.vectors.word_vectors import WordVectors

Floats = NDArray[np.float32]
RARE = 100  # number of rarest words; the mean of their vectors is the vector of unknown words
UNKNOWN = "<unk>"
JOB, CHECKPOINT, STATE = "job.json", "checkpoint", "state.json"


class Engine(Protocol):
    """Trains the vectors, with numba or torch."""

    device: str

    def epoch(self, chunks: Iterator[shuffle.Chunk], rng: np.random.Generator, step: Step) -> float:
        """Train one pass over all chunks; return the loss."""

    def parameters(self) -> GloveParameters:
        """Return the current parameters."""


def train(
    texts: Iterable[str],
    folder: str | Path,
    settings: Glove,
    *,
    source: str = "",
    device: str = "cpu",
    threads: int = 0,
    memory: float = 4.0,
    progress: Progress = silent,
    report: Callable[[str], None] = lambda _: None,
) -> WordVectors:
    """Train on texts and save to `folder`; an interrupted job resumes.

    `source` identifies the texts: a folder with a job on other texts or with other settings is refused. `memory` is in
    GB; `device` is "cpu" (numba), "cuda" or "torch" (torch on the CPU).
    """
    if threads < 0 or memory <= 0:
        raise InputError(f"threads must be at least 0 and memory above 0, got {threads} and {memory}")
    folder, job = Path(folder), fingerprint(full_spec(settings), settings.tokenizer.signature(), source)
    claimed = claim(
        folder,
        job,
        started=lambda work: Corpus.load(work) is not None,
        facts="vectors.json",
        others="other settings or other texts",
    )
    with claimed as done:
        if done:
            report(f"{folder} is trained already")
            return WordVectors.load(folder)
        work, engine_for = folder / WORK, _engine(device, threads)
        with writing(folder):
            corpus = Corpus.load(work) or _tokenise(texts, work, settings, progress)
            report(
                f"{count(corpus.tokens, 'token')} in {count(corpus.texts, 'text')} "
                f"({count(corpus.duplicates, 'repeated text')} skipped); "
                f"{len(corpus.words):,} of {count(corpus.distinct, 'word')} kept"
            )
            chunks = shuffle.Chunks.load(work) or _count_and_shuffle(corpus, work, settings, memory, progress)
            report(f"{count(chunks.entries, 'pair')} of words to train on")
            parameters, curve = _train_epochs(chunks, corpus, work, settings, engine_for, progress, report)
            return _save(folder, corpus, settings, parameters, curve, job=job, source=source)


def _tokenise(texts: Iterable[str], work: Path, settings: Glove, progress: Progress) -> Corpus:
    with progress("reading texts", None) as step:
        return write_corpus(
            texts,
            work,
            settings.tokenizer,
            min_count=settings.min_count,
            max_vocabulary=settings.max_vocabulary,
            keep_duplicates=settings.keep_duplicates,
            step=step,
        )


def _count_and_shuffle(
    corpus: Corpus, work: Path, settings: Glove, memory: float, progress: Progress
) -> shuffle.Chunks:
    counted = cooccur.Cooccurrence.load(work)
    if counted is None:
        with progress("counting pairs (tokens)", sum(corpus.counts)) as step:
            counted = cooccur.count(
                corpus.parts(cooccur.PART),
                work,
                words=len(corpus.words),
                window=settings.window,
                memory=memory * 1e9,
                step=step,
            )
    if not counted.entries:
        raise InputError("no text has two words of the vocabulary", hint="give longer texts or lower --min-count")
    with progress("shuffling pairs", 2 * counted.full_entries) as step:
        chunks = shuffle.shuffle(counted, work, seed=settings.seed, step=step)
    for name in (cooccur.KEYS, cooccur.SUMS):  # no longer needed, and large
        (work / name).unlink()
    return chunks


def _engine(device: str, threads: int) -> Callable[[Glove, GloveParameters, shuffle.Chunks], Engine]:
    """Import numba or torch, which are slow to import; a missing package is reported before any work."""
    try:
        if device == "cpu":
            from interloq.vectors.glove.numba_engine import NumbaEngine

            return lambda settings, parameters, _: NumbaEngine(settings, parameters, threads=threads)
        from interloq.vectors.glove.torch_engine import TorchEngine, check
    except ImportError as error:
        package = "numba" if device == "cpu" else "torch"
        raise MissingDependencyError(f"training vectors on device {device!r}", package, "vectors") from error
    check(device)
    return lambda settings, parameters, chunks: TorchEngine(settings, parameters, chunks, device=device)


def _train_epochs(
    chunks: shuffle.Chunks,
    corpus: Corpus,
    work: Path,
    settings: Glove,
    engine_for: Callable[[Glove, GloveParameters, shuffle.Chunks], Engine],
    progress: Progress,
    report: Callable[[str], None],
) -> tuple[GloveParameters, list[dict[str, Any]]]:
    parameters, curve = _load_checkpoint(work) or (
        GloveParameters.start(len(corpus.words), settings.dimensions, seed=settings.seed),
        [],
    )
    if curve:
        report(f"resuming after epoch {len(curve)}")
    if len(curve) == settings.epochs:
        return parameters, curve
    engine = engine_for(settings, parameters, chunks)
    for epoch in range(len(curve) + 1, settings.epochs + 1):
        start, rng = time.monotonic(), np.random.default_rng([settings.seed, 3, epoch])
        with progress(f"epoch {epoch} of {settings.epochs}", chunks.entries) as step:
            loss = engine.epoch(_ahead(chunks, rng), rng, step) / chunks.entries
        if not np.isfinite(loss):
            raise InputError(f"training diverged: the loss of epoch {epoch} is {loss}", hint="lower --learning-rate")
        curve.append({"epoch": epoch, "loss": loss, "seconds": time.monotonic() - start, "device": engine.device})
        _save_checkpoint(work, engine.parameters(), curve)
        last = curve[-1]
        left = sum(e["seconds"] for e in curve) / len(curve) * (settings.epochs - len(curve))
        done = f"epoch {len(curve)} of {settings.epochs}: loss {last['loss']:.6f}, {last['seconds']:.1f} s"
        report(f"{done}, about {format_duration(left)} left")
    return engine.parameters(), curve


def _ahead(chunks: shuffle.Chunks, rng: np.random.Generator) -> Iterator[shuffle.Chunk]:
    """Yield chunks in random order; the next one is read while the current one is used."""
    order = [int(number) for number in rng.permutation(chunks.chunks)]
    with ThreadPoolExecutor(max_workers=1) as pool:
        waiting = pool.submit(chunks.chunk, order[0])
        for number in [*order[1:], None]:
            chunk = waiting.result()
            if number is not None:
                waiting = pool.submit(chunks.chunk, number)
            yield chunk


def _load_checkpoint(work: Path) -> tuple[GloveParameters, list[dict[str, Any]]] | None:
    """Return the newest complete checkpoint; an incomplete one has no state file."""
    states = sorted(work.glob(f"{CHECKPOINT}-*/{STATE}"))
    if not states:
        return None
    with reading_saved(states[-1].parent, hint="remove the checkpoint to start over"):
        return GloveParameters.load(states[-1].parent), list(read_json(states[-1])["epochs"])


def _save_checkpoint(work: Path, parameters: GloveParameters, curve: list[dict[str, Any]]) -> None:
    target = work / f"{CHECKPOINT}-{len(curve):05}"
    with atomic_folder(target) as part:
        parameters.save(part)
        write_json(part / STATE, {"epochs": curve})
    for other in work.glob(f"{CHECKPOINT}-*"):
        if other != target:
            remove(other)


def _save(
    folder: Path,
    corpus: Corpus,
    settings: Glove,
    parameters: GloveParameters,
    curve: list[dict[str, Any]],
    *,
    job: str,
    source: str,
) -> WordVectors:
    """Save the vectors, with `<unk>` last, and remove the working files."""
    summed = parameters.vectors[0] + parameters.vectors[1]
    words = corpus.words
    if UNKNOWN not in words:
        words = [*words, UNKNOWN]
        summed = np.concatenate([summed, summed[-RARE:].mean(axis=0, keepdims=True)])
    devices = "+".join(dict.fromkeys(e["device"] for e in curve))
    described = str(signed(settings, source=source, device=devices))
    facts = {"texts": corpus.texts, "tokens": corpus.tokens, "words": len(corpus.words), "loss": curve[-1]["loss"]}
    write_curve(folder, described, curve)
    vectors = WordVectors.of(words, summed, tokenizer=settings.tokenizer, origin=described)
    vectors.save(folder, notes={"job": job, "corpus": facts})
    clear_work(folder)
    return WordVectors.load(folder)
