"""How often the choice of the other systems turns the order of two bots, in all-play-all and in bipartite-play.

Sato, Kishinami, Sugiyama, Akama, Tokuhisa and Suzuki (2022), section 7 and Table 6: in all-play-all, the systems under
test are each other's partners, so whoever chooses the systems can overturn the order of two of them; bipartite-play,
whose partners are fixed, prevents it.

    python recipes/target_choice.py --data FOLDER --work FOLDER

Two series of bots play both schemes from the same openings (`imitated_bots.py`):

- **retrieval**: retrieval bots with logs of 100, 1,000, 10,000 and 70,000 pairs of DailyDialog, the largest spoiled in
  two ways (one of the fifty best replies; words dropped and shuffled), ELIZA and a parrot;
- **imitations**: of the ten bots that people rated in Ji et al. (2022), and two look-alikes of the one they rated best,
  each of which answers from one half of its log.

The fixed partners are imitations of the six bots of Spot the Bot. Dialogues are scored by `relevance(model='ready')`.

Openings are split into halves. In one half, the order of two bots is determined with all bots of their series as
targets. In the other half it is determined with only four targets: the two, and each choice of two others. Orders turn
by chance, too, so all-play-all is compared with two controls that have equally many dialogues, in other halves as well:

- the two bots talk with three random targets from each opening, instead of the same three (002/42: more turns with
  chosen targets than with random ones means that the choice matters);
- bipartite-play, where each talks with three random ones of the fixed partners from each opening, which no choice of
  targets can change (002/43).

Shares of turned pairs are means over all pairs, all choices and twenty splits into halves; intervals come from
resampled openings. What decides was chosen before any result was seen: the mean of both series, because the claims are
about any choice, not about one series. Also printed are Table 6 as in the paper (one unfavoured bot with two bots like
it, and each other bot as the favoured one), its net share of trials overturned in favour of the favoured bot, and the
share of pairs of known order that are in the wrong order.

WORK keeps dialogues and scores, and may be that of `schemes_people.py`, which has some of them. The exit code is 0, or
2 if data or models are missing.
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
    POOLS,
    RELEVANCE,
    Played,
    Series,
    imitate,
    imitations,
    ji_ranking,
    ji_replies,
    play_scheme,
    read_opening_turns,
    relevance,
    retrieval_series,
    score_all,
    spot_replies,
    tabulate,
)
from numpy.typing import NDArray
from rated_sets import data_folder
from results import Cell, Finding, Places, PublishedTable, add_measured_option, interval_by_unit, report_measured

from interloq import InterloqError
from interloq.play.bot import Bot
from interloq.play.openings import Opening
from interloq.records import Pair

OVERTURNS, PREVENTS, TABLE = "002/42", "002/43", "002/36"  # rows of docs/papers.md
SPLITS, DRAWS = 20, 20  # of openings into halves, of random partners
OTHERS = 2  # further targets, as in the paper
NET = 0.2  # share of trials overturned in the paper: two of ten in both of its series, none the other way round
PUBLISHED = {"retrieval": ((6.0, 0.0), (2.0, 2.0)), "imitations": ((1.0, 0.0), (2.0, 7.0))}  # DialoGPT, Blender
WINS, LOSES = "favoured wins", "favoured loses"


@dataclass(frozen=True, slots=True)
class Cast:
    """A series of bots: who is compared, who looks like whom, and which pairs have a known order."""

    name: str
    targets: Series
    fair: tuple[int, ...]  # without look-alikes made for Table 6
    unfavoured: int
    alike: tuple[int, ...]
    known: Sequence[tuple[int, int]]  # better, worse


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of a series [target, partner, opening]; NaN where there is no dialogue."""

    cast: Cast
    all_play_all: Floats
    bipartite: Floats
    random_targets: Floats  # mean score with some random partners from each opening [draw, target, opening]
    random_partners: Floats  # the same in bipartite-play
    halves: NDArray[np.bool_]  # [split, opening]

    def excess(self, openings: Places) -> float:
        """Return how much oftener pairs turn with chosen than with random targets."""
        return self.turned_by_choice(openings) - self.turned_by_chance(openings)

    def prevented(self, openings: Places) -> float:
        """Return how much oftener pairs turn in all-play-all with chosen targets than in bipartite-play."""
        return self.turned_by_choice(openings) - self.turned_in_bipartite(openings)

    def turned_by_choice(self, openings: Places) -> float:
        """Return the share of pairs whose order differs between all targets and each choice of four."""
        first, second, others = self._choices()
        shares = []
        for before, after in self._halves_of(openings):
            fair = _leads(self._fair_scores(before))[first, second]
            means = _mean_over_openings(self.all_play_all, after)
            lead = means[first, second] - means[second, first]
            for other in others.T:
                lead = lead + means[first, other] - means[second, other]
            shares.append(_share_turned(fair, lead))
        return float(np.mean(shares))

    def turned_by_chance(self, openings: Places) -> float:
        """Return the same share with random targets from each opening."""
        return self._share_with_random(openings, self._fair_scores, self.random_targets)

    def turned_in_bipartite(self, openings: Places) -> float:
        """Return the same share in bipartite-play, with as many of the fixed partners."""

        def with_all_partners(weights: Floats) -> Floats:
            return _mean_over_partners(_mean_over_openings(self.bipartite, weights))

        return self._share_with_random(openings, with_all_partners, self.random_partners)

    def _share_with_random(self, openings: Places, all_scores: Callable[[Floats], Floats], random: Floats) -> float:
        first, second = np.array(list(combinations(self.cast.fair, 2))).T
        shares = []
        for number, (before, after) in enumerate(self._halves_of(openings)):
            earlier = _leads(all_scores(before))[first, second]
            later = _leads(_mean_over_openings(random[number % DRAWS], after))[first, second]
            shares.append(_share_turned(earlier, later))
        return float(np.mean(shares))

    def wrong_by_choice(self, openings: Places) -> float:
        """Return the share of known pairs that a choice of four targets puts in the wrong order, less bipartite's."""
        weights = _weights(openings, self.all_play_all.shape[2])
        means = _mean_over_openings(self.all_play_all, weights)
        fixed = _mean_over_partners(_mean_over_openings(self.bipartite, weights))
        differences = []
        for better, worse in self.cast.known:
            rest = [i for i in range(len(self.cast.targets)) if i not in (better, worse)]
            wrong = []
            for chosen in combinations(rest, OTHERS):
                lead = means[better, worse] - means[worse, better]
                lead += means[better, list(chosen)].sum() - means[worse, list(chosen)].sum()
                wrong.append(lead <= 0)
            differences.append(float(np.mean(wrong)) - float(fixed[better] <= fixed[worse]))
        return float(np.mean(differences))

    def net_overturned(self, openings: Places) -> float:
        """Return the share of trials overturned in favour of the favoured bot, less those against it."""
        table = self.table(openings)
        return float((table[1, 0] - table[0, 1]) / table.sum())

    def table(self, openings: Places) -> Floats:
        """Return Table 6. Rows: the favoured bot wins or loses in the fair set; columns: in the unfair set."""
        means = _mean_over_openings(self.all_play_all, _weights(openings, self.all_play_all.shape[2]))
        unfavoured, alike = self.cast.unfavoured, list(self.cast.alike)
        counts = np.zeros((2, 2))
        for favoured in self.cast.fair:
            if favoured == unfavoured or favoured in alike:
                continue
            fair = [i for i in self.cast.fair if i == favoured or i not in alike]
            lead = _lead_among(means, favoured, unfavoured, fair)
            unfair_lead = _lead_among(means, favoured, unfavoured, [favoured, unfavoured, *alike])
            counts[int(lead <= 0), int(unfair_lead <= 0)] += 1
        return counts

    def _fair_scores(self, weights: Floats) -> Floats:
        """Return the means of all bots over the fair set."""
        return _mean_over_partners(_mean_over_openings(self.all_play_all, weights)[:, list(self.cast.fair)])

    def _choices(self) -> tuple[Places, Places, Places]:
        """Return all pairs of bots of the fair set with each choice of other targets."""
        rows = []
        for first, second in combinations(self.cast.fair, 2):
            rest = [i for i in range(len(self.cast.targets)) if i not in (first, second)]
            rows += [(first, second, *chosen) for chosen in combinations(rest, OTHERS)]
        table = np.array(rows)
        return table[:, 0], table[:, 1], table[:, 2:]

    def _halves_of(self, openings: Places) -> list[tuple[Floats, Floats]]:
        """Return the weights of openings in both halves of each split; empty halves are left out."""
        weights = _weights(openings, self.all_play_all.shape[2])
        found = []
        for half in self.halves:
            before, after = weights * half, weights * ~half
            if before.any() and after.any():
                found.append((before / before.sum(), after / after.sum()))
        return found


def _weights(openings: Places, number: int) -> Floats:
    counts = np.bincount(openings, minlength=number).astype(np.float64)
    return np.asarray(counts / counts.sum())


def _mean_over_openings(scores: Floats, weights: Floats) -> Floats:
    """Return the weighted mean over the last axis where there are scores; NaN if there are none."""
    has_score = ~np.isnan(scores)
    sizes = has_score @ weights
    sums = np.where(has_score, scores, 0.0) @ weights
    return np.asarray(np.divide(sums, sizes, out=np.full(sums.shape, np.nan), where=sizes > 0))


def _mean_over_partners(means: Floats) -> Floats:
    """Return the mean of each target over the partners it talked with; NaN if there are none."""
    return _mean_over_openings(means, np.ones(means.shape[1]))


def _leads(scores: Floats) -> Floats:
    return np.asarray(scores[:, None] - scores[None, :])


def _share_turned(before: Floats, after: Floats) -> float:
    return float(np.mean((before > 0) != (after > 0)))


def _lead_among(means: Floats, favoured: int, unfavoured: int, cast: Sequence[int]) -> float:
    def score(bot: int) -> float:
        return float(np.mean([means[bot, partner] for partner in cast if partner != bot]))

    return score(favoured) - score(unfavoured)


def with_random_partners(scores: Floats, targets: Sequence[int], partners: Sequence[int], number: int) -> Floats:
    """Return the mean score of targets with some random partners from each opening [draw, target, opening]."""
    rng = np.random.default_rng(0)
    openings = scores.shape[2]
    drawn = np.full((DRAWS, len(scores), openings), np.nan)
    for draw in range(DRAWS):
        for target in targets:
            for opening in range(openings):
                met = [partner for partner in partners if not np.isnan(scores[target, partner, opening])]
                chosen = rng.choice(met, min(number, len(met)), replace=False)
                if met:
                    drawn[draw, target, opening] = scores[target, chosen, opening].mean()
    return drawn


# ---- casts -----------------------------------------------------------------------------------------------------------


def retrieval_cast(data: Path, work: Path) -> Cast:
    """Return the series of retrieval bots; the unfavoured one and those like it differ in the size of their log."""
    targets = retrieval_series(data, work)
    names = list(targets)
    sizes = [names.index(f"pool {size}") for size in POOLS]
    known = [(better, worse) for worse, better in combinations(sizes, 2)]
    known += [(sizes[-1], names.index(name)) for name in ("top fifty", "mixed up", "echo")]
    return Cast("retrieval", targets, tuple(range(len(names))), sizes[2], (sizes[1], sizes[3]), known)


def imitated_cast(data: Path, work: Path) -> Cast:
    """Return the imitations of Ji et al.'s bots with two look-alikes of the one that people rated best."""
    replies, people = ji_replies(data), ji_ranking(data)
    targets: dict[str, Bot] = dict(imitations(replies, work))
    best = max(people, key=lambda name: people[name])
    halves: tuple[list[Pair], list[Pair]] = ([], [])
    for number, pair in enumerate(replies[best]):
        halves[number % 2].append(pair)
    for number, half in enumerate(halves, start=1):
        name = f"{best} half {number}"
        targets[name] = imitate(half, work / "bots" / name)
    names = list(targets)
    fair = tuple(range(len(people)))
    known = []
    for first, second in combinations(people, 2):
        better, worse = (first, second) if people[first] > people[second] else (second, first)
        known.append((names.index(better), names.index(worse)))
    return Cast("imitations", targets, fair, names.index(best), (len(names) - 2, len(names) - 1), known)


def score_cast(cast: Cast, partners: Series, openings: Sequence[Opening], work: Path) -> Scores:
    """Play and score both schemes; look-alikes need no bipartite-play."""
    names, others = list(cast.targets), list(partners)
    fair = {names[i]: cast.targets[names[i]] for i in cast.fair}
    dialogues = play_scheme(work / "choice", ALL_PLAY_ALL, cast.targets, openings)
    values = score_all(work / "choice", ALL_PLAY_ALL, dialogues, relevance)[RELEVANCE]
    chosen = _as_array(tabulate(dialogues, values, names, names, openings), (len(names), len(names), len(openings)))
    dialogues = play_scheme(work, BIPARTITE, fair, openings, partners=partners)
    values = score_all(work, BIPARTITE, dialogues, relevance)[RELEVANCE]
    fixed = _as_array(tabulate(dialogues, values, names, others, openings), (len(fair), len(others), len(openings)))
    rng = np.random.default_rng(0)
    halves = np.zeros((SPLITS, len(openings)), dtype=bool)
    for half in halves:
        half[rng.permutation(len(openings))[: len(openings) // 2]] = True
    number = 1 + OTHERS
    random_targets = with_random_partners(chosen, cast.fair, cast.fair, number)
    random_partners = with_random_partners(fixed, cast.fair, range(len(others)), number)
    return Scores(cast, chosen, fixed, random_targets, random_partners, halves)


def _as_array(played: Played, shape: tuple[int, int, int]) -> Floats:
    scores = np.full(shape, np.nan)
    scores[played.target, played.partner, played.opening] = played.value
    return scores


# ---- findings --------------------------------------------------------------------------------------------------------

Statistic = Callable[[Scores, Places], float]
STATISTICS: Sequence[tuple[str, str, Statistic, float | None, bool]] = (
    (OVERTURNS, "pairs turned in all-play-all: chosen − random targets", Scores.excess, None, True),
    (OVERTURNS, "Table 6: overturned for − against the favoured bot", Scores.net_overturned, NET, False),
    (PREVENTS, "pairs turned: all-play-all with chosen targets − bipartite-play", Scores.prevented, None, True),
    (PREVENTS, "known pairs in the wrong order: all-play-all − bipartite-play", Scores.wrong_by_choice, None, False),
)


def all_findings(series: Sequence[Scores], openings: int) -> list[Finding]:
    """Return every finding, over both series and for each of them."""
    units = [str(opening) for opening in range(openings)]
    groups: list[tuple[str, Sequence[Scores]]] = [("both series", series)]
    groups += [(scores.cast.name, [scores]) for scores in series]
    found = []
    for item, way, statistic, published, decides in STATISTICS:
        for name, group in groups:

            def mean(places: Places, group: Sequence[Scores] = group, statistic: Statistic = statistic) -> float:
                return float(np.mean([statistic(scores, places) for scores in group]))

            value, ci, number = interval_by_unit(units, mean)
            found.append(
                Finding(
                    item=item,
                    way=f"{way}, {name}",
                    value=value,
                    ci=ci,
                    units=number,
                    unit="openings",
                    data=", ".join(f"{len(scores.cast.targets)} bots ({scores.cast.name})" for scores in group),
                    published=published,
                    decides=decides and len(group) > 1,
                )
            )
    return found


def shares_table(series: Sequence[Scores], openings: int) -> PublishedTable:
    """Return the shares themselves, which the findings compare."""
    units = [str(opening) for opening in range(openings)]
    shares: Mapping[str, Statistic] = {
        "all-play-all, chosen targets": Scores.turned_by_choice,
        "all-play-all, random targets": Scores.turned_by_chance,
        "bipartite-play": Scores.turned_in_bipartite,
    }
    rows: dict[str, Sequence[Cell]] = {}
    for name, statistic in shares.items():
        cells = []
        for scores in series:

            def share(places: Places, scores: Scores = scores, statistic: Statistic = statistic) -> float:
                return statistic(scores, places)

            value, ci, _ = interval_by_unit(units, share)
            cells.append(Cell(ours=value, ci=ci))
        rows[name] = cells
    return PublishedTable(
        item=TABLE,
        title="Share of pairs whose order turns between two halves of the openings (not in the paper)",
        data=f"{openings} openings, relevance",
        columns=[scores.cast.name for scores in series],
        rows=rows,
    )


def table_6(scores: Scores, openings: int) -> PublishedTable:
    """Return Table 6 for one series."""
    cast, names = scores.cast, list(scores.cast.targets)
    ours, published = scores.table(np.arange(openings)), PUBLISHED[cast.name]
    rows: dict[str, Sequence[Cell]] = {}
    for row, name in enumerate((f"fair: {WINS}", f"fair: {LOSES}")):
        rows[name] = [Cell(published=published[row][column], ours=float(ours[row, column])) for column in range(2)]
    alike = " and ".join(names[i] for i in cast.alike)
    return PublishedTable(
        item=TABLE,
        title=f"Favoured against unfavoured system, {'DialoGPT' if cast.name == 'retrieval' else 'Blender'} series",
        data=f"{cast.name}: unfavoured {names[cast.unfavoured]}, like it {alike}",
        columns=[f"unfair: {WINS}", f"unfair: {LOSES}"],
        rows=rows,
        note="Numbers of favoured systems; other bots than in the paper, scored by relevance.",
    )


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    args = _parser().parse_args(argv)
    try:
        data, work = data_folder(args.data), Path(args.work)
        openings = read_opening_turns(data, args.openings)
        partners = imitations(spot_replies(data), work / "spot")
        casts = {"retrieval": retrieval_cast(data, work / "retrieval"), "ji": imitated_cast(data, work / "ji")}
        series = [score_cast(cast, partners, openings, work / folder) for folder, cast in casts.items()]
    except InterloqError as error:
        print(f"target_choice: {error}", file=sys.stderr)
        return 2
    findings = all_findings(series, len(openings))
    tables = [*(table_6(scores, len(openings)) for scores in series), shares_table(series, len(openings))]
    report_measured(args.measured, findings, tables, started)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="the data sets (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/schemes", metavar="FOLDER", help="dialogues and scores (out/schemes)")
    parser.add_argument("--openings", type=int, default=16, metavar="N", help="openings per pair of bots (16)")
    add_measured_option(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
