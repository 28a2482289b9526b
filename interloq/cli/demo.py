"""`interloq demo`: the main job, end to end, on conversations that come with the package.

υBLEU's part, from a log to rated references, needs the extras `rater` and `retrieve`; without them it is left out.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from interloq.cli.output import add_common
from interloq.cli.paths import OutputPath
from interloq.report.console import say

EXAMPLES = """\
  interloq demo
  interloq demo --language ja -o out/demo-ja"""
METRICS = ("bleu(order=2,level='sentence')", "delta_bleu(order=2)", "chrf")
TOKENIZERS = {"en": "13a", "ja": "char", "zh": "zh"}
RETRIEVERS = {"en": "bm25", "ja": 'bm25(tokenizer="char")', "zh": 'bm25(tokenizer="zh")'}
# Sizes and epochs by the dev loss on the log. Japanese and Chinese learn from little more than single characters: with
# larger vocabularies pieces are whole phrases, and what is learned of one says nothing about the next.
VOCABULARIES = {"en": 2000, "ja": 900, "zh": 900}
EPOCHS = {"en": 5, "ja": 5, "zh": 4}
SIZES = "--embedding 64 --hidden 32 --layers 2 --width 256"
TRAINING = "--batch 64 --learning-rate 0.002 --dev-share 0.1 --seed 0 --device cpu"
K = 5  # replies to retrieve: the log holds about as many to an utterance
EXPLAINED = {"en": "en/03/attentive", "ja": "ja/04/attentive", "zh": "zh/05/attentive"}
NEEDED = ("faiss", "numba", "safetensors", "sentencepiece", "torch")  # what the extras install
MADE = (".interloq-demo", "index", "rater")  # the first says that the demo made the others


@dataclass(frozen=True)
class Step:
    """A command, and what it is for."""

    why: str
    command: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--language", choices=sorted(TOKENIZERS), default="en", help="which conversations (default en)")
    parser.add_argument(
        "-o", "--output", type=OutputPath, default="interloq-demo", metavar="FOLDER", help="where files go"
    )
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    folder, missing = Path(args.output), _missing()
    _prepare(folder, args.language)
    if missing:
        say(f"υBLEU is left out: no {', '.join(missing)} here; run: pip install 'interloq[rater,retrieve]'")
        _run([*_scoring(folder, args.language), *_reading(folder, args.language)], quiet=args.quiet)
    else:
        with _one_thread():
            _run([*_rating(folder, args.language), *_scoring(folder, args.language, vbleu=True)], quiet=args.quiet)
        say(_agreement(folder))
        _run(_reading(folder, args.language, vbleu=True), quiet=args.quiet)
    say(
        "\nSystems, ratings and log are illustrative: they were written for this demo, no person gave the ratings.\n"
        "Most of the log is composed from patterns, with words of the samples' topics: it is easier to learn than\n"
        "real logs, and what is found fits better than replies from real logs.\n"
        "No figure here says anything about real data."
    )
    if not missing:
        say(_learned(folder))
    say(f"Open {(folder / 'report.html').resolve().as_uri()}")
    return 0


def _missing() -> list[str]:
    from importlib.util import find_spec

    return [name for name in NEEDED if find_spec(name) is None]


@contextmanager
def _one_thread() -> Iterator[None]:
    """So small a network learns no faster with more threads, and much slower where other programs run.

    The last digits of weights depend on the number of threads.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _prepare(folder: Path, language: str) -> None:
    """The embedded files in a folder that has no index and no rater any more: both are made anew."""
    from interloq.data.durable import remove
    from interloq.data.embedded import embedded_log_path, embedded_path
    from interloq.data.files import replacing
    from interloq.data.jsonl import load, write
    from interloq.errors import InputError

    mark, *made = (folder / name for name in MADE)
    for path in made:
        if path.is_symlink() or (path.exists() and not mark.exists()):
            raise InputError(f"{path} was not made by the demo", cure="choose another folder with -o")
        if path.exists():
            remove(path)
    (folder / "rated.jsonl.part").unlink(missing_ok=True)  # of a demo that was cut off
    with replacing(mark) as file:
        file.write(b"`interloq demo` removes the folders index and rater beside this file when it runs again.\n")
    source = f"interloq/embedded/{language}"
    write(folder / "samples.jsonl", load(embedded_path(language)), kind="samples", source=source)
    pairs = load(embedded_log_path(language), kind="pairs")
    write(folder / "log.jsonl", pairs, kind="pairs", source=f"interloq/embedded/log_{language}")


# ---- the steps -------------------------------------------------------------------------------------------------------


def _rating(folder: Path, language: str) -> list[Step]:
    """From a log to rated references."""
    log, samples, extended, rated, index, rater = (
        str(folder / name) for name in ("log.jsonl", "samples.jsonl", "extended.jsonl", "rated.jsonl", "index", "rater")
    )
    learn = ["train", "rater", log, "-o", rater, "--without", samples, *_training(language)]
    return [
        Step(
            "Index the log, without what the samples share with it.",
            ["index", "build", log, "-o", index, "--retriever", RETRIEVERS[language], "--without", samples],
        ),
        Step("Train a small rater on the log: which replies can answer the same utterance?", learn),
        Step(
            "Add replies from the log to the references.",
            ["extend", samples, "--index", index, "-k", str(K), "-o", extended],
        ),
        Step(
            "Let the rater weigh all references from -1 to 1.",
            ["rate", extended, "--rater", f"gru(model={_quoted(rater)})", "-o", rated],
        ),
        Step(
            "ΔBLEU with these weights is υBLEU.",
            ["score", rated, "-m", _delta_bleu(language), "-o", str(folder / "steps.jsonl")],
        ),
    ]


def _training(language: str) -> list[str]:
    return f"--vocabulary {VOCABULARIES[language]} {SIZES} --epochs {EPOCHS[language]} {TRAINING}".split()


def _scoring(folder: Path, language: str, *, vbleu: bool = False) -> list[Step]:
    specs = _metrics(TOKENIZERS[language]) + ([_vbleu(folder, language)] if vbleu else [])
    options = [option for spec in specs for option in ("-m", spec)]
    why = "Score with other metrics too, and υBLEU in one call." if vbleu else "Score the replies of four systems."
    return [Step(why, ["score", str(folder / "samples.jsonl"), *options, "-o", str(folder / "scores.jsonl")])]


def _reading(folder: Path, language: str, *, vbleu: bool = False) -> list[Step]:
    """What the scores are worth."""
    samples, scores, rated, page, rater = (
        str(folder / name) for name in ("samples.jsonl", "scores.jsonl", "rated.jsonl", "report.html", "rater")
    )
    models = ["--model", rater] if vbleu else []
    return [
        Step(
            "How far does each metric agree with the ratings?", ["meta", scores, "--samples", samples, "--no-compare"]
        ),
        Step(
            "Why did a reply get its score, and which references were trusted?",
            ["explain", EXPLAINED[language], rated if vbleu else samples, "-m", _delta_bleu(language)],
        ),
        Step(
            "All of it on one page.",
            ["report", scores, "--samples", samples, *models, "-o", page, "--title", "Interloq demo"],
        ),
    ]


def _run(steps: list[Step], *, quiet: bool) -> None:
    for step in steps:
        say(f"\n# {step.why}\n$ {shlex.join(['interloq', *step.command])}")
        sys.stdout.flush()
        verb, *arguments = step.command
        module = importlib.import_module(f"interloq.cli.{verb}")
        parser = argparse.ArgumentParser(prog=f"interloq {verb}")
        module.add_arguments(parser)
        module.run(parser.parse_args([*arguments, *(["--quiet"] if quiet else [])]))


def _agreement(folder: Path) -> str:
    """Whether υBLEU in one call is υBLEU step by step."""
    from interloq.data.jsonl import load

    steps = {score.key: score.value for score in load(folder / "steps.jsonl", kind="scores")}
    whole = [score for score in load(folder / "scores.jsonl", kind="scores") if score.metric.startswith("vbleu")]
    same = sum(steps[score.key] == score.value for score in whole)
    return f"υBLEU in one call and step by step: {same} of {len(whole)} replies have the same score"


def _learned(folder: Path) -> str:
    """What the rater learned, and on what: its weights show how υBLEU works, not how well."""
    from math import log

    from interloq.data.jsonl import load
    from interloq.learn.learning_curve import read_curve

    pairs = len(load(folder / "log.jsonl", kind="pairs"))
    best = min(epoch["dev_loss"] for epoch in read_curve(folder / "rater"))
    return (
        f"The rater's best dev loss is {best:.3f} on {pairs:,} pairs, guessing has {log(2):.3f}. It learned\n"
        "the topics of this log, not what makes a reply good: it trusts the utterance itself as a reply, so the\n"
        "system that repeats it scores high. Comparing metrics with ratings is how one notices."
    )


# ---- specs, with double quotes: the shell's own are single ones ------------------------------------------------------


def _metrics(tokenizer: str) -> list[str]:
    """Each metric, with the tokenizer of the language where it has one."""
    from dataclasses import replace

    from interloq.registry import create, spec

    metrics = [create(text, kind="metric") for text in METRICS]
    metrics = [replace(m, tokenizer=tokenizer) if hasattr(m, "tokenizer") else m for m in metrics]
    return [spec(metric).replace("'", '"') for metric in metrics]


def _delta_bleu(language: str) -> str:
    return f"delta_bleu(order=2,tokenizer={_quoted(TOKENIZERS[language])})"


def _vbleu(folder: Path, language: str) -> str:
    index, rater = _quoted(str(folder / "index")), _quoted(str(folder / "rater"))
    return f"vbleu(index={index},rater=gru(model={rater}),k={K},tokenizer={_quoted(TOKENIZERS[language])})"


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)
