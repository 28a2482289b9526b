"""The weights behind `relevance(model='ready')`: from public logs to the file in the package, and its card.

    python recipes/ready.py examples --data DATA --work WORK --examples EXAMPLES
    python recipes/ready.py train --examples EXAMPLES -o TRAINED
    python recipes/ready.py install TRAINED --data DATA --work WORK --examples EXAMPLES

The same three stages with `--name ready-large --encoder FOLDER`, a folder of all-mpnet-base-v2, make `ready-large`.

`examples` tokenises the exchanges of the permissive logs that overlap no test set (see ready_logs.py). `train`
needs only the examples and the encoder, so it can run on another machine: minutes on a GPU, a day without.
`install` measures the scorer on the rated sets (see relevance.py), which takes some ten minutes, and writes weights,
facts and card to the package, or to `--to FOLDER`. It refuses weights from other logs or for another encoder, and files
that are too large. Nothing is chosen by the measured figures.

With `--all-logs`, `examples` takes all English logs: to measure what the permissive ones cost. The weights trained on
them cannot be installed; `install --against NAME=SPEC` adds the figures of another scorer to the card.

DATA (or INTERLOQ_DATA) holds `logs/` and the published sets, unpacked or as .tar.gz. The exit code is 0, or 2 when data
or weights are missing or refused.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rated_sets import data_folder

from interloq import InputError, InterloqError
from interloq.data.files.durable import write_atomically
from interloq.data.files.opening import write_json
from interloq.data.records.read_options import ReadOptions
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.job import train
from interloq.learn.learning_curve import CURVE
from interloq.learn.ready import HUB_ENCODER, PACKAGED, READY, READY_LARGE
from interloq.learn.settings import LowRank
from interloq.learn.start import Start
from interloq.learn.store import FACTS, WEIGHTS, load_model
from interloq.models.cross_encoder import CONFIG
from interloq.models.pretrained import Subwords
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.relevance.examples import Exchange, Exchanges, write_exchanges
from interloq.scorers.relevance.job import from_log
from interloq.scorers.relevance.log import ExchangeLog
from interloq.scorers.relevance.settings import ENCODER, TRAINING, RelevanceReading, RelevanceSettings, RelevanceSources
from interloq.terminal.console import print_stderr

READING = RelevanceReading()
SETTINGS = RelevanceSettings(loss="listwise", batch=128)
SELF_DIALOGUE = "self_dialogue"  # one person wrote both sides, and it is more than half of all exchanges
CARD = "README.md"
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Variant:
    """How a packaged scorer is trained. Of every `thinning` dialogues of SELF_DIALOGUE, one is used."""

    encoder: str
    low_rank: int
    epochs: int
    largest: int  # bytes of the weights
    thinning: int = 1
    learning_rate: float = 5e-4


VARIANTS = {
    READY: Variant(ENCODER, low_rank=48, epochs=2, largest=5_000_000),
    READY_LARGE: Variant(HUB_ENCODER, low_rank=32, epochs=1, largest=15_000_000, thinning=3),
}


# ---- examples --------------------------------------------------------------------------------------------------------


def exchange_log(data: Path, work: Path, *, all_logs: bool = False) -> ExchangeLog:
    """The exchanges of the logs that overlap no test sample. A bad line is an error."""
    from ready_logs import ENGLISH, PERMISSIVE, training_logs, write_samples

    logs = training_logs(data, ENGLISH if all_logs else tuple(PERMISSIVE), work)
    samples = write_samples(data, work / "samples.jsonl")
    return ExchangeLog(
        TrainingLog(logs.files, [str(samples)], reading=ReadOptions(strict=True)), logs.written, turns=READING.turns
    )


def examples(args: argparse.Namespace) -> None:
    log = exchange_log(data_folder(args.data), Path(args.work), all_logs=args.all_logs)
    subwords = Subwords(Start.of(args.encoder).files, longest=READING.longest)
    exchanges = thin_out(log, VARIANTS[args.name].thinning)
    stored = write_exchanges(exchanges, Path(args.examples), subwords, READING, source=log.fingerprint)
    for name, kept in counts(log, stored).items():
        print_stderr(f"{name}: {kept:,} exchanges")
    print_stderr(f"{stored.facts['exchanges']:,} exchanges in {args.examples}; {log.log.excluded:,} excluded")


def thin_out(log: ExchangeLog, thinning: int) -> Iterator[Exchange]:
    """Leave out most dialogues of SELF_DIALOGUE, chosen by hash."""
    names = [Path(path).name.split(".")[0] for path in log.files]
    for exchange in log.exchanges():
        if names[exchange.origin] != SELF_DIALOGUE or zlib.crc32(exchange.talk.encode()) % thinning == 0:
            yield exchange


def counts(log: ExchangeLog, stored: Exchanges) -> dict[str, int]:
    """Exchanges per log."""
    found = np.bincount(stored.origins, minlength=len(log.files)).tolist()
    return {Path(path).name.split(".")[0]: kept for path, kept in zip(log.files, found, strict=True)}


# ---- training --------------------------------------------------------------------------------------------------------


def trained(args: argparse.Namespace) -> None:
    """Train like `interloq train relevance --examples … --low-rank …`, with the settings of the ready weights."""
    given = RelevanceSources(encoder=args.encoder, examples=args.examples)
    loop = replace(TRAINING, epochs=args.epochs, learning_rate=args.learning_rate, seed=args.seed)
    settings = replace(SETTINGS, seed=args.seed)
    job = from_log(TrainingLog([]), given, READING, settings, loop, LowRank(low_rank=args.low_rank))
    facts = train(job, args.output, device=args.device, report=print_stderr)
    print_stderr(f"true replies beat {facts['wins']}")


# ---- installation ----------------------------------------------------------------------------------------------------


def install(args: argparse.Namespace) -> None:
    log, stored = exchange_log(data_folder(args.data), Path(args.work)), Exchanges.load(Path(args.examples))
    folder, target, base = Path(args.trained), Path(args.to or PACKAGED[args.name]), Start.of(args.encoder)
    facts = checked(folder, log.fingerprint, VARIANTS[args.name], base)
    if facts["examples"] != stored.facts:
        raise InputError(
            f"{folder} was not trained on these examples", hint="name those it was trained on", where=args.examples
        )
    write_scorer(folder, target, facts)
    if args.name == READY_LARGE:  # users may have other versions of the files beside the encoder's weights
        Subwords(base.files).save(target)
        write_atomically(target / CONFIG, (base.files / CONFIG).read_bytes())
    figures = measured(data_folder(args.data), args.name, target, args.against)
    write_atomically(target / CARD, card(args.name, facts, counts(log, stored), figures).encode())
    print_stderr(f"installed in {target}")


def checked(folder: Path, source: str, variant: Variant, encoder: Start) -> dict[str, Any]:
    """The facts of weights that may be in the package, with the encoder named as users have it."""
    facts, _ = load_model(folder, kind="relevance")
    if "base" not in facts:
        raise InputError("the scorer has no low-rank updates", hint="train it with --low-rank", where=str(folder))
    if facts["source"] != source:
        raise InputError(
            f"the scorer was trained on logs {facts['source']}, not on the permissive ones, {source}",
            hint="train it on what `ready.py examples` writes without --all-logs",
            where=str(folder),
        )
    base = encoder.describe() | {"name": variant.encoder}
    for part in ("weights", "config"):
        if facts["base"][part] != base[part]:
            raise InputError(
                f"the scorer's updates belong to an encoder with {part} {facts['base'][part]}, not {base[part]}",
                hint=f"train it from {variant.encoder} {base['version']}",
                where=str(folder),
            )
    if (size := (folder / WEIGHTS).stat().st_size) > variant.largest:
        hint = f"lower --low-rank: at most {variant.largest:,} are allowed"
        raise InputError(f"{WEIGHTS} has {size:,} bytes", hint=hint)
    return facts | {"base": base}


def write_scorer(folder: Path, target: Path, facts: Mapping[str, Any]) -> None:
    """The weights as they were trained, and their facts."""
    target.mkdir(parents=True, exist_ok=True)
    for name in (CALIBRATION, CURVE, WEIGHTS):
        write_atomically(target / name, (folder / name).read_bytes())
    write_json(target / FACTS, facts)


def measured(data: Path, name: str, folder: Path, against: Sequence[str]) -> list[Any]:
    """Spearman correlations and AUC as relevance.py measures them, of the scorers alone."""
    from relevance import _named, run, scorers

    specs = _named([f"{_column(name)}=relevance(model={str(folder)!r})", *against])
    rows = run(data, scorers(specs), RESAMPLES).rows
    return [row for row in rows if row.scorer in specs and row.measure != "pearson"]


# ---- the card --------------------------------------------------------------------------------------------------------


def card(name: str, facts: Mapping[str, Any], kept: Mapping[str, int], figures: Sequence[Any]) -> str:
    """Sources, licences, commands, seed, hashes and figures."""
    from ready_logs import PERMISSIVE

    base, sources = facts["base"], "\n".join(f"| {log} | {PERMISSIVE[log]} | {n:,} |" for log, n in kept.items())
    options = "" if name == READY else f" --name {name} --encoder FOLDER"
    wins = ", ".join(f"{share:.1%} of {kind} replies" for kind, share in facts["wins"].items())
    encoder = f"{base['name']} {base['version']}".strip()
    return f"""# Ready weights of `relevance`: `{name}`

Low-rank updates and a head for the encoder {encoder} (Apache-2.0), made by `recipes/ready.py`.
`relevance(model='{name}')` uses them, and `interloq train relevance --encoder {name}` starts from them. What the scorer
measures, and when to trust it, is in docs/metrics/relevance.md.

- rank of the updates: {facts["low_rank"]["low_rank"]}
- hash of the weights: {facts["weights"]}; of the encoder's: {base["weights"]}
- seed: {_seed(facts["signature"])}
- source (hash of logs and excluded test samples): {facts["source"]}
- dev part: true replies beat {wins}; loss {facts["best"]["dev_loss"]:.4f} after epoch {facts["best"]["epoch"]}

## Sources

Only logs whose licences allow it, without exchanges that overlap a test set: GRADE, USR, FED, Gupta et al.'s
multi-reference DailyDialog, DailyDialog++ (test), Spot the Bot, Predictive Engagement.

| log | licence | exchanges |
|---|---|---|
{sources}

The texts themselves are not in the package. The logs are English; so is the scorer.

## Commands

```text
python recipes/ready.py examples --data DATA --work WORK --examples EXAMPLES{options}
python recipes/ready.py train --examples EXAMPLES -o TRAINED{options}
python recipes/ready.py install TRAINED --data DATA --work WORK --examples EXAMPLES{options}
```

Settings: `{facts["signature"]}`

## Figures

Nothing was chosen by these labels. 95 % in brackets, from {RESAMPLES} resamples.

{_table(_column(name), figures)}
"""


def _seed(signature: str) -> str:
    return signature.partition("seed=")[2].partition(")")[0]


def _column(name: str) -> str:
    return name.replace("-", "_")


def _table(first: str, rows: Sequence[Any]) -> str:
    names = list(dict.fromkeys([first, *(row.scorer for row in rows)]))
    lines = ["| set | measure | " + " | ".join(names) + " |", "|---" * (2 + len(names)) + "|"]
    for place in dict.fromkeys((row.set, row.measure) for row in rows):
        found = {row.scorer: row for row in rows if (row.set, row.measure) == place}
        cells = " | ".join(_cell(found[name]) if name in found else "–" for name in names)
        lines.append(f"| {place[0]} | {place[1].replace('_', ' ')} | {cells} |")
    return "\n".join(lines)


def _cell(row: Any) -> str:
    return f"{row.value:.3f}" + (f" [{row.ci[0]:.2f}, {row.ci[1]:.2f}]" if row.ci else "")


# ---- the command -----------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    stages = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")
    first = stages.add_parser("examples", help="tokenise the exchanges of the logs")
    first.add_argument("--all-logs", action="store_true", help="all English logs, not only the permissive ones")
    second = stages.add_parser("train", help="train on the examples")
    second.add_argument("-o", "--output", required=True, metavar="FOLDER", help="the folder to write, or to resume in")
    second.add_argument("--low-rank", type=int, metavar="N", help="rank of the updates")
    second.add_argument("--epochs", type=int, metavar="N")
    second.add_argument("--learning-rate", type=float, metavar="X")
    second.add_argument("--seed", type=int, default=0, metavar="N", help="(0)")
    second.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    third = stages.add_parser("install", help="measure trained weights and put them into the package")
    third.add_argument("trained", metavar="TRAINED", help="the folder of the trained scorer")
    third.add_argument("--to", metavar="FOLDER", help="instead of the package")
    third.add_argument("--against", action="append", default=[], metavar="NAME=SPEC", help="another scorer to measure")
    for stage in (first, third):
        stage.add_argument("--data", metavar="FOLDER", help="logs and published sets (default: $INTERLOQ_DATA)")
        stage.add_argument("--work", required=True, metavar="FOLDER", help="where rewritten logs are kept")
    for stage in (first, second, third):
        stage.add_argument("--name", default=READY, choices=tuple(VARIANTS), help=f"of the scorer ({READY})")
        stage.add_argument("--encoder", metavar="NAME", help="the encoder's folder, if it is not an installed package")
        stage.add_argument("--examples", required=True, metavar="FOLDER", help="the tokenised exchanges")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    for option in ("encoder", "low_rank", "epochs", "learning_rate"):
        if getattr(args, option, None) is None:
            setattr(args, option, getattr(VARIANTS[args.name], option))
    try:
        {"examples": examples, "train": trained, "install": install}[args.stage](args)
    except InterloqError as error:
        print(f"ready: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
