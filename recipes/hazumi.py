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
needs only OUT/data, so it can run on another machine. `--statistics` prints Table 1 instead, and needs no network. The
exit code is 0, or 2 if data or predictions are missing.

What decides: **003/49** (the model must know the participant) by the aware above the unaware model, both trained on
the interlocutor's scores, as in the paper. **003/48** (outsiders' scores do not predict the interlocutor's) by the
outsiders' own mean, since the claim is about their scores and not about one model of them: its r must be at most
USELESS, the r that the paper calls useless.
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
from interlocutor_arms import DATA, Arm, Floats, Plan, arguments, exit_code, run_stages
from interlocutor_figures import Basis, Figure, cell, numbered, plain_finding, print_parts, user_parts
from rated_sets import data_folder
from results import Cell, Finding, PublishedTable, report_measured

from interloq import Sample
from interloq.data.files.opening import write_json
from interloq.data.records.jsonl import write
from interloq.data.sets.hazumi import WIZARD
from interloq.data.sets.registry import locate, read_dataset
from interloq.records import INTERLOCUTOR, OUTSIDER
from interloq.scorers.interlocutor.continuity_labels import SampleSelection, judge_of
from interloq.scorers.interlocutor.samples_file import SampleSource, ratings_file
from interloq.scorers.interlocutor.settings import SCORE_TRAINING, InterlocutorReading, Target
from interloq.terminal.console import number, print_table

ASPECT = "impression"
USER_MEAN, OUTSIDERS = "user mean", "outsiders' own mean"
CONTEXT, TOKENS = 30, 256  # turns stored, and tokens read
PUBLISHED = {"outsider": 0.141, "outsider, aware": 0.142, "interlocutor": 0.166, "interlocutor, aware": 0.496}
USELESS = 0.142  # published r of the aware model trained on outsiders' scores
STATISTICS = {  # Table 1: Hazumi1902 and Hazumi1911
    "dialogues (participants)": (30, 30),
    "exchanges": (2477, 2824),
    "utterance length (Wizard)": (22.7, 20.8),
    "utterance length (Participant)": (22.2, 25.1),
}
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


def mean_rating(sample: Sample, role: str, aspect: str = "") -> float:
    """Mean rating by people in a role, of one aspect or all; NaN without any."""
    ratings = [rating for rating in sample.ratings if rating.role == role and aspect in ("", rating.aspect)]
    values = [rating.value for rating in ratings if rating.value is not None]
    return fmean(values) if values else float("nan")


def user_means(train: Sequence[Sample], test: Sequence[Sample]) -> Floats:
    """Mean of the training ratings of each test sample's judge; the mean of all for judges without any."""
    own: dict[str, list[float]] = {}
    for sample in train:
        own.setdefault(judge_of(sample), []).append(mean_rating(sample, INTERLOCUTOR))
    overall = fmean(value for values in own.values() for value in values)
    return np.array([fmean(own.get(judge_of(sample), [overall])) for sample in test])


def tables(args: argparse.Namespace, plan: Plan, rows: Sequence[Arm]) -> None:
    """Print the table and the findings, and write results.json."""
    test, train = plan.samples(rows[0], "test"), plan.samples(rows[0], "train")
    people, user = np.array([mean_rating(s, INTERLOCUTOR) for s in test]), numbered(map(judge_of, test))
    predicted: dict[str, list[Floats]] = {
        arm.title: [found.by_part["test"] for found in plan.stored(arm)] for arm in rows
    }
    outsiders = np.array([mean_rating(sample, OUTSIDER) for sample in test])
    predicted[USER_MEAN] = [user_means(train, test)]
    predicted[OUTSIDERS] = [np.where(np.isnan(outsiders), np.nanmean(outsiders), outsiders)]
    found = {title: user_parts(each, people, user, args.resamples) for title, each in predicted.items()}
    print_parts(f"Pearson's r with the interlocutor's score, {len(test)} replies", found, PUBLISHED)
    findings = make_findings(found, Basis("Hazumi1902", int(user.max()) + 1, "participants"))
    write_json(Path(args.out) / "results.json", results(plan, rows, found, findings))
    table = table_2({title: parts["overall"] for title, parts in found.items()})
    report_measured(args.measured, findings, [table], args.started)


def make_findings(found: Mapping[str, Mapping[str, Figure]], basis: Basis) -> list[Finding]:
    """Return the claims of the paper about the four rows, and ours about means."""
    r = {title: parts["overall"] for title, parts in found.items()}
    plain, aware, outsider = "interlocutor", "interlocutor, aware", "outsider, aware"
    useless = basis.finding("003/48", f"{OUTSIDERS}: r at most {USELESS}, sign reversed", -r[OUTSIDERS], decides=True)
    return [
        basis.above("003/49", r, aware, plain, PUBLISHED[aware] - PUBLISHED[plain], decides=True),
        basis.above("003/49", r, aware, USER_MEAN),
        basis.finding("003/49", f"{aware}: r within participants above 0", found[aware]["within users"]),
        replace(useless, threshold=-USELESS),
        basis.above("003/48", r, aware, outsider, PUBLISHED[aware] - PUBLISHED[outsider]),
        basis.above("003/48", r, plain, "outsider", PUBLISHED[plain] - PUBLISHED["outsider"]),
    ]


def table_2(r: Mapping[str, Figure]) -> PublishedTable:
    """Return Table 2 with our figures, and two rows that the paper does not have."""
    return PublishedTable(
        item="003/42",
        title="Table 2: Pearson's r with the interlocutor's own score",
        data="Hazumi1902",
        columns=["Pearson's r"],
        rows={title: [cell(figure, PUBLISHED.get(title))] for title, figure in r.items()},
        note=f"The rows {USER_MEAN!r} and {OUTSIDERS!r} are ours. The paper pools Hazumi1902 and 1911.",
    )


def table_1(data: Path) -> PublishedTable:
    """Return the statistics of Hazumi1902 (Table 1)."""
    exchanges = 0
    participants = set[str]()
    lengths: dict[str, list[int]] = {"Wizard": [], "Participant": []}
    earlier: Sample | None = None
    for sample in read_dataset("hazumi", locate("hazumi", data)):
        participants.add(sample.dialogue)
        has_rating = not np.isnan(mean_rating(sample, INTERLOCUTOR, ASPECT))
        exchanges += bool(sample.response) and has_rating
        if sample.response:
            lengths["Wizard"].append(len(sample.response))
        answer = _answer(earlier, sample)
        if answer:
            lengths["Participant"].append(len(answer))
        earlier = sample
    ours = [len(participants), exchanges, *(fmean(own) for own in lengths.values())]
    rows: dict[str, Sequence[Cell]] = {}
    for (name, published), figure in zip(STATISTICS.items(), ours, strict=True):
        rows[name] = [Cell(published=published[0], ours=float(figure)), Cell(published=published[1])]
    return PublishedTable(
        item="003/41",
        title="Table 1: statistics of Hazumi",
        data="Hazumi1902",
        columns=["Hazumi1902", "Hazumi1911"],
        rows=rows,
        note="Hazumi1911 was not at hand. Exchanges: those with an utterance of the Wizard and a score by the "
        "participant. Lengths are means over utterances that are not empty, without marks of the transcription; the "
        "participant's answer to the Wizard's last utterance is not read.",
    )


def _answer(earlier: Sample | None, sample: Sample) -> str:
    """Return what the participant said between two utterances of the Wizard; empty if nothing."""
    if earlier is None or earlier.dialogue != sample.dialogue or not sample.context:
        return ""
    last = sample.context[-1]
    return "" if last.speaker == WIZARD else last.text


def results(
    plan: Plan, rows: Sequence[Arm], found: Mapping[str, Mapping[str, Figure]], findings: Sequence[Finding]
) -> dict[str, Any]:
    """Everything that was printed, and the learning rate of each row."""
    return {
        "rows": {title: {name: f.plain() for name, f in parts.items()} for title, parts in found.items()},
        "published": PUBLISHED,
        "findings": [plain_finding(finding) for finding in findings],
        "trainings": plan.facts(rows),
    }


def statistics(args: argparse.Namespace) -> None:
    """Print Table 1."""
    table = table_1(data_folder(args.data))
    rows = [[name, *(number(cell.ours, 1) for cell in cells)] for name, cells in table.rows.items()]
    print_table(table.title, ["", *table.columns], rows, note=table.note)
    report_measured(args.measured, [], [table], args.started)


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments("Table 2 of Tsuta et al. (2024) on Hazumi1902.", "ja_relevance")
    parser.add_argument("--statistics", action="store_true", help="only print Table 1; needs no network")
    args = parser.parse_args(argv)
    if args.statistics:
        return exit_code("hazumi", lambda: statistics(args))
    rows = arms(64 if args.quick else TOKENS)
    return run_stages("hazumi", args, rows, prepare, tables)


if __name__ == "__main__":
    sys.exit(main())
