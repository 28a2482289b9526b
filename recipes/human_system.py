"""Table 5 of Tsuta et al. (2024) on RealPersonaChat: are replies of people easier to judge than replies of systems?

The paper correlates P(answer) with two annotators' engagement in single replies. No Japanese log here has valid
continuity labels, so this is another experiment: models learn the partners' own `satisfaction` with whole dialogues
between people, and predict it for later dialogues of the same raters with people, and for 150 dialogues of ten of them
with five GPT systems. Correlations are over dialogues. Baselines score the last reply that the rater was
given, as the models do. Its findings about 003/54 and 003/55 decide nothing: `dcp_frozen.py` tests those claims on
engagement in single replies.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from dcp_baselines import AM, AM_FM, FED, FM, NSP, RELEVANCE, RUBER, Networks, plain_encoder, scores
from dcp_data import ASPECT, RATED, SYSTEMS
from hazumi import mean_rating, user_means
from interlocutor_arms import Arm, Floats, Plan
from interlocutor_figures import Basis, Figure, cell, numbered, pearson, plain_finding, turn_of, user_parts
from results import Cell, Finding, PublishedTable

from interloq import Sample
from interloq.records import INTERLOCUTOR
from interloq.scorers.interlocutor.continuity_labels import judge_of
from interloq.scorers.interlocutor.settings import SCORE_TRAINING, InterlocutorReading, Target
from interloq.terminal.console import print_line, print_table

TOKENS, USER_SAMPLES = 512, 5
TRAINING = replace(SCORE_TRAINING, epochs=3, patience=3)
TITLES = {"none": "score", "token": "score + user token", "profile": "score + profile", "both": "score + both"}
PUBLISHED = {  # r for annotator 1 human, system, annotator 2 human, system
    NSP: (0.477, 0.416, -0.028, 0.337),
    RUBER: (0.285, 0.243, -0.134, 0.210),
    AM: (0.564, 0.293, 0.015, 0.242),
    FM: (0.499, 0.031, -0.011, -0.070),
    AM_FM: (0.528, 0.074, -0.010, -0.055),
    FED: (0.210, 0.051, 0.040, -0.070),
    "score": (0.646, 0.401, 0.578, 0.156),
    "score + user token": (0.720, 0.364, 0.582, 0.072),
    "score + profile": (0.754, 0.369, 0.543, 0.077),
    "score + both": (0.727, 0.367, 0.527, 0.078),
}


def rated_arms(*, quick: bool = False) -> list[Arm]:
    """Four models, by what they know about the rater."""
    return [
        Arm(
            f"{RATED}-{personal}",
            title,
            RATED,
            InterlocutorReading(personal=personal, tokens=64 if quick else TOKENS, user_samples=USER_SAMPLES),  # type: ignore[arg-type]
            Target(aspect=ASPECT),
            TRAINING,
            parts=("dev", "test", SYSTEMS),
            japanese=True,
        )
        for personal, title in TITLES.items()
    ]


@dataclass(frozen=True, slots=True)
class RatedTables:
    """What is printed and kept about Table 5."""

    plain: dict[str, Any]  # for results.json
    findings: Sequence[Finding]
    table: PublishedTable


def rated_tables(args: argparse.Namespace, plan: Plan, rows: Sequence[Arm]) -> RatedTables:
    """Print correlations for both kinds of partners; return them with the findings."""
    parts = {part: plan.samples(rows[0], part) for part in ("train", "test", SYSTEMS)}
    networks = ja_networks(args)
    trained = plan.finished(rows)
    predicted = {arm.title: [found.by_part for found in plan.stored(arm)] for arm in trained}
    predicted["user mean"] = [{part: user_means(parts["train"], parts[part]) for part in ("test", SYSTEMS)}]
    predicted["number of turns"] = [{part: np.array(list(map(turn_of, parts[part]))) for part in ("test", SYSTEMS)}]
    predicted |= {title: [own] for title, own in scores(RATED, plan.out, networks, ("dev", "test", SYSTEMS)).items()}
    figures = {title: _figures(models, parts, args.resamples) for title, models in predicted.items()}
    missing = networks.missing() | {arm.title: "it was not trained" for arm in rows if arm not in trained}
    _print(figures, missing, {part: len(its) for part, its in parts.items()})
    findings = make_findings(figures, len({judge_of(sample) for sample in parts["test"]}))
    plain = {title: {name: figure.plain() for name, figure in own.items()} for title, own in figures.items()}
    reasons = {title: {"not available": why} for title, why in missing.items()}
    kept = {"rows": plain | reasons, "findings": [plain_finding(finding) for finding in findings]}
    return RatedTables(kept, findings, table_5(figures))


def ja_networks(args: argparse.Namespace) -> Networks:
    """Networks of the Japanese baselines: there is no language model, and the encoder is that of the scorer."""
    encoder = plain_encoder(args.ja_encoder, Path(args.out))
    return Networks(encoder, relevance=args.ja_encoder, follow_ups="ja")


def _figures(
    models: Sequence[Mapping[str, Floats]], parts: Mapping[str, Sequence[Sample]], resamples: int
) -> dict[str, Figure]:
    """r with human partners, within raters too, and with systems; resamples draw raters, or dialogues with systems."""
    known = {part: ratings(parts[part]) for part in ("test", SYSTEMS)}
    human = user_parts([m["test"] for m in models], known["test"], numbered(map(judge_of, parts["test"])), resamples)
    system = pearson([m[SYSTEMS] for m in models], known[SYSTEMS], np.arange(len(known[SYSTEMS])), resamples)
    return {"human": human["overall"], "human, within raters": human["within users"], "system": system}


def ratings(samples: Sequence[Sample]) -> Floats:
    """The rating of each sample by the person in the dialogue."""
    return np.array([mean_rating(sample, INTERLOCUTOR) for sample in samples])


def _print(figures: Mapping[str, Mapping[str, Figure]], missing: Mapping[str, str], sizes: Mapping[str, int]) -> None:
    names = list(next(iter(figures.values())))
    rows = [[title, *(str(own[name]) for name in names), _published(title)] for title, own in figures.items()]
    rows += [[title, "not available", "", "", _published(title)] for title in missing]
    title = f"Pearson's r with the raters' {ASPECT}: {sizes['test']:,} human and {sizes[SYSTEMS]} system dialogues"
    print_table(title, ["", *names, "published: human 1, system 1, human 2, system 2"], rows)
    for name, why in missing.items():
        print_line(f"{name} is not available: {why}")
    print_line("The published figures are of P(answer) for single replies, so they are not comparable in size.")
    print_line()


def make_findings(figures: Mapping[str, Mapping[str, Figure]], raters: int) -> list[Finding]:
    """Return whether models agree with raters about people, more so if they know the rater, and less about systems."""
    basis = Basis("RealPersonaChat", raters, "raters", "satisfaction with whole dialogues")
    plain, token = TITLES["none"], TITLES["token"]
    human = {title: own["human"] for title, own in figures.items()}
    best = max((title for title in (RELEVANCE, RUBER, AM) if title in human), key=lambda title: human[title].value)
    people = [
        basis.above("003/54", human, plain, best, 0.646 - 0.564),
        basis.above("003/54", human, token, plain, 0.720 - 0.646),
        basis.above("003/54", human, token, "user mean"),
    ]
    findings = [replace(finding, way=f"human: {finding.way}") for finding in people]
    for row, published in ((plain, 0.646 - 0.401), (token, 0.720 - 0.364)):
        if row in figures:
            way = f"{row}: r for people above r for systems"
            findings.append(basis.finding("003/55", way, _apart(figures[row]), published))
    return findings


def table_5(figures: Mapping[str, Mapping[str, Figure]]) -> PublishedTable:
    """Return Table 5 with our correlations in place of both annotators'."""
    rows: dict[str, Sequence[Cell]] = {}
    for title, (human_1, system_1, human_2, system_2) in PUBLISHED.items():
        ours = figures.get(title if title != NSP else RELEVANCE, {})
        human, system = ours.get("human"), ours.get("system")
        rows[title] = [cell(human, human_1), cell(system, system_1), cell(human, human_2), cell(system, system_2)]
    return PublishedTable(
        item="003/44",
        title="Table 5: Pearson's r with the interlocutor's scores",
        data="RealPersonaChat",
        columns=["annotator 1, human", "annotator 1, system", "annotator 2, human", "annotator 2, system"],
        rows=rows,
        note="Another experiment: ours are the partners' satisfaction with whole dialogues, so the same figures are in "
        f"the columns of both annotators. {RELEVANCE!r} stands in for BERT-NSP.",
    )


def _apart(own: Mapping[str, Figure]) -> Figure:
    """Difference of two independent figures: their resamples are paired at random."""
    human, system = own["human"], own["system"]
    order = np.random.default_rng(0).permutation(len(system.draws))
    return Figure(human.value - system.value, human.draws - system.draws[order])


def _published(title: str) -> str:
    return " ".join(f"{value:.3f}" for value in PUBLISHED.get(title, ()))
