"""Scorers of Japanese and Chinese replies: `relevance` on encoders trained from scratch on given logs.

    python recipes/relevance_ja_zh.py examples --data DATA --work WORK
    python recipes/relevance_ja_zh.py train --work WORK --language ja
    python recipes/relevance_ja_zh.py test --work WORK --language ja --json FILE

`examples` splits the logs by dialogue (see ja_zh_logs.py), trains a tokenizer per language, tokenises the exchanges and
makes the test cases (see held_out_replies.py), all in WORK/LANGUAGE. `train` needs nothing but that folder, so it can
run on another machine: it trains an encoder to predict masked tokens, and the scorer on top of it; minutes on a GPU.
`test` scores the cases with the scorer and with naive baselines and prints how well each tells true replies from wrong
ones (see held_out_figures.py). No setting was chosen by these figures.

There are no rated replies in these logs, so the figures do not say how well a scorer agrees with people.

DATA (or INTERLOQ_DATA) holds `logs/` and the published sets, unpacked or as archives. The exit code is 0, or 2 when
data or models are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from interloq import InputError, InterloqError
from interloq.data.files.durable import atomic_folder
from interloq.data.files.opening import write_json
from interloq.data.records.read_options import ReadOptions
from interloq.learn.adapt.job import AdaptJob, copy_tokenizer
from interloq.learn.adapt.scratch import train_word_pieces, write_untrained
from interloq.learn.adapt.settings import SCRATCH, Adaptation, SmallEncoder
from interloq.learn.job import train
from interloq.learn.settings import LowRank
from interloq.models.pretrained import Subwords
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.relevance.examples import Exchanges, write_exchanges
from interloq.scorers.relevance.job import from_log
from interloq.scorers.relevance.log import ExchangeLog
from interloq.scorers.relevance.pairs import ExchangePairs
from interloq.scorers.relevance.settings import TRAINING, RelevanceReading, RelevanceSettings, RelevanceSources
from interloq.terminal.console import print_stderr

SHAPE = SmallEncoder(layers=6, dimensions=384, heads=12, vocabulary=12_000)
MASKING = Adaptation(objective="mlm", batch=256, tokens=2**15)
READING = RelevanceReading()
SETTINGS = RelevanceSettings(loss="listwise", batch=128)
SCORER = replace(TRAINING, learning_rate=2e-4)
ENCODER = replace(SCRATCH, epochs=6, learning_rate=5e-4)
EPOCHS = {"ja": 1, "zh": 2}  # of the scorer: about 330,000 exchanges each
MOST = 150_000  # turns of a log to train on
LANGUAGES = tuple(EPOCHS)
TOKENIZER, EXAMPLES, HELD_OUT, COUNTS = "tokenizer", "examples", "held_out.jsonl", "counts.json"
START, MASKED, TRAINED = "start", "encoder", "relevance"


# ---- examples --------------------------------------------------------------------------------------------------------


def examples(args: argparse.Namespace) -> None:
    from rated_sets import data_folder

    for language in args.language or LANGUAGES:
        write_language(data_folder(args.data), language, Path(args.work) / language, most=args.most)


def write_language(data: Path, language: str, folder: Path, *, most: int) -> None:
    """Tokenizer, exchanges and test cases of one language."""
    from held_out_replies import as_objects, held_out_items
    from ja_zh_logs import LOGS, split, talks
    from ready_logs import write_dialogues, write_objects

    parts = {name: split(talks(data, name), most) for name in LOGS[language]}
    files = [str(write_dialogues(folder / "logs" / f"{name}.jsonl", own)) for name, (own, _) in parts.items()]
    log = ExchangeLog(TrainingLog(files, reading=ReadOptions(strict=True)), turns=READING.turns)
    train_word_pieces(log.log.pairs, folder / TOKENIZER, vocabulary=SHAPE.vocabulary)
    subwords = Subwords(folder / TOKENIZER, longest=READING.longest)
    stored = write_exchanges(log.exchanges(), folder / EXAMPLES, subwords, READING, source=log.fingerprint)
    items = [
        item
        for name, (_, held_out) in parts.items()
        for item in held_out_items(name, held_out, language, subwords, turns=READING.turns)
    ]
    write_objects(folder / HELD_OUT, as_objects(items))
    counts = {
        name: {"train": len(own), "held out": len(held_out), "items": sum(item.log == name for item in items)}
        for name, (own, held_out) in parts.items()
    }
    write_json(folder / COUNTS, {"dialogues": counts, "pieces": subwords.size, "exchanges": stored.facts["exchanges"]})
    print_stderr(
        f"{language}: {stored.facts['exchanges']:,} exchanges, {len(items):,} test items, {subwords.size:,} pieces"
    )


# ---- training --------------------------------------------------------------------------------------------------------


def trained(args: argparse.Namespace) -> None:
    """As `interloq train encoder` and `interloq train relevance` do, on examples that are already tokenised."""
    language = one_language(args)
    folder = Path(args.work) / language
    masking, pairs = replace(MASKING, seed=args.seed), ExchangePairs(Exchanges.load(folder / EXAMPLES))
    write_start(folder, masking)
    loop = replace(ENCODER, epochs=args.encoder_epochs, learning_rate=args.encoder_learning_rate, seed=args.seed)
    encoder = AdaptJob.of(folder / START, pairs, masking, loop, pairs.source)
    facts = train(encoder, folder / MASKED, device=args.device, report=print_stderr)
    print_stderr(f"perplexity {facts['before']['perplexity']:,.1f} before, {facts['after']['perplexity']:,.1f} after")
    given = RelevanceSources(encoder=str(folder / MASKED), examples=str(folder / EXAMPLES))
    epochs, settings = args.epochs or EPOCHS[language], replace(SETTINGS, seed=args.seed)
    loop = replace(SCORER, epochs=epochs, learning_rate=args.learning_rate, seed=args.seed)
    scorer = from_log(TrainingLog([]), given, READING, settings, loop, LowRank())
    facts = train(scorer, folder / TRAINED, device=args.device, report=print_stderr)
    print_stderr(f"true replies beat {facts['wins']}")


def write_start(folder: Path, masking: Adaptation) -> None:
    """Write a network with random weights for the tokenizer, unless there is one."""
    if (folder / START).exists():
        return
    with atomic_folder(folder / START) as part:
        copy_tokenizer(folder / TOKENIZER, part)
        write_untrained(part, Subwords(folder / TOKENIZER).size, SHAPE, masking)


# ---- test ------------------------------------------------------------------------------------------------------------


def tested(args: argparse.Namespace) -> None:
    from held_out_figures import figures, print_figures, scorers
    from held_out_replies import read_items

    language = one_language(args)
    folder = Path(args.work) / language
    items = read_items(folder / HELD_OUT)
    cosines = {"untrained cosine": folder / START, "encoder cosine": folder / MASKED}
    found = scorers(items, folder / TRAINED, cosines, device=args.device)
    rows = figures(items, found, args.resamples)
    print_figures(rows)
    if args.json:
        write_json(
            args.json, {"language": language, "resamples": args.resamples, "rows": [row.as_dict() for row in rows]}
        )


# ---- the command -----------------------------------------------------------------------------------------------------


def one_language(args: argparse.Namespace) -> str:
    """The language that was named."""
    if len(args.language or ()) != 1:
        raise InputError("no single language named", hint=f"give --language, one of {', '.join(LANGUAGES)}")
    return str(args.language[0])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    stages = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")
    first = stages.add_parser("examples", help="split the logs and tokenise their exchanges")
    first.add_argument("--data", metavar="FOLDER", help="logs and published sets (default: $INTERLOQ_DATA)")
    first.add_argument("--most", type=int, default=MOST, metavar="N", help=f"turns of a log to train on ({MOST:,})")
    second = stages.add_parser("train", help="train an encoder and a scorer")
    second.add_argument("--encoder-epochs", type=int, default=ENCODER.epochs, metavar="N", help=f"({ENCODER.epochs})")
    second.add_argument(
        "--encoder-learning-rate", type=float, default=ENCODER.learning_rate, metavar="X", help="(5e-4)"
    )
    second.add_argument("--epochs", type=int, metavar="N", help="of the scorer (ja: 1, zh: 2)")
    second.add_argument("--learning-rate", type=float, default=SCORER.learning_rate, metavar="X", help="(2e-4)")
    second.add_argument("--seed", type=int, default=0, metavar="N", help="(0)")
    third = stages.add_parser("test", help="score held-out replies and wrong ones")
    third.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    third.add_argument("--json", metavar="FILE", help="write the figures to a file too")
    for stage in (second, third):
        stage.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    for stage in (first, second, third):
        stage.add_argument("--work", required=True, metavar="FOLDER", help="one folder per language inside")
        stage.add_argument("--language", action="append", choices=LANGUAGES, help="may be repeated for examples")
    return parser


STAGES: Mapping[str, Any] = {"examples": examples, "train": trained, "test": tested}


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        STAGES[args.stage](args)
    except InterloqError as error:
        print(f"relevance_ja_zh: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
