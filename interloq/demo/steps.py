"""The steps of the demo: a comparison; then from a log to rated references, to scores, to agreement with ratings.

Each step is a function of the package with the command that does the same. υBLEU, from a log to rated references,
needs the extras `rater` and `retrieve`; without them it is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from interloq.data.progress import Progress, silent
from interloq.demo.learning import options, train_rater
from interloq.meta.compare_file import compare_file
from interloq.meta.compare_options import CompareOptions
from interloq.meta.meta_file import meta_file
from interloq.metrics.explain_file import explain_file
from interloq.pipelines.curve_file import curve_file
from interloq.pipelines.extend_file import extend_file
from interloq.pipelines.rate_file import rate_file
from interloq.pipelines.score_file import score_file
from interloq.registry import create, spec
from interloq.report.report_file import report_file
from interloq.retrieve.index_files import index_files

METRICS = ("bleu(order=2,level='sentence')", "chrf")
TOKENIZERS = {"en": "13a", "ja": "char", "zh": "zh"}
RETRIEVERS = {"en": "bm25", "ja": 'bm25(tokenizer="char")', "zh": 'bm25(tokenizer="zh")'}
K = 5  # replies to retrieve: about as many as the log has per utterance
EXPLAINED = {"en": "en/01/attentive", "ja": "ja/04/attentive", "zh": "zh/05/attentive"}
NEEDED = ("faiss", "numba", "safetensors", "sentencepiece", "torch")  # modules that the extras install
TITLE = "Interloq demo"
VERSIONS = "generic", "attentive"  # systems that are compared as the old and the new version of one


@dataclass(frozen=True)
class Step:
    """One step of the demo: its purpose, its command, and the function that does the same."""

    why: str
    command: list[str]
    call: Callable[[Progress], Any]
    output: str = ""  # the file or folder it writes

    @property
    def verb(self) -> str:
        """Verb of the command."""
        return self.command[0]

    def run(self, progress: Progress = silent) -> Any:
        """Run the step as its command would."""
        return self.call(progress)


def comparing(folder: Path, language: str) -> Step:
    """Decide between two versions of a system."""
    samples, (old, new), metric = str(folder / "samples.jsonl"), VERSIONS, _metrics(TOKENIZERS[language])[-1]
    return Step(
        f"Is {new} better than {old}? Compare their replies to the same utterances.",
        ["compare", samples, samples, "--old-system", old, "--new-system", new, "-m", metric],
        lambda progress: compare_file(
            samples, samples, CompareOptions(metrics=[metric], old_system=old, new_system=new), progress=progress
        ),
    )


def missing() -> list[str]:
    """Modules that υBLEU needs and that are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def rating(folder: Path, language: str) -> list[Step]:
    """Steps from a log to rated references."""
    log, samples, extended, rated, index, rater, scores = (
        str(folder / name)
        for name in ("log.jsonl", "samples.jsonl", "extended.jsonl", "rated.jsonl", "index", "rater", "steps.jsonl")
    )
    retriever, weigher, metric = RETRIEVERS[language], f"gru(model={_quoted(rater)})", _delta_bleu(language)
    return [
        Step(
            "Index the log, except pairs that overlap the samples.",
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
            "Each sample has one reference. Add replies from the log, but not the utterance itself (the parrot).",
            ["extend", samples, "--index", index, "-k", str(K), "--no-parrot", "-o", extended],
            lambda progress: extend_file(samples, extended, index=index, k=K, parrot=False, progress=progress),
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
    """Score the samples with all metrics."""
    samples, scores = str(folder / "samples.jsonl"), str(folder / "scores.jsonl")
    specs = _metrics(TOKENIZERS[language])
    if vbleu:
        specs += [_vbleu(folder, language, parrot=parrot) for parrot in (False, True)]
    both = "Score with other metrics, and with υBLEU in one call: without the parrot and, as in the paper, with it."
    return Step(
        both if vbleu else "Score the replies of four systems.",
        ["score", samples, *(word for text in specs for word in ("-m", text)), "-o", scores],
        lambda progress: score_file(samples, specs, scores, progress=progress),
    )


def references(folder: Path, language: str) -> list[Step]:
    """Steps that show how the same metric agrees with the ratings with a strong and with a weak reference set."""
    metric, sizes = f"bleu_star(tokenizer={_quoted(TOKENIZERS[language])})", [1, 2]
    reasons = {
        "strong": "A strong reference set: with one and two good replies as references, BLEU* agrees with the ratings.",
        "weak": "A weak one: with a wrong reply and the utterance itself as references, the same metric misleads.",
    }

    def step(name: str, why: str) -> Step:
        samples = str(folder / f"{name}.jsonl")
        return Step(
            why,
            ["reliability", "curve", samples, "-m", metric, "--sizes", "1,2"],
            lambda progress: curve_file(samples, [metric], sizes=sizes, progress=progress),
        )

    return [step(name, why) for name, why in reasons.items()]


def reading(folder: Path, language: str, *, vbleu: bool = False) -> list[Step]:
    """Steps that show agreement with ratings, an explanation and the report."""
    samples, scores, rated, page, rater = (
        str(folder / name) for name in ("samples.jsonl", "scores.jsonl", "rated.jsonl", "report.html", "rater")
    )
    models, weighed = [rater] if vbleu else [], rated if vbleu else samples
    id, metric = EXPLAINED[language], _delta_bleu(language)
    shown = [word for model in models for word in ("--model", model)]
    return [
        Step(
            "How well does each metric agree with the ratings?",
            ["meta", scores, "--samples", samples, "--no-compare"],
            lambda progress: meta_file([scores], samples, compare=False, progress=progress)["overall"],
        ),
        Step(
            "Why did a reply get its score, and which references were trusted?",
            ["explain", id, weighed, "-m", metric],
            lambda _: explain_file(id, weighed, metric=metric),
        ),
        Step(
            "Put everything on one page.",
            ["report", scores, "--samples", samples, *shown, "-o", page, "--title", TITLE],
            lambda _: report_file([scores], page, samples=samples, models=models, title=TITLE),
            page,
        ),
    ]


# ---- specs, with double quotes because shlex uses single ones --------------------------------------------------------


def _metrics(tokenizer: str) -> list[str]:
    """The metrics, with the tokenizer of the language if it has one."""
    metrics = [create(text, kind="metric") for text in METRICS]
    metrics = [replace(m, tokenizer=tokenizer) if hasattr(m, "tokenizer") else m for m in metrics]
    return [spec(metric).replace("'", '"') for metric in metrics]


def _delta_bleu(language: str) -> str:
    return f"delta_bleu(order=2,tokenizer={_quoted(TOKENIZERS[language])})"


def _vbleu(folder: Path, language: str, *, parrot: bool) -> str:
    index, rater, tokenizer = map(_quoted, (str(folder / "index"), str(folder / "rater"), TOKENIZERS[language]))
    return f"vbleu(index={index},rater=gru(model={rater}),k={K},parrot={parrot},tokenizer={tokenizer})"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
