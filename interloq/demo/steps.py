# SPDX-License-Identifier: Apache-2.0
"""The demo, step by step: a first table, a comparison, what logs add, strong and weak references, a report.

Each step is a function of the package with the command that does the same. Logs need the extra `demo`, or `rater` and
`retrieve` for the embedded log; without them, υBLEU is skipped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from math import log
from pathlib import Path

from interloq.compare.compare_options import CompareOptions
from interloq.data.embedded import embedded_log_path, embedded_path
from interloq.data.files.durable import discard, remove
from interloq.data.files.opening import replacing
from interloq.data.records.jsonl import load, write
from interloq.demo.logs import (
    COMPARISON,
    JUDGE_LABEL,
    JUDGED,
    NEEDED,
    ONE,
    REAL,
    TOKENIZERS,
    UNRATED,
    VBLEU,
    WITH_PARROT,
    DemoStep,
    LogPart,
    comparison_step,
    log_steps,
    missing,
    quote_text,
    reading_steps,
    report_step,
)
from interloq.demo.real_log import read_real_log, real_replies
from interloq.errors import InputError, count
from interloq.learn.learning_curve import read_curve
from interloq.records import Sample
from interloq.reliability.curve_file import curve_file
from interloq.reliability.reliability_options import CurveOptions
from interloq.score.score_file import score_file

VERSIONS = "generic", "attentive"  # systems that are compared as the old and the new version of one
WRITTEN = """
These samples and their ratings were written for this demo; nobody gave the ratings."""


MADE = (".interloq-demo", "index", "rater")  # the first marks the others as made by the demo
LOG = "log.jsonl"
SETS = {"samples": ("gold",), "strong": ("gold", "human"), "weak": ("retrieved:", "parrot")}  # sources of references
ILLUSTRATIVE = """\
The systems, ratings and log are illustrative: they were written for this demo, and nobody gave the ratings.
Most of the log is generated from templates with words from the samples' topics: it is easier to learn than
real logs, and the replies found in it fit better than replies from real logs would. The good replies paraphrase
their reference, so one reference is enough for them. No figure here says anything about real data."""


def demo_steps(folder: Path, language: str) -> Iterator[DemoStep | str]:
    """Yield the steps in order, and texts to print between them. Each step must be run before the next is requested."""
    prepare_folder(folder, language)
    yield from (_first_table(folder), _comparison(folder, language), WRITTEN)
    real = language == "en" and not missing(REAL)
    part = LogPart(folder, language, real=real, vbleu=real or not missing(NEEDED))
    if part.real:
        yield prepare_real_log(folder)
    elif not part.vbleu:
        yield _format_skipped("υBLEU is skipped", NEEDED, "rater,retrieve")
    elif language == "en":
        yield _format_skipped("The log is written for this demo, not real", REAL, "demo")
    yield from log_steps(part)
    if part.vbleu:
        yield describe_agreement(folder, real=part.real)
    yield from (*reading_steps(part), *_reference_sets(folder, language), report_step(part))
    yield describe_results(folder, real=part.real, vbleu=part.vbleu)


def _format_skipped(what: str, modules: tuple[str, ...], extra: str) -> str:
    return f"\n{what}: not installed: {', '.join(missing(modules))}; run: pip install 'interloq[{extra}]'"


def _first_table(folder: Path) -> DemoStep:
    samples = str(folder / "samples.jsonl")
    return DemoStep(
        "Score the replies of four systems, each with one reference.",
        ["score", samples],
        lambda progress: score_file(samples, progress=progress),
    )


def _comparison(folder: Path, language: str) -> DemoStep:
    """Compare two systems by the judge, or by chrF if the judge is not installed or does not know the language."""
    old, new = VERSIONS
    metrics = ["chrf"]
    if language == "en" and not missing(JUDGED):
        metrics = []
    return comparison_step(
        f"Is {new} better than {old}? Compare their replies to the same utterances.",
        str(folder / "samples.jsonl"),
        str(folder / COMPARISON),
        CompareOptions(metrics=metrics, old_system=old, new_system=new),
    )


def _reference_sets(folder: Path, language: str) -> list[DemoStep]:
    """Return the steps that compare how a metric agrees with the ratings given a strong and a weak reference set."""
    metric, options = f"bleu_star(tokenizer={quote_text(TOKENIZERS[language])})", CurveOptions(sizes=(1, 2))
    reasons = {
        "strong": "A strong reference set: with one and two good replies as references, BLEU* agrees with the ratings.",
        "weak": "A weak one: with a wrong reply and the utterance itself as references, the same metric misleads.",
    }

    def step(name: str, why: str) -> DemoStep:
        samples = str(folder / f"{name}.jsonl")
        return DemoStep(
            why,
            ["reliability", "curve", samples, "-m", metric, "--sizes", "1,2"],
            lambda progress: curve_file(samples, [metric], options=options, progress=progress),
        )

    return [step(name, why) for name, why in reasons.items()]


# ---- the folder, and what its files show -----------------------------------------------------------------------------


def prepare_folder(folder: Path, language: str) -> None:
    """Write the embedded log, and the samples with one gold reference, with good references, and with bad ones.

    The index and rater of an earlier demo are removed.
    """
    mark, *made = (folder / name for name in MADE)
    for path in made:
        if path.is_symlink() or (path.exists() and not mark.exists()):
            raise InputError(f"{path} was not made by the demo", hint="choose another folder with -o")
        if path.exists():
            remove(path)
    discard(folder / "rated.jsonl.parts")  # of an interrupted demo
    with replacing(mark) as file:
        file.write(b"`interloq demo` removes the folders index and rater beside this file when it runs again.\n")
    source = f"interloq/embedded/{language}"
    samples: list[Sample] = load(embedded_path(language))
    for name, sources in SETS.items():
        chosen = []
        for sample in samples:
            references = tuple(r for r in sample.references if r.source.startswith(sources))
            chosen.append(replace(sample, references=references))
        write(folder / f"{name}.jsonl", chosen, kind="samples", source=source)
    pairs = load(embedded_log_path(language), kind="pairs")
    write(folder / LOG, pairs, kind="pairs", source=f"interloq/embedded/log_{language}")


def prepare_real_log(folder: Path) -> str:
    """Write the filtered real log and replies from it; return what was kept and dropped."""
    real = read_real_log()
    replies = real_replies(real.pairs)
    source = "chitchat_dataset, filtered (interloq.demo.real_log)"
    write(folder / LOG, real.pairs, kind="pairs", source=source)
    write(folder / "replies.jsonl", replies, kind="samples", source=source)
    questions = len({sample.context for sample in replies})
    dropped = ", ".join(f"{reason} {n:,}" for reason, n in real.dropped.most_common())
    return (
        "\nFrom here on, the conversations are real (package chitchat_dataset, MIT). The filter for this screen keeps\n"
        f"{len(real.pairs):,} pairs; dropped: {dropped}.\n"
        f"{questions} questions got different replies from two people: one is the reference, the other the reply of\n"
        "`person`. `random` gives a reply to something else, and `parrot` repeats the question. No person judged the\n"
        "replies: the rating is 1 if a person gave the reply to this question, and 0 if not."
    )


def describe_agreement(folder: Path, *, real: bool) -> str:
    """Describe how many replies get the same score from υBLEU in one call and step by step."""
    label = WITH_PARROT if real else VBLEU
    steps = {score.key: score.value for score in load(folder / "steps.jsonl", kind="scores")}
    whole = [score for score in load(folder / "scores.jsonl", kind="scores") if score.metric.startswith(f"{label}=")]
    same = sum(steps[score.key] == score.value for score in whole)
    return (
        f"\n{label} in one call and step by step: {same} of {count(len(whole), 'reply', 'replies')} with the same score"
    )


def describe_results(folder: Path, *, real: bool, vbleu: bool) -> str:
    """Describe what the figures show, what they do not, and where the report is."""
    texts = [ILLUSTRATIVE]
    if real:
        texts = [_describe_best(folder)]
    elif vbleu:
        texts.append(_describe_rater(folder))
    return "\n".join(["", *texts, f"Open {(folder / 'report.html').resolve().as_uri()}"])


def _describe_best(folder: Path) -> str:
    """Name the system with the highest mean score by each metric; all were given the same questions."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for name in ("unrated.jsonl", "scores.jsonl"):
        for score in load(folder / name, kind="scores"):
            totals[score.metric.partition("=")[0]][score.system] += score.value or 0
    best = {label: total.most_common(1)[0][0] for label, total in totals.items()}
    by_metric = ", ".join(f"{best[label]} by {label}" for label in (JUDGE_LABEL, ONE, UNRATED, WITH_PARROT, VBLEU))
    return (
        f"Highest mean score: {by_metric}.\n"
        "If all references count alike, copying the utterance, which is one of them, looks like the best reply: the\n"
        "first verdict of the report is wrong for this reason. A rater rejects the utterance, and parrot=False leaves\n"
        "it out. Whether replies from the log help is in the table of differences between metrics: one that is not\n"
        "significant may be chance. The judge, which is also the rater, learned from this log too, so its results\n"
        "here are better than on other replies.\n"
        "The log and these replies are real; the samples of the first steps and of the reference sets are not."
    )


def _describe_rater(folder: Path) -> str:
    """Describe how well the rater was trained, with a warning: its weights show how υBLEU works, not how well."""
    pairs = len(load(folder / LOG, kind="pairs"))
    best = min(epoch["dev_loss"] for epoch in read_curve(folder / "rater"))
    return (
        f"The rater's best dev loss is {best:.3f} on {pairs:,} pairs (guessing: {log(2):.3f}). It learned\n"
        "the topics of this log, not what makes a reply good: it accepts the utterance itself as a reply. If the\n"
        "utterance is among the references, as in the paper, the system that repeats it gets the highest υBLEU; with\n"
        "parrot=False it does not. Comparing metrics with ratings reveals such problems."
    )
