# SPDX-License-Identifier: Apache-2.0
"""The demo's folder: the embedded files or a real log, without the results of an earlier demo; what the results say."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from math import log
from pathlib import Path

from interloq.data.embedded import embedded_log_path, embedded_path
from interloq.data.files.durable import remove
from interloq.data.files.opening import replacing
from interloq.data.records.jsonl import load, write
from interloq.demo.logs import ONE, UNRATED, VBLEU, WITH_PARROT
from interloq.demo.real_log import RealLog, read_real_log
from interloq.demo.real_replies import real_replies
from interloq.errors import InputError, count
from interloq.learn.learning_curve import read_curve
from interloq.records import Sample

MADE = (".interloq-demo", "index", "rater")  # the first marks the others as made by the demo
LOG = "log.jsonl"
SETS = {"samples": ("gold",), "strong": ("gold", "human"), "weak": ("retrieved:", "parrot")}  # sources of references
ILLUSTRATIVE = """\
The systems, ratings and log are illustrative: they were written for this demo, and nobody gave the ratings.
Most of the log is generated from templates with words from the samples' topics: it is easier to learn than
real logs, and the replies found in it fit better than replies from real logs would. The good replies paraphrase
their reference, so one reference is enough for them. No figure here says anything about real data."""


def prepare(folder: Path, language: str) -> None:
    """Write the embedded log, and the samples with one gold reference, with good references, and with bad ones.

    The index and rater of an earlier demo are removed.
    """
    mark, *made = (folder / name for name in MADE)
    for path in made:
        if path.is_symlink() or (path.exists() and not mark.exists()):
            raise InputError(f"{path} was not made by the demo", hint="choose another folder with -o")
        if path.exists():
            remove(path)
    (folder / "rated.jsonl.part").unlink(missing_ok=True)  # of an interrupted demo
    with replacing(mark) as file:
        file.write(b"`interloq demo` removes the folders index and rater beside this file when it runs again.\n")
    source = f"interloq/embedded/{language}"
    samples: list[Sample] = load(embedded_path(language))
    for name, sources in SETS.items():
        write(folder / f"{name}.jsonl", [_only(sample, sources) for sample in samples], kind="samples", source=source)
    pairs = load(embedded_log_path(language), kind="pairs")
    write(folder / LOG, pairs, kind="pairs", source=f"interloq/embedded/log_{language}")


def _only(sample: Sample, sources: tuple[str, ...]) -> Sample:
    return replace(sample, references=tuple(r for r in sample.references if r.source.startswith(sources)))


def prepare_real(folder: Path) -> str:
    """Write the filtered real log and replies from it; returns what was kept and dropped."""
    real = read_real_log()
    replies = real_replies(real.pairs)
    source = "chitchat_dataset, filtered (interloq.demo.real_log)"
    write(folder / LOG, real.pairs, kind="pairs", source=source)
    write(folder / "replies.jsonl", replies, kind="samples", source=source)
    return _described(real, questions=len({sample.context for sample in replies}))


def _described(real: RealLog, *, questions: int) -> str:
    dropped = ", ".join(f"{reason} {n:,}" for reason, n in real.dropped.most_common())
    return (
        "\nFrom here on, the conversations are real (package chitchat_dataset, MIT). The filter for this screen keeps\n"
        f"{len(real.pairs):,} pairs; dropped: {dropped}.\n"
        f"{questions} questions got different replies from two people: one is the reference, the other the reply of\n"
        "`person`. `random` gives a reply to something else, and `parrot` repeats the question. No person judged the\n"
        "replies: the rating is 1 if a person gave the reply to this question, and 0 if not."
    )


def agreement(folder: Path, *, real: bool) -> str:
    """How many replies get the same score from υBLEU in one call and step by step."""
    label = WITH_PARROT if real else VBLEU
    steps = {score.key: score.value for score in load(folder / "steps.jsonl", kind="scores")}
    whole = [score for score in load(folder / "scores.jsonl", kind="scores") if score.metric.startswith(f"{label}=")]
    same = sum(steps[score.key] == score.value for score in whole)
    return (
        f"\n{label} in one call and step by step: {same} of {count(len(whole), 'reply', 'replies')} with the same score"
    )


def closing(folder: Path, *, real: bool, vbleu: bool) -> str:
    """What the figures say and what they do not, and where the report is."""
    texts = [ILLUSTRATIVE]
    if real:
        texts = [_lesson(folder)]
    elif vbleu:
        texts.append(_learned(folder))
    return "\n".join(["", *texts, f"Open {(folder / 'report.html').resolve().as_uri()}"])


def _lesson(folder: Path) -> str:
    """The system with the highest mean score by each metric; all were given the same questions."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for name in ("unrated.jsonl", "scores.jsonl"):
        for score in load(folder / name, kind="scores"):
            totals[score.metric.partition("=")[0]][score.system] += score.value or 0
    best = {label: total.most_common(1)[0][0] for label, total in totals.items()}
    by_metric = ", ".join(f"{best[label]} by {label}" for label in (ONE, UNRATED, WITH_PARROT, VBLEU))
    return (
        f"Highest mean score: {by_metric}.\n"
        "If all references count alike, the utterance among them makes copying it the best reply: the report starts\n"
        "with the wrong verdict that follows. A rater rejects the utterance, and parrot=False leaves it out. Whether\n"
        "replies from the log help is in the table of differences: one that is not significant may be chance. The\n"
        "rater's network learned from this log too, which favours it here.\n"
        "The log and these replies are real; the samples of the first steps and of the reference sets are not."
    )


def _learned(folder: Path) -> str:
    """How well the rater was trained, with a warning: its weights show how υBLEU works, not how well."""
    pairs = len(load(folder / LOG, kind="pairs"))
    best = min(epoch["dev_loss"] for epoch in read_curve(folder / "rater"))
    return (
        f"The rater's best dev loss is {best:.3f} on {pairs:,} pairs (guessing: {log(2):.3f}). It learned\n"
        "the topics of this log, not what makes a reply good: it accepts the utterance itself as a reply. If the\n"
        "utterance is among the references, as in the paper, the system that repeats it gets the highest υBLEU; with\n"
        "parrot=False it does not. Comparing metrics with ratings reveals such problems."
    )
