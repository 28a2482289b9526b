"""The steps of the demo: from a log to rated references, to scores, to what the scores are worth.

Each step is a function of the package and the command that does the same. υBLEU's part, from a log to rated references,
needs the extras `rater` and `retrieve`; without them it is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from interloq.data.progress import Progress, silent
from interloq.demo.learning import options, train_rater
from interloq.meta.meta_file import meta_file
from interloq.metrics.explain_file import explain_file
from interloq.pipelines.extend_file import extend_file
from interloq.pipelines.rate_file import rate_file
from interloq.pipelines.score_file import score_file
from interloq.registry import create, spec
from interloq.report.report_file import report_file
from interloq.retrieve.index_files import index_files

METRICS = ("bleu(order=2,level='sentence')", "delta_bleu(order=2)", "chrf")
TOKENIZERS = {"en": "13a", "ja": "char", "zh": "zh"}
RETRIEVERS = {"en": "bm25", "ja": 'bm25(tokenizer="char")', "zh": 'bm25(tokenizer="zh")'}
K = 5  # replies to retrieve: the log holds about as many to an utterance
EXPLAINED = {"en": "en/03/attentive", "ja": "ja/04/attentive", "zh": "zh/05/attentive"}
NEEDED = ("faiss", "numba", "safetensors", "sentencepiece", "torch")  # what the extras install
TITLE = "Interloq demo"


@dataclass(frozen=True)
class Step:
    """Something the demo does: what it is for, the command that does it, and the function that does the same."""

    why: str
    command: list[str]
    call: Callable[[Progress], Any]
    output: str = ""  # the file or folder that is made

    @property
    def verb(self) -> str:
        """The verb of its command."""
        return self.command[0]

    def run(self, progress: Progress = silent) -> Any:
        """Carry it out, as its command would."""
        with _one_thread():
            return self.call(progress)


def missing() -> list[str]:
    """What is not installed that υBLEU's part needs."""
    return [name for name in NEEDED if find_spec(name) is None]


def rating(folder: Path, language: str) -> list[Step]:
    """From a log to rated references."""
    log, samples, extended, rated, index, rater, scores = (
        str(folder / name)
        for name in ("log.jsonl", "samples.jsonl", "extended.jsonl", "rated.jsonl", "index", "rater", "steps.jsonl")
    )
    retriever, weigher, metric = RETRIEVERS[language], f"gru(model={_quoted(rater)})", _delta_bleu(language)
    return [
        Step(
            "Index the log, without what the samples share with it.",
            ["index", "build", log, "-o", index, "--retriever", retriever, "--without", samples],
            lambda progress: index_files([log], index, retriever=retriever, without=[samples], progress=progress),
        ),
        Step(
            "Train a small rater on the log: which replies can answer the same utterance?",
            ["train", "rater", log, "-o", rater, "--without", samples, *options(language)],
            lambda progress: train_rater(log, rater, without=samples, language=language, progress=progress),
            rater,
        ),
        Step(
            "Add replies from the log to the references.",
            ["extend", samples, "--index", index, "-k", str(K), "-o", extended],
            lambda progress: extend_file(samples, extended, index=index, k=K, progress=progress),
            extended,
        ),
        Step(
            "Let the rater weigh all references from -1 to 1.",
            ["rate", extended, "--rater", weigher, "-o", rated],
            lambda progress: rate_file(extended, rated, rater=weigher, progress=progress),
            rated,
        ),
        Step(
            "ΔBLEU with these weights is υBLEU.",
            ["score", rated, "-m", metric, "-o", scores],
            lambda progress: score_file(rated, [metric], scores, progress=progress),
        ),
    ]


def scoring(folder: Path, language: str, *, vbleu: bool = False) -> Step:
    """All metrics on the samples as they came."""
    samples, scores = str(folder / "samples.jsonl"), str(folder / "scores.jsonl")
    specs = _metrics(TOKENIZERS[language]) + ([_vbleu(folder, language)] if vbleu else [])
    return Step(
        "Score with other metrics too, and υBLEU in one call." if vbleu else "Score the replies of four systems.",
        ["score", samples, *(word for text in specs for word in ("-m", text)), "-o", scores],
        lambda progress: score_file(samples, specs, scores, progress=progress),
    )


def reading(folder: Path, language: str, *, vbleu: bool = False) -> list[Step]:
    """What the scores are worth."""
    samples, scores, rated, page, rater = (
        str(folder / name) for name in ("samples.jsonl", "scores.jsonl", "rated.jsonl", "report.html", "rater")
    )
    models, weighed = [rater] if vbleu else [], rated if vbleu else samples
    id, metric = EXPLAINED[language], _delta_bleu(language)
    shown = [word for model in models for word in ("--model", model)]
    return [
        Step(
            "How far does each metric agree with the ratings?",
            ["meta", scores, "--samples", samples, "--no-compare"],
            lambda progress: meta_file([scores], samples, compare=False, progress=progress),
        ),
        Step(
            "Why did a reply get its score, and which references were trusted?",
            ["explain", id, weighed, "-m", metric],
            lambda _: explain_file(id, weighed, metric=metric),
        ),
        Step(
            "All of it on one page.",
            ["report", scores, "--samples", samples, *shown, "-o", page, "--title", TITLE],
            lambda _: report_file([scores], page, samples=samples, models=models, title=TITLE),
            page,
        ),
    ]


@contextmanager
def _one_thread() -> Iterator[None]:
    """So small a network learns no faster with more threads, and much slower where other programs run.

    The last digits of weights depend on the number of threads.
    """
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# ---- specs, with double quotes: the shell's own are single ones ------------------------------------------------------


def _metrics(tokenizer: str) -> list[str]:
    """Each metric, with the tokenizer of the language where it has one."""
    metrics = [create(text, kind="metric") for text in METRICS]
    metrics = [replace(m, tokenizer=tokenizer) if hasattr(m, "tokenizer") else m for m in metrics]
    return [spec(metric).replace("'", '"') for metric in metrics]


def _delta_bleu(language: str) -> str:
    return f"delta_bleu(order=2,tokenizer={_quoted(TOKENIZERS[language])})"


def _vbleu(folder: Path, language: str) -> str:
    index, rater = _quoted(str(folder / "index")), _quoted(str(folder / "rater"))
    return f"vbleu(index={index},rater=gru(model={rater}),k={K},tokenizer={_quoted(TOKENIZERS[language])})"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
