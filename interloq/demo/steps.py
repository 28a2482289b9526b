# SPDX-License-Identifier: Apache-2.0
"""The demo, step by step: a first table, a comparison, what logs add, strong and weak references, a report.

Each step is a function of the package with the command that does the same. Logs need the extra `demo`, or `rater` and
`retrieve` for the embedded log; without them, υBLEU is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interloq.compare.compare_options import CompareOptions
from interloq.demo import folder as files
from interloq.demo.logs import (
    COMPARISON,
    NEEDED,
    REAL,
    LogPart,
    comparison_step,
    log_steps,
    missing,
    reading_steps,
    report_step,
)
from interloq.demo.step import TOKENIZERS, DemoStep, quoted
from interloq.reliability.curve_file import curve_file
from interloq.score.score_file import score_file

VERSIONS = "generic", "attentive"  # systems that are compared as the old and the new version of one
WRITTEN = """
These samples and their ratings were written for this demo; nobody gave the ratings."""


def demo_steps(folder: Path, language: str) -> Iterator[DemoStep | str]:
    """The steps in order, with texts to print between them. Each step must be run before the next is asked for."""
    files.prepare(folder, language)
    yield from (_first_table(folder), _comparison(folder), WRITTEN)
    part = _log_part(folder, language)
    if part.real:
        yield files.prepare_real(folder)
    elif not part.vbleu:
        yield _skipped("υBLEU is skipped", NEEDED, "rater,retrieve")
    elif language == "en":
        yield _skipped("The log is written for this demo, not real", REAL, "demo")
    yield from log_steps(part)
    if part.vbleu:
        yield files.agreement(folder, real=part.real)
    yield from (*reading_steps(part), *_reference_sets(folder, language), report_step(part))
    yield files.closing(folder, real=part.real, vbleu=part.vbleu)


def _log_part(folder: Path, language: str) -> LogPart:
    real = language == "en" and not missing(REAL)
    return LogPart(folder, language, real=real, vbleu=real or not missing(NEEDED))


def _skipped(what: str, modules: tuple[str, ...], extra: str) -> str:
    return f"\n{what}: not installed: {', '.join(missing(modules))}; run: pip install 'interloq[{extra}]'"


def _first_table(folder: Path) -> DemoStep:
    samples = str(folder / "samples.jsonl")
    return DemoStep(
        "Score the replies of four systems, each with one reference.",
        ["score", samples],
        lambda progress: score_file(samples, progress=progress),
    )


def _comparison(folder: Path) -> DemoStep:
    old, new = VERSIONS
    return comparison_step(
        f"Is {new} better than {old}? Compare their replies to the same utterances.",
        str(folder / "samples.jsonl"),
        str(folder / COMPARISON),
        CompareOptions(metrics=["chrf"], old_system=old, new_system=new),
    )


def _reference_sets(folder: Path, language: str) -> list[DemoStep]:
    """Steps that show how the same metric agrees with the ratings with a strong and with a weak reference set."""
    metric, sizes = f"bleu_star(tokenizer={quoted(TOKENIZERS[language])})", [1, 2]
    reasons = {
        "strong": "A strong reference set: with one and two good replies as references, BLEU* agrees with the ratings.",
        "weak": "A weak one: with a wrong reply and the utterance itself as references, the same metric misleads.",
    }

    def step(name: str, why: str) -> DemoStep:
        samples = str(folder / f"{name}.jsonl")
        return DemoStep(
            why,
            ["reliability", "curve", samples, "-m", metric, "--sizes", "1,2"],
            lambda progress: curve_file(samples, [metric], sizes=sizes, progress=progress),
        )

    return [step(name, why) for name, why in reasons.items()]
