"""The client's own score of a counselling session (KokoroChat), predicted from its last turns.

    python recipes/kokoro.py --data DATA --out OUT --encoder FOLDER

Two splits: `known clients` tests the latest sessions of each client, `new clients` tests clients without any session in
train. In both, a model with one token for all clients (unaware) and one with a token for each client with at least
USER_SAMPLES training sessions (aware) are trained; for a new client, the aware model uses the token for all. Pearson's
r with the client's score (0 to 100) is split into parts between and within clients; `user mean` predicts the mean of
the client's training scores and reads no text.

No paper reports these figures; findings are about 003/49 (the model must know the participant), which `hazumi.py`
decides. The score is for the whole session, but a model reads only the last TOKENS tokens of it.
Sessions last a fixed time, so their end says nothing about the client's wish to go on.

The options are the same as for `hazumi.py`. Intervals are from resamples of clients. The exit code is 0, or 2 if data
or predictions are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from hazumi import mean_rating, results, user_means
from interlocutor_arms import DATA, Arm, Floats, Plan, arguments, run_stages
from interlocutor_figures import Basis, Figure, numbered, print_parts, turn_of, user_parts
from rated_sets import data_folder
from results import Finding, report_measured

from interloq import Dialogue
from interloq.data.files.opening import write_json
from interloq.data.records.jsonl import write
from interloq.data.sets.registry import locate, read_parts
from interloq.records import INTERLOCUTOR
from interloq.scorers.interlocutor.continuity_labels import SampleSelection, judge_of
from interloq.scorers.interlocutor.samples_file import SampleSource, ratings_file
from interloq.scorers.interlocutor.settings import SCORE_TRAINING, InterlocutorReading, Target
from interloq.terminal.console import print_line

ASPECT = "score"
SPLITS = {"known clients": "own-time", "new clients": "user"}
CONTEXT, TOKENS, USER_SAMPLES = 40, 512, 5
TRAINING = replace(SCORE_TRAINING, epochs=5, patience=5)
QUICK = 4  # clients
MISSING = "not trained"


def arms(tokens: int = TOKENS) -> list[Arm]:
    """Both models for both splits."""
    unaware = InterlocutorReading(personal="none", tokens=tokens, user_samples=USER_SAMPLES)
    readings = {"unaware": unaware, "aware": replace(unaware, personal="token")}
    return [
        Arm(f"{folder(split)}-{aware}", f"{split}, {aware}", folder(split), reading, Target(aspect=ASPECT), TRAINING)
        for split in SPLITS
        for aware, reading in readings.items()
    ]


def folder(split: str) -> str:
    """Folder with the samples of a split."""
    return split.replace(" ", "_")


def prepare(args: argparse.Namespace) -> None:
    """Write the samples of both splits."""
    place = Path(args.out) / DATA
    place.mkdir(parents=True, exist_ok=True)
    path = place / "sessions.jsonl"
    write(path, sessions(args), kind="dialogues", users="kept")
    for split, by in SPLITS.items():
        selection = SampleSelection(min_conversations=0, max_conversations=0, context=CONTEXT, by=by)  # type: ignore[arg-type]
        ratings_file(SampleSource(path), place / folder(split), selection)
    path.unlink()


def sessions(args: argparse.Namespace) -> list[Dialogue]:
    """All sessions with their score alone; a few clients' with --quick."""
    scored = []
    clients: Counter[str] = Counter()
    for _, session in read_parts("kokorochat", locate("kokorochat", data_folder(args.data))):
        ratings = tuple(rating for rating in session.ratings if rating.aspect == ASPECT)
        clients.update(rating.rater for rating in ratings)
        scored.append(replace(session, ratings=ratings))
    chosen = {name for name, _ in clients.most_common(QUICK)} if args.quick else set(clients)
    return [session for session in scored if any(rating.rater in chosen for rating in session.ratings)]


def tables(args: argparse.Namespace, plan: Plan, rows: Sequence[Arm]) -> None:
    """Print a table per split and the verdicts, and write results.json."""
    found: dict[str, dict[str, Figure]] = {}
    for split in SPLITS:
        own = [arm for arm in rows if arm.samples == folder(split)]
        found |= split_figures(split, plan, own, args.resamples)
    print_parts("Pearson's r with the client's score", found, {})
    for arm in rows:
        if arm.title not in found:
            print_line(f"{arm.title}: {MISSING}")
    users = {split: _clients(plan, split, rows) for split in SPLITS}
    findings = make_findings(found, users)
    write_json(Path(args.out) / "results.json", results(plan, rows, found, findings) | {"published": {}})
    report_measured(args.measured, findings, [], args.started)


def _clients(plan: Plan, split: str, rows: Sequence[Arm]) -> int:
    """Return the number of tested clients."""
    arm = next(arm for arm in rows if arm.samples == folder(split))
    return len({judge_of(sample) for sample in plan.samples(arm, "test")})


def split_figures(split: str, plan: Plan, rows: Sequence[Arm], resamples: int) -> dict[str, dict[str, Figure]]:
    """Figures of the models and baselines of one split."""
    test, train = plan.samples(rows[0], "test"), plan.samples(rows[0], "train")
    people, user = np.array([mean_rating(s, INTERLOCUTOR) for s in test]), numbered(map(judge_of, test))
    predicted: dict[str, list[Floats]] = {
        arm.title: [found.by_part["test"] for found in plan.stored(arm)] for arm in plan.finished(rows)
    }
    predicted[f"{split}, number of turns"] = [np.array(list(map(turn_of, test)))]
    if SPLITS[split] != "user":
        predicted[f"{split}, user mean"] = [user_means(train, test)]
    return {title: user_parts(each, people, user, resamples) for title, each in predicted.items()}


def make_findings(found: Mapping[str, Mapping[str, Figure]], users: Mapping[str, int]) -> list[Finding]:
    """Return what awareness of the client adds, to clients that are known and to others, and beyond their mean."""
    r = {title: parts["overall"] for title, parts in found.items()}
    known, new = SPLITS
    item, own, others = "003/49", _basis(users[known]), _basis(users[new])
    within = found.get(f"{known}, aware", {}).get("within users")
    return [
        own.above(item, r, f"{known}, aware", f"{known}, unaware"),
        own.above(item, r, f"{known}, aware", f"{known}, user mean"),
        own.finding(item, f"{known}, aware: r within clients above 0", within),
        others.above(item, r, f"{new}, aware", f"{new}, unaware"),
    ]


def _basis(clients: int) -> Basis:
    return Basis("KokoroChat", clients, "clients")


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments("The client's score of a counselling session, predicted from its last turns.", "ja_relevance")
    args = parser.parse_args(argv)
    return run_stages("kokoro", args, arms(64 if args.quick else TOKENS), prepare, tables)


if __name__ == "__main__":
    sys.exit(main())
