"""The demo's folder: the embedded files, without the results of an earlier demo."""

from __future__ import annotations

from dataclasses import replace
from math import log
from pathlib import Path

from interloq.data.durable import remove
from interloq.data.embedded import embedded_log_path, embedded_path
from interloq.data.files import replacing
from interloq.data.jsonl import load, write
from interloq.errors import InputError, count
from interloq.learn.learning_curve import read_curve
from interloq.records import Sample

MADE = (".interloq-demo", "index", "rater")  # the first marks the others as made by the demo

SETS = {"samples": ("gold",), "strong": ("gold", "human"), "weak": ("retrieved:", "parrot")}  # sources of references


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
    write(folder / "log.jsonl", pairs, kind="pairs", source=f"interloq/embedded/log_{language}")


def _only(sample: Sample, sources: tuple[str, ...]) -> Sample:
    return replace(sample, references=tuple(r for r in sample.references if r.source.startswith(sources)))


def agreement(folder: Path) -> str:
    """How many replies get the same score from υBLEU in one call and step by step."""
    steps = {score.key: score.value for score in load(folder / "steps.jsonl", kind="scores")}
    whole = [score for score in load(folder / "scores.jsonl", kind="scores") if "parrot=False" in score.metric]
    same = sum(steps[score.key] == score.value for score in whole)
    return f"υBLEU in one call and step by step: {same} of {count(len(whole), 'reply', 'replies')} with the same score"


def learned(folder: Path) -> str:
    """How well the rater was trained, with a warning: its weights show how υBLEU works, not how well."""
    pairs = len(load(folder / "log.jsonl", kind="pairs"))
    best = min(epoch["dev_loss"] for epoch in read_curve(folder / "rater"))
    return (
        f"The rater's best dev loss is {best:.3f} on {pairs:,} pairs (guessing: {log(2):.3f}). It learned\n"
        "the topics of this log, not what makes a reply good: it accepts the utterance itself as a reply. If the\n"
        "utterance is among the references, as in the paper, the system that repeats it gets the highest υBLEU; with\n"
        "parrot=False it does not. Comparing metrics with ratings reveals such problems."
    )
