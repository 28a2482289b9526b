"""Table 2 of Tsuta et al. (2024) on Hazumi1902: can a model predict the interlocutor's own score of each reply?

    python recipes/hazumi.py --data DATA --out OUT --encoder FOLDER

Four models: trained on the mean score of five outsiders or on the interlocutor's own, each with one token for all
participants or a token for each (aware). All are tested by Pearson's r with the interlocutor's own score. Each dialogue
is cut 8:1:1 along its course; lr, batch (64), loss and epochs (10, best dev loss) are those of the paper.

- The encoder is given: in the paper a Japanese BERT-base; here the scorer of `relevance_ja_zh.py` (6 layers, 384
  dimensions). Besides the paper's learning rate, one for small encoders is tried, and the dev loss decides per row.
- The paper pools Hazumi1902 and 1911; here there is 1902 only.
- `user mean` predicts the mean of the participant's own training scores and reads no text. A model that learns nothing
  else is found out by the part of r within users.

Intervals are from resamples of the 30 participants. `--prepare`, `--train` and `--tables` run one stage; `--train`
needs only OUT/data, so it can run on another machine. The exit code is 0, or 2 if data or predictions are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from interlocutor_arms import DATA, Arm, Floats, Plan, arguments, run_stages
from interlocutor_figures import Claim, Figure, above, numbered, print_claims, print_parts, user_parts
from rated_sets import data_folder

from interloq import Sample
from interloq.data.files.opening import write_json
from interloq.data.records.jsonl import write
from interloq.data.sets.registry import locate, read_dataset
from interloq.records import INTERLOCUTOR, OUTSIDER
from interloq.scorers.interlocutor.continuity_labels import SampleSelection, judge_of
from interloq.scorers.interlocutor.samples_file import SampleSource, ratings_file
from interloq.scorers.interlocutor.settings import SCORE_TRAINING, InterlocutorReading, Target

ASPECT = "impression"
CONTEXT, TOKENS = 30, 256  # turns stored, and tokens read
PUBLISHED = {"outsider": 0.141, "outsider, aware": 0.142, "interlocutor": 0.166, "interlocutor, aware": 0.496}
QUICK = 3  # participants


def arms(tokens: int = TOKENS) -> list[Arm]:
    """The four rows."""
    unaware = InterlocutorReading(personal="none", tokens=tokens)
    aware = InterlocutorReading(personal="token", tokens=tokens)
    return [
        Arm(f"{target.role}-{reading.personal}", title, "hazumi", reading, target, SCORE_TRAINING)
        for target in (Target(aspect=ASPECT, role="outsider"), Target(aspect=ASPECT))
        for reading, title in ((unaware, target.role), (aware, f"{target.role}, aware"))
    ]


def prepare(args: argparse.Namespace) -> None:
    """Write the samples of train, dev and test."""
    folder = Path(args.out) / DATA
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hazumi.jsonl"
    write(path, _rated(args), kind="samples", users="kept")
    ratings_file(SampleSource(path), folder / "hazumi", SampleSelection(min_conversations=0, max_conversations=0))
    path.unlink()


def _rated(args: argparse.Namespace) -> Iterator[Sample]:
    """Replies with the last turns before them and the ratings of their impression."""
    users = set[str]()
    for sample in read_dataset("hazumi", locate("hazumi", data_folder(args.data))):
        users.add(judge_of(sample))
        if args.quick and len(users) > QUICK:
            return
        ratings = tuple(rating for rating in sample.ratings if rating.aspect == ASPECT)
        yield replace(sample, context=sample.context[-CONTEXT:], ratings=ratings)


def mean_rating(sample: Sample, role: str) -> float:
    """Mean rating by people in a role; NaN without any."""
    values = [rating.value for rating in sample.ratings if rating.role == role and rating.value is not None]
    return fmean(values) if values else float("nan")


def user_means(train: Sequence[Sample], test: Sequence[Sample]) -> Floats:
    """Mean of the training ratings of each test sample's judge; the mean of all for judges without any."""
    own: dict[str, list[float]] = {}
    for sample in train:
        own.setdefault(judge_of(sample), []).append(mean_rating(sample, INTERLOCUTOR))
    overall = fmean(value for values in own.values() for value in values)
    return np.array([fmean(own.get(judge_of(sample), [overall])) for sample in test])


def tables(args: argparse.Namespace, plan: Plan, rows: Sequence[Arm]) -> None:
    """Print the table and the verdicts, and write results.json."""
    test, train = plan.samples(rows[0], "test"), plan.samples(rows[0], "train")
    people, user = np.array([mean_rating(s, INTERLOCUTOR) for s in test]), numbered(map(judge_of, test))
    predicted: dict[str, list[Floats]] = {
        arm.title: [found.by_part["test"] for found in plan.stored(arm)] for arm in rows
    }
    outsiders = np.array([mean_rating(sample, OUTSIDER) for sample in test])
    predicted["user mean"] = [user_means(train, test)]
    predicted["outsiders' own mean"] = [np.where(np.isnan(outsiders), np.nanmean(outsiders), outsiders)]
    found = {title: user_parts(each, people, user, args.resamples) for title, each in predicted.items()}
    print_parts(f"Pearson's r with the interlocutor's score, {len(test)} replies", found, PUBLISHED)
    claims = claims_of({title: parts["overall"] for title, parts in found.items()})
    within = found["interlocutor, aware"]["within users"]
    claims.append(Claim("interlocutor, aware: r within users above 0", within))
    print_claims("Claims", claims)
    write_json(Path(args.out) / "results.json", results(plan, rows, found, claims))


def claims_of(r: Mapping[str, Figure]) -> list[Claim]:
    """The claims of the paper about the four rows, and ours about the user mean."""
    pairs = (
        ("interlocutor, aware", "interlocutor"),
        ("interlocutor, aware", "outsider, aware"),
        ("interlocutor", "outsider"),
    )
    found = [above(r, a, b, PUBLISHED[a] - PUBLISHED[b]) for a, b in pairs]
    own = "outsiders' own mean agrees with the interlocutor (the paper: outsiders' scores are useless)"
    return [*found, Claim(own, r["outsiders' own mean"]), above(r, "interlocutor, aware", "user mean")]


def results(
    plan: Plan, rows: Sequence[Arm], found: Mapping[str, Mapping[str, Figure]], claims: Sequence[Claim]
) -> dict[str, Any]:
    """Everything that was printed, and the learning rate of each row."""
    return {
        "rows": {title: {name: f.plain() for name, f in parts.items()} for title, parts in found.items()},
        "published": PUBLISHED,
        "claims": [claim.plain() for claim in claims],
        "trainings": plan.facts(rows),
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments("Table 2 of Tsuta et al. (2024) on Hazumi1902.", "ja_relevance")
    args = parser.parse_args(argv)
    rows = arms(64 if args.quick else TOKENS)
    return run_stages("hazumi", args, rows, prepare, tables)


if __name__ == "__main__":
    sys.exit(main())
