"""Self-play, all-play-all and bipartite-play against people's rankings of sixteen bots.

Sato, Kishinami, Sugiyama, Akama, Tokuhisa and Suzuki (2022), section 6.2 and Table 3: rankings from all-play-all agree
better with people than rankings from self-play, and rankings from bipartite-play as well as those from all-play-all.
Everything here is agreement over systems; agreement over single dialogues is in `fed_variants.py`.

    python recipes/schemes_people.py --data FOLDER --work FOLDER --model smollm2

**Recorded dialogues.** In Spot the Bot, six bots talked with each other, 45 dialogues per pair, and people ranked them
by how often they took them for human. Any two of the six can be the fixed partners of the other four: for each of these
15 choices, the four are ranked once by their dialogues with each other (all-play-all), and once by those with the two
partners (bipartite-play). No bot talked with itself there, so self-play cannot be sampled. In Ji et al. (2022), ten
bots talked with people only: a fixed set of partners, but nothing to compare it with.

**Imitations.** The bots cannot be run here, so each of the sixteen is imitated by a bot that answers with what it said
(`imitated_bots.py`). Imitations play all three schemes from the same openings, and their rankings are compared with
people's rankings of the bots that they imitate. The imitations of one study are the fixed partners of those of the
other. A bot has the same number of dialogues in self-play and in bipartite-play.

Dialogues are scored by `relevance(model='ready')`, which never learned from ratings (the packaged judges learned from
both studies), as the mean over the target's utterances. `--fed-openings N` also scores the dialogues of N openings by
FED with negative follow-ups, on the target's last utterance only; intervals need ten openings or more, which takes
hours on two cores. "As good as" means not worse by more than .05.

What decides on bipartite-play was chosen before any result was seen: the recorded dialogues by `relevance`, because
they are the real bots' own. Self-play was not recorded, so the imitations of Ji et al.'s ten bots were to decide on it.
But imitations keep a bot's manner and not its coherence, and what they say to each other ranks them as people do by
chance (.30 [−.19, .32]), so they cannot stand in for the bots, and nothing here decides.

WORK keeps dialogues and scores, so an interrupted run resumes. The exit code is 0, or 2 if data or models are missing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from fed_follow_ups import Floats
from imitated_bots import (
    ALL_PLAY_ALL,
    BIPARTITE,
    METRIC,
    RELEVANCE,
    SELF_PLAY,
    Played,
    Series,
    given_turns,
    imitations,
    ji_ranking,
    ji_replies,
    last_fed,
    play_scheme,
    read_opening_turns,
    relevance,
    score_all,
    spot_ranking,
    spot_replies,
    system_means,
    tabulate,
)
from rated_sets import data_folder
from results import Cell, Finding, Places, PublishedTable, add_measured_option, interval_by_unit, report_measured
from spot_the_bot import read_dialogues, scored

from interloq import InterloqError, load, write
from interloq.agree.dialogue_scores import dialogue_scores
from interloq.play.openings import Opening
from interloq.statistics.correlation import spearman_rows

BEATS_SELF_PLAY, AS_GOOD, SYSTEMS, TABLE = "002/38", "002/39", "002/32", "002/33"  # rows of docs/papers.md
MARGIN = 0.05  # a rank correlation that is lower by less than this counts as equally good
PARTNERS = 2  # of the six recorded bots
PUBLISHED: Mapping[str, tuple[float, float, float]] = {
    SELF_PLAY: (0.83, 0.70, 0.77),
    ALL_PLAY_ALL: (0.90, 0.75, 0.85),
    BIPARTITE: (0.90, 0.75, 0.85),
}
FED_COLUMNS = ("FED specificity", "FED sensibleness", "FED overall")
SPOT, JI = "Spot the Bot", "Ji et al. (2022)"
FED_NOTE = "FED with negative follow-ups, on the last utterance of each dialogue."
NO_FED_NOTE = "Not scored by FED, which is slow on a processor: `--fed-openings` scores some openings by it too."
GAIN = float(np.mean(PUBLISHED[ALL_PLAY_ALL])) - float(np.mean(PUBLISHED[SELF_PLAY]))


# ---- recorded dialogues ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recorded:
    """Scores of both sides of recorded dialogues."""

    dialogue: Sequence[str]
    played: Played
    human: Floats

    def compare(self, places: Places) -> float:
        """Return by how much bipartite-play agrees better with people than all-play-all, over all partner sets."""
        return self.agreement(True, places) - self.agreement(False, places)

    def agreement(self, bipartite: bool, places: Places) -> float:
        """Return the mean agreement of one scheme with people over all partner sets."""
        return float(np.mean([self._agreement(places, chosen, bipartite) for chosen in self._partner_sets()]))

    def all_six(self, places: Places) -> float:
        """Return the agreement of an all-play-all of all bots."""
        means = system_means(self.played.target[places], self.played.value[places], len(self.human))
        return _spearman(means, self.human)

    def _partner_sets(self) -> list[tuple[int, ...]]:
        return list(combinations(range(len(self.human)), PARTNERS))

    def _agreement(self, places: Places, chosen: tuple[int, ...], bipartite: bool) -> float:
        targets = [i for i in range(len(self.human)) if i not in chosen]
        partners = chosen if bipartite else targets
        target, partner = self.played.target[places], self.played.partner[places]
        use = np.isin(target, targets) & np.isin(partner, partners)
        means = system_means(target[use], self.played.value[places][use], len(self.human))
        return _spearman(means[targets], self.human[targets])


def read_recorded(data: Path, work: Path) -> Recorded:
    """Return the recorded dialogues of Spot the Bot with their relevance, which is kept in `work`."""
    ranking = spot_ranking(data)
    names = list(ranking)
    dialogues = read_dialogues(data)
    path = work / "recorded.scores.jsonl"
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        write(path, scored(dialogues, [METRIC]), kind="scores")
    scores = load(path, kind="scores")
    rows = [row for row in dialogue_scores(scores, dialogues) if not np.isnan(row.value)]
    target = np.array([names.index(row.system) for row in rows])
    partner = np.array([names.index(row.partner) for row in rows])
    played = Played(target, partner, np.zeros(len(rows), dtype=np.int64), np.array([row.value for row in rows]))
    return Recorded([row.dialogue for row in rows], played, np.array(list(ranking.values())))


def recorded_findings(recorded: Recorded) -> list[Finding]:
    """Return what the recorded dialogues say about bipartite-play."""
    data = f"{SPOT}, 675 recorded dialogues of six bots, four ranked at a time"
    value, ci, units = interval_by_unit(recorded.dialogue, recorded.compare)
    return [
        Finding(
            item=AS_GOOD,
            way="bipartite − all-play-all, real bots, relevance, mean over 15 sets of two partners",
            value=value,
            ci=ci,
            units=units,
            unit="dialogues",
            data=data,
            threshold=-MARGIN,
            decides=True,
        ),
        Finding(
            item=BEATS_SELF_PLAY,
            way="all-play-all − self-play, real bots",
            value=None,
            ci=None,
            units=0,
            unit="dialogues",
            data=SPOT,
            published=GAIN,
            decides=True,
            note="no bot talked with itself in either study; imitations of the bots, which were to decide, cannot "
            "stand in for them: their all-play-all agrees with people by chance",
        ),
    ]


def recorded_table(recorded: Recorded) -> PublishedTable:
    """Return the agreement of the recorded bots' rankings with people."""
    statistics: Mapping[str, Callable[[Places], float]] = {
        f"{ALL_PLAY_ALL}, all six": recorded.all_six,
        f"{ALL_PLAY_ALL}, four": lambda places: recorded.agreement(False, places),
        f"{BIPARTITE}, four with two partners": lambda places: recorded.agreement(True, places),
    }
    rows: dict[str, Sequence[Cell]] = {}
    for name, statistic in statistics.items():
        value, ci, _ = interval_by_unit(recorded.dialogue, statistic)
        rows[name] = [Cell(ours=value, ci=ci)]
    return PublishedTable(
        item=TABLE,
        title="Spearman with people over the real bots (not in the paper)",
        data=f"{SPOT}, 675 recorded dialogues",
        columns=[RELEVANCE],
        rows=rows,
        note="Means over all 15 choices of two of the six bots as partners.",
    )


# ---- imitations ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranked:
    """Scores of the imitations of one study by scheme and metric, all from the same openings."""

    name: str
    human: Floats
    schemes: Mapping[str, Mapping[str, Played]]
    openings: int

    def agreement(self, scheme: str, metric: str, openings: Places) -> float:
        """Return Spearman's coefficient with people over bots, from the dialogues of these openings."""
        played = self.schemes[scheme][metric]
        weights = np.bincount(openings, minlength=self.openings)[played.opening].astype(np.float64)
        sums = np.bincount(played.target, played.value * weights, len(self.human))
        return _spearman(sums / np.bincount(played.target, weights, len(self.human)), self.human)


def rank_imitations(
    name: str,
    targets: Series,
    partners: Series,
    human: Mapping[str, float],
    openings: Sequence[Opening],
    work: Path,
    model: str,
    cache: Path,
    fed_openings: int,
) -> Ranked:
    """Play the imitations in all three schemes and score them."""
    names, others = list(targets), list(partners)
    schemes: dict[str, dict[str, Played]] = {}
    for scheme in (SELF_PLAY, ALL_PLAY_ALL, BIPARTITE):
        dialogues = play_scheme(
            work,
            scheme,
            targets,
            openings,
            partners=partners if scheme == BIPARTITE else None,
            repeats=len(others) if scheme == SELF_PLAY else 1,
        )
        partner_names = others if scheme == BIPARTITE else names
        scores = score_all(work, scheme, dialogues, relevance)
        by_metric = {RELEVANCE: tabulate(dialogues, scores[RELEVANCE], names, partner_names, openings)}
        first = {opening.turns for opening in openings[:fed_openings]}
        some = [dialogue for dialogue in dialogues if given_turns(dialogue) in first]
        fed = score_all(work, f"{scheme}-fed", some, last_fed(model, cache)) if some else {}
        for metric, values in fed.items():
            by_metric[metric] = tabulate(some, values, names, partner_names, openings)
        schemes[scheme] = by_metric
    return Ranked(name, np.array([human[bot] for bot in names]), schemes, len(openings))


def imitation_findings(ranked: Ranked) -> list[Finding]:
    """Return the differences between schemes for one series of imitations."""
    found = []
    comparisons = (
        (BEATS_SELF_PLAY, ALL_PLAY_ALL, SELF_PLAY, GAIN, 0.0),
        (AS_GOOD, BIPARTITE, ALL_PLAY_ALL, None, -MARGIN),
        (BEATS_SELF_PLAY, BIPARTITE, SELF_PLAY, GAIN, 0.0),
    )
    for metric in ranked.schemes[SELF_PLAY]:
        used = _openings_of(ranked, metric)
        for item, better, worse, published, threshold in comparisons:

            def difference(
                places: Places, metric: str = metric, better: str = better, worse: str = worse, used: Places = used
            ) -> float:
                openings = used[places]
                return ranked.agreement(better, metric, openings) - ranked.agreement(worse, metric, openings)

            value, ci, units = interval_by_unit([str(opening) for opening in used], difference)
            found.append(
                Finding(
                    item=item,
                    way=f"{better} − {worse}, imitations, {metric}",
                    value=value,
                    ci=ci,
                    units=units,
                    unit="openings",
                    data=f"imitations of {ranked.name}, {len(ranked.human)} bots, {_count(ranked, metric):,} dialogues",
                    published=published,
                    threshold=threshold,
                )
            )
    return found


def table(ranked: Ranked) -> PublishedTable:
    """Return Table 3 with the figures of one series."""
    rows: dict[str, Sequence[Cell]] = {}
    for scheme, published in PUBLISHED.items():
        cells = []
        for number, metric in enumerate((*FED_COLUMNS, RELEVANCE)):
            theirs = published[number] if number < len(published) else None
            if metric not in ranked.schemes[scheme]:
                cells.append(Cell(published=theirs))
                continue
            used = _openings_of(ranked, metric)

            def agreement(places: Places, scheme: str = scheme, metric: str = metric, used: Places = used) -> float:
                return ranked.agreement(scheme, metric, used[places])

            value, ci, _ = interval_by_unit([str(opening) for opening in used], agreement)
            cells.append(Cell(published=theirs, ours=value, ci=ci))
        rows[scheme] = cells
    return PublishedTable(
        item=TABLE,
        title="Spearman with people over systems, by scheme",
        data=f"imitations of the {len(ranked.human)} bots of {ranked.name}",
        columns=["Specificity", "Sensibleness", "Overall", "relevance (not in the paper)"],
        rows=rows,
        note=FED_NOTE if FED_COLUMNS[0] in ranked.schemes[SELF_PLAY] else NO_FED_NOTE,
    )


def systems_table(ranked: Sequence[Ranked]) -> PublishedTable:
    """Return the size of the experiment: Table 2 lists the systems, section 6.1 the numbers of dialogues."""
    published: Mapping[str, tuple[int, int]] = {SELF_PLAY: (11, 1_000), ALL_PLAY_ALL: (110, 600), BIPARTITE: (264, 600)}
    cells: dict[str, list[Cell]] = {"evaluation targets": [], "partner systems": []}
    for series in ranked:
        cells["evaluation targets"].append(Cell(published=11, ours=len(series.human)))
        partners = len(np.unique(series.schemes[BIPARTITE][RELEVANCE].partner))
        cells["partner systems"].append(Cell(published=24, ours=partners))
        for scheme, (pairs, dialogues) in published.items():
            played = series.schemes[scheme][RELEVANCE]
            number = len({*zip(played.target.tolist(), played.partner.tolist(), strict=True)})
            cells.setdefault(f"pairs, {scheme}", []).append(Cell(published=pairs, ours=number))
            each = len(played.value) / number
            cells.setdefault(f"dialogues per pair, {scheme}", []).append(Cell(published=dialogues, ours=each))
    return PublishedTable(
        item=SYSTEMS,
        title="Number of systems, pairs and dialogues",
        data="imitations of recorded bots",
        columns=[f"imitations of {series.name}" for series in ranked],
        rows=dict(cells),
        note="The paper lists Transformers, DialoGPT, PolyEncoders, BART and FiD of 88M to 3B weights. Ours answer "
        "with what the bots of two studies said: six of ConvAI2 in Spot the Bot, and A to E of Ji et al., each also as "
        "a second version (A_p to E_p).",
    )


def _openings_of(ranked: Ranked, metric: str) -> Places:
    """Return the openings whose dialogues were scored by a metric in every scheme."""
    common: set[int] = set(range(ranked.openings))
    for by_metric in ranked.schemes.values():
        common &= set(by_metric[metric].opening.tolist())
    return np.array(sorted(common), dtype=np.int64)


def _count(ranked: Ranked, metric: str) -> int:
    return sum(len(by_metric[metric].value) for by_metric in ranked.schemes.values())


def _spearman(scores: Floats, human: Floats) -> float:
    if np.isnan(scores).any():
        return float("nan")
    return float(spearman_rows(scores[None], human[None])[0])


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    args = _parser().parse_args(argv)
    try:
        data, work = data_folder(args.data), Path(args.work)
        openings = read_opening_turns(data, args.openings)
        spot = imitations(spot_replies(data), work / "spot")
        ji = imitations(ji_replies(data), work / "ji")
        recorded = read_recorded(data, work)
        findings, tables, by_series = recorded_findings(recorded), [recorded_table(recorded)], []
        series = ((JI, ji, spot, ji_ranking(data), "ji"), (SPOT, spot, ji, spot_ranking(data), "spot"))
        for name, targets, partners, human, folder in series:
            ranked = rank_imitations(
                name, targets, partners, human, openings, work / folder, args.model, work, args.fed_openings
            )
            findings += imitation_findings(ranked)
            tables.append(table(ranked))
            by_series.append(ranked)
    except InterloqError as error:
        print(f"schemes_people: {error}", file=sys.stderr)
        return 2
    report_measured(args.measured, findings, [systems_table(by_series), *tables], started)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="the data sets (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/schemes", metavar="FOLDER", help="dialogues and scores (out/schemes)")
    parser.add_argument("--model", default="smollm2", metavar="NAME", help="a causal language model for FED (smollm2)")
    parser.add_argument("--openings", type=int, default=16, metavar="N", help="openings per pair of bots (16)")
    parser.add_argument("--fed-openings", type=int, default=0, metavar="N", help="of these, scored by FED too (0)")
    add_measured_option(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
