"""Compare three ways of collecting dialogues, with real bots whose order is partly known in advance.

Sato, Kishinami, Sugiyama, Akama, Tokuhisa and Suzuki (2022), "Bipartite-play Dialogue Collection for Practical
Automatic Evaluation of Dialogue Systems", Table 3: FED ranks eleven systems after self-play, all-play-all and
bipartite-play; Spearman with people. There are no human ratings here. Instead, some bots must be better than others by
construction: four language models that differ only in the number of training pairs (0 to 250,000), one of them at a
high temperature and one with its words shuffled, BM25 retrieval, ELIZA and a parrot. Reported are the share of those
known pairs that a ranking orders correctly (a tie counts half, so chance is one half), over all pairs and among the
four, and Spearman with the budget among the four. The published figures are printed for comparison and need not agree:
the bots and the judge differ, and a budget is not a human rating. `schemes_people.py` compares the schemes with
people's rankings, and `target_choice.py` asks how much the choice of targets matters.

    python recipes/bipartite.py --data FOLDER --work FOLDER                    # or INTERLOQ_DATA=FOLDER
    python recipes/bipartite.py --data FOLDER --work FOLDER --lm FOLDER --relevance FOLDER

The data folder contains `dailydialog`, unpacked or as .tar.gz, and `reddit_pairs.jsonl.xz` (without it, give lower
`--budgets`). Openings are the first two utterances of test dialogues that are in no DailyDialog log used here. FED and
perplexity need a language model that does not take part: one with another start and shape is trained for it, or
`--judge` names one. With `--lm` a chat model takes part at two temperatures and, adapted to all the pairs, as `tuned`;
its tokenizer is used for all the small models, and it is the judge unless `--judge` is given, so it also judges itself.
In self-play, repeats give each bot as many dialogues as in bipartite-play.

The stages are prepare, train, play and score. All results are kept in the work folder, and the same command resumes.
`--only STAGE` runs one stage, so that training can be done on another machine. `--model NAME` trains only these models
and `--scheme NAME` plays only these schemes, so that a large machine can run several in parallel. Scoring again needs
only the dialogues and, for what was not scored yet, the judge. The exit code is 0, or 2 if data are missing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from bipartite_bots import CONTEXT, QUICK, Job, Sizes, known_order, made, partners, report, targets
from bipartite_making import prepare, train, trained
from bipartite_tables import show

from interloq import Dialogue, InputError, InterloqError, Score, load, write
from interloq.agree.dialogue_scores import DialogueScore, dialogue_scores
from interloq.data.follow_ups import read_follow_ups
from interloq.data.records.jsonl import header
from interloq.metrics.metric import Array
from interloq.play.bot import Bot
from interloq.play.openings import Opening, read_openings
from interloq.play.partners import load_partners, partner_set, save_partners
from interloq.play.play_options import SCHEMES, PlanOptions
from interloq.play.run import plan, play
from interloq.play.samples import samples
from interloq.play.talk import close_all, failures, kind_of
from interloq.rank.rank import rank
from interloq.rank.ranking import Standing
from interloq.score.evaluate import evaluate_all
from interloq.signature import file_fingerprint
from interloq.statistics.resampling import bootstrap_counts, percentile_interval
from interloq.terminal.console import print_json

STAGES = ("prepare", "train", "play", "score")
DIMENSIONS = ("specificity", "sensibleness", "overall")
SETS = ("negative_only", "both")
LOG_PERPLEXITY = "log perplexity"  # a mean of perplexities would be dominated by a few broken replies
# scheme → Spearman of FED with people, by dimension
PUBLISHED: Mapping[str, tuple[float, float, float]] = {
    "self-play": (0.83, 0.70, 0.77),
    "all-play-all": (0.90, 0.75, 0.85),
    "bipartite": (0.90, 0.75, 0.85),
}
DECIMALS = 12  # of means, so that equal means are tied regardless of the order of summation


@dataclass(frozen=True, slots=True)
class Share:
    """Share of known pairs that a ranking orders correctly; `pairs` counts only those with two scores."""

    value: float
    ci: tuple[float, float]
    pairs: int


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric after one scheme."""

    scheme: str
    metric: str
    agreement: Share
    group: Share
    spearman: float  # with the budget, among the four
    spearman_ci: tuple[float, float] | None
    published: float | None
    standings: tuple[Standing, ...]


# ---- play ------------------------------------------------------------------------------------------------------------


def play_all(job: Job) -> dict[str, dict[str, int]]:
    """Play every scheme from the same openings; finished dialogues are not played again."""
    openings = read_openings(job.work / "openings.jsonl")
    judged, others = made(targets(job)), made(partners(job))
    known = partner_set(others, openings, exchanges=job.sizes.exchanges, source="openings.jsonl")
    _check_partners(job.work / "partners.json", known.hash)
    save_partners(job.work / "partners.json", known)
    counts = {}
    try:
        for scheme in job.schemes:
            counts[scheme] = _play(job, scheme, judged, others, openings)
    finally:
        close_all([*judged.values(), *others.values()])
    return counts


def _play(
    job: Job, scheme: str, judged: Mapping[str, Bot], others: Mapping[str, Bot], openings: Sequence[Opening]
) -> dict[str, int]:
    repeats = job.repeats * (len(others) if scheme == "self-play" else 1)
    planned = plan(
        judged,
        openings,
        PlanOptions(scheme=scheme, repeats=repeats, limit=job.openings),
        exchanges=job.sizes.exchanges,
        partners=others if scheme == "bipartite" else None,
    )
    tally = play(planned, dialogues_file(job, scheme))
    report(f"{scheme}: {tally.dialogues:,} dialogues, {tally.resumed:,} of them from earlier runs")
    return {"dialogues": tally.dialogues, "resumed": tally.resumed}


def _check_partners(path: Path, seen: str) -> None:
    """Compare signatures, not folders: the work folder may be moved."""
    if path.exists() and (before := load_partners(path).hash) != seen:
        raise InputError(f"the partner set was {before}, now it is {seen}", hint="name another --work", where=str(path))


def dialogues_file(job: Job, scheme: str) -> Path:
    return job.work / f"{scheme}.jsonl"


# ---- score -----------------------------------------------------------------------------------------------------------


def metrics(job: Job) -> dict[str, str]:
    """Name → spec. The small judge was trained on pairs, so it reads only the end of a dialogue."""
    longest = 1_024 if job.judge or job.lm else 4 * CONTEXT
    known = read_follow_ups("en").dimensions
    judge = f"model={job.judge_folder!r},layout={job.layout!r},longest={longest}"
    found = {
        f"fed {dimension} {sets}": f"fed({judge},dimension={dimension!r},sets={sets!r})"
        for dimension in DIMENSIONS
        for sets in (SETS if known[dimension].positive else SETS[:1])
    }
    if job.relevance:
        found["relevance"] = f"relevance(model={job.relevance!r})"
    return found | {LOG_PERPLEXITY: f"perplexity({judge},log=True)", "length": "length"}


def scored(job: Job, scheme: str, dialogues: Sequence[Dialogue]) -> dict[str, list[Score]]:
    """Scores of every utterance of the targets by every metric; existing scores are read from disk."""
    played = file_fingerprint(dialogues_file(job, scheme))
    facts = {name: {"dialogues": played, **_judge(job, spec)} for name, spec in metrics(job).items()}
    paths = {name: job.work / "scores" / f"{scheme}.{name.replace(' ', '-')}.jsonl" for name in facts}
    found = {name: load(path, kind="scores") for name, path in paths.items() if _fresh(path, facts[name])}
    todo = {name: spec for name, spec in metrics(job).items() if name not in found}
    if todo:
        report(f"{scheme}: scoring by {', '.join(todo)}")
        judged = list(samples(dialogues))
        for name, results in zip(todo, evaluate_all(list(todo.values()), judged, n_bootstrap=0), strict=True):
            result = results[""]
            found[name] = list(result.scores(name))
            paths[name].parent.mkdir(exist_ok=True)
            write(paths[name], found[name], kind="scores", signature=result.signature, **facts[name])
    return {name: found[name] for name in paths}


def _judge(job: Job, spec: str) -> dict[str, str]:
    """Fields of a metric without its model folder, and the fingerprint of the weights; "" if they are not here."""
    from interloq.models.pretrained import weights_fingerprint

    folder = next((name for name in (job.relevance, job.judge_folder) if name and repr(name) in spec), "")
    local = folder and any(Path(folder).glob("*.safetensors"))
    return {
        "judge": weights_fingerprint(Path(folder)) if local else "",
        "settings": spec.replace(repr(folder), "''") if folder else spec,
    }


def _fresh(path: Path, facts: Mapping[str, str]) -> bool:
    """Whether scores of these dialogues by this judge exist; weights that are not here are assumed unchanged."""
    before = header(path) if path.exists() else {}
    same = all(before.get(name) == facts[name] for name in ("dialogues", "settings"))
    return same and facts["judge"] in ("", before.get("judge"))


def figures(job: Job, scheme: str, dialogues: Sequence[Dialogue]) -> Iterator[Figure]:
    known, group = known_order(job), job.group
    inside = [pair for pair in known if pair[0] in group and pair[1] in group]
    for name, scores in scored(job, scheme, dialogues).items():
        rows = dialogue_scores(scores, dialogues, metric=name)
        lower = name == LOG_PERPLEXITY
        people = {name: float(place) for place, name in enumerate(group)}
        ranking = rank(rows, lower_is_better=lower, n_bootstrap=job.resamples, human=people)
        spearman = ranking.human["spearman"]
        yield Figure(
            scheme,
            name,
            agreement(rows, known, lower_is_better=lower, resamples=job.resamples),
            agreement(rows, inside, lower_is_better=lower, resamples=job.resamples),
            spearman.value,
            spearman.ci,
            _published(scheme, name),
            ranking.standings,
        )


def agreement(
    rows: Sequence[DialogueScore], known: Sequence[tuple[str, str]], *, lower_is_better: bool, resamples: int
) -> Share:
    """Share of known pairs in which the better bot has the better mean; occasions are resampled, as in `rank`."""
    scored = [row for row in rows if not np.isnan(row.value)]
    names = sorted({name for pair in known for name in pair})
    systems = {name: i for i, name in enumerate(names)}
    occasions = sorted({row.occasion for row in scored})
    units = {name: i for i, name in enumerate(occasions)}
    sums, sizes = np.zeros((len(units), len(systems))), np.zeros((len(units), len(systems)))
    for row in scored:
        if row.system in systems:
            cell = units[row.occasion], systems[row.system]
            sums[cell] += -row.value if lower_is_better else row.value
            sizes[cell] += 1
    better = np.array([systems[name] for name, _ in known], dtype=np.intp)
    worse = np.array([systems[name] for _, name in known], dtype=np.intp)
    right = _right(sums.sum(axis=0)[None], sizes.sum(axis=0)[None], better, worse)[0]
    drawn = [
        np.nanmean(_right(counts @ sums, counts @ sizes, better, worse), axis=1)
        for counts in bootstrap_counts(len(units), resamples, seed=0)
    ]
    pairs = int((~np.isnan(right)).sum())
    return Share(float(np.nanmean(right)), percentile_interval(np.concatenate(drawn)), pairs)


def _right(sums: Array, sizes: Array, better: Any, worse: Any) -> Array:
    """1, 0, or ½ for a tie, for each known pair; NaN if one of the two has no score."""
    means = np.round(sums / np.where(sizes == 0, np.nan, sizes), DECIMALS)
    return np.asarray((np.sign(means[:, better] - means[:, worse]) + 1) / 2)


def _published(scheme: str, metric: str) -> float | None:
    """The paper's figure: its FED uses only negative follow-ups."""
    named = {f"fed {dimension} negative_only": i for i, dimension in enumerate(DIMENSIONS)}
    return PUBLISHED[scheme][named[metric]] if metric in named else None


def results(job: Job, played: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "known": known_order(job),
        "partner_set": load_partners(job.work / "partners.json").hash,
        "partners": [partner.name for partner in load_partners(job.work / "partners.json").partners],
        "judge": Path(job.judge_folder).name,
        "trained": trained(job),
        "schemes": {},
    }
    for scheme in job.schemes:
        dialogues = load(_existing(dialogues_file(job, scheme)), kind="dialogues")
        bad = Counter((bot, kind_of(what)) for dialogue in dialogues for bot, what in failures(dialogue))
        own = sum(len(dialogue.turns) - dialogue.given for dialogue in dialogues)
        found["schemes"][scheme] = {
            "dialogues": len(dialogues),
            "utterances": own,
            "with_failures": sum(bool(dialogue.failure) for dialogue in dialogues),
            "played": played.get(scheme),
            "failures": [[bot, what, n] for (bot, what), n in sorted(bad.items())],
            "figures": [asdict(figure) for figure in figures(job, scheme, dialogues)],
        }
    return found


def _existing(path: Path) -> Path:
    if not path.exists():
        raise InputError(f"no {path.name} in {str(path.parent)!r}", hint="play first: --only play")
    return path


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    stages = [args.only] if args.only else list(STAGES)
    try:
        job = _job(args)
        if stages != ["score"]:
            prepare(job, indexes=stages != ["train"])
        if "train" in stages:
            train(job)
        played = play_all(job) if "play" in stages else {}
        if "score" not in stages:
            return 0
        found = results(job, played)
    except InterloqError as error:
        print(f"bipartite: {error}", file=sys.stderr)
        return 2
    if args.json:
        print_json(found)
    else:
        show(found)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("INTERLOQ_DATA", "."), help="data folder ($INTERLOQ_DATA)")
    parser.add_argument("--work", required=True, metavar="FOLDER", help="keeps all results; the same folder resumes")
    parser.add_argument("--lm", default="", metavar="FOLDER", help="a chat model that takes part, as is and adapted")
    parser.add_argument("--judge", default="", metavar="FOLDER", help="model for FED (default: --lm, or trained here)")
    parser.add_argument(
        "--layout", choices=("eos", "lines", "chat"), default="eos", help="how the judge reads turns (eos)"
    )
    parser.add_argument("--relevance", default="", metavar="FOLDER", help="a scorer from `interloq train relevance`")
    parser.add_argument("--budgets", type=int, nargs=4, metavar="N", help="training pairs of the four models")
    parser.add_argument("--epochs", type=int, metavar="N", help="passes over these pairs (default 4)")
    parser.add_argument("--openings", type=int, metavar="N", help="openings per pair of bots (default 20)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="dialogues per pair and opening")
    parser.add_argument("--bootstrap", type=int, metavar="N", help="resamples (default 1000)")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="exclude a bot or partner")
    parser.add_argument("--only", choices=STAGES, help="run one stage")
    parser.add_argument("--model", action="append", default=[], metavar="NAME", help="train only this one; repeatable")
    parser.add_argument(
        "--scheme", action="append", choices=tuple(SCHEMES), help="play and score only this one; repeatable"
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="for training and bots")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try it out")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _job(args: argparse.Namespace) -> Job:
    sizes = QUICK if args.quick else Sizes()
    sizes = replace(sizes, budgets=tuple(args.budgets or sizes.budgets), epochs=args.epochs or sizes.epochs)
    if sizes.budgets[0] or sorted(set(sizes.budgets)) != list(sizes.budgets):
        raise InputError(
            f"budgets must be 0 and three increasing numbers, got {sizes.budgets}",
            hint="for example --budgets 0 10 100 1000",
        )
    return Job(
        data=Path(args.data),
        work=Path(args.work),
        sizes=sizes,
        lm=args.lm,
        relevance=args.relevance,
        judge=args.judge,
        layout=args.layout,
        device=args.device,
        openings=args.openings or (1 if args.quick else 20),
        repeats=args.repeats,
        resamples=args.bootstrap or (50 if args.quick else 1_000),
        excluded=frozenset(args.without),
        models=tuple(args.model),
        schemes=tuple(scheme for scheme in SCHEMES if scheme in (args.scheme or SCHEMES)),
    )


if __name__ == "__main__":
    sys.exit(main())
