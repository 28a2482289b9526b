"""FED and FULL as further teachers of whole dialogues: do they add to a judge, measured on people's ratings?

    python recipes/dialogue_teachers.py --data DATA --work WORK

Two sets have rated dialogues of people with systems: FED (125), and a random part of Ji et al. (2022). For each, a
judge on the states of `relevance(model='ready')` learns from all other sets (see `judge.py`); a dialogue has the mean
of its system's replies. The packaged judges are not tested, because they learned from both sets. FED and FULL read the
whole dialogue with SmolLM2-135M-Instruct. Their z-scores are added to those of the judge, with equal weights.

Printed are Spearman's coefficient with the mean rating, and its difference to the judge alone on the same resampled
dialogues, with 95 % intervals. WORK keeps states and scores of finished parts, so an interrupted run resumes. The data
folder has those of `judge_sets.py`. The exit code is 0, or 2 if data or models are missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from fed_table import read, whole
from judge import Judges, encoded
from judge_sets import JI, RatedReply, _file, ji_2022
from more_rated_sets import more_rated_sets
from numpy.typing import NDArray
from rated_sets import RatedSet, data_folder, rated_sets
from scipy.stats import spearmanr

from interloq import InterloqError, Sample, Turn, evaluate_all
from interloq.data.files.opening import lines
from interloq.records import Dialogue
from interloq.signature import fingerprint
from interloq.statistics.resampling import percentile_interval
from interloq.terminal.console import number_with_interval, print_table

FED = "FED dialogue"
LM = "model='smollm2',layout='lines'"
TEACHERS: Mapping[str, str] = {
    "FED": f"fed({LM})",
    "FED specific": f"fed({LM},dimension='specific')",
    "FULL": f"full({LM})",
}
SUMS = (("FED",), ("FED specific",), ("FULL",), ("FED", "FULL"), ("FED", "FED specific", "FULL"))
JUDGE = "judge"
PART = 50  # dialogues that are scored and stored at a time
RESAMPLES = 1000
Floats = NDArray[np.float64]


def rated_dialogues(data: Path) -> dict[str, RatedSet]:
    """Return every set that a judge may learn from, with Ji et al. (2022)."""
    tested = rated_sets(data)
    return {**tested, **more_rated_sets(data, tested.values()), JI: _as_rated_set(list(ji_2022(data)))}


def _as_rated_set(replies: Sequence[RatedReply]) -> RatedSet:
    _, items = np.unique([reply.item for reply in replies], return_inverse=True)
    human = np.zeros(int(items.max()) + 1)
    samples = []
    for i, (reply, item) in enumerate(zip(replies, items.tolist(), strict=True)):
        human[item] = reply.ratings["dialogue"]
        samples.append(Sample(f"{item}#{i}", [Turn(text) for text in reply.context], reply.reply))
    return RatedSet(samples, items, human)


def whole_dialogues(data: Path) -> dict[str, list[Sample]]:
    """Return the dialogues of both sets as samples, in the order of their items."""
    talks = []
    for number, (_, line) in enumerate(lines(_file(data, "ji2022_part.jsonl.xz"))):
        turns = [Turn(t["text"], t["speaker"]) for t in json.loads(line)["turns"] if t["text"].strip()]
        if any(i and turn.speaker == "bot" for i, turn in enumerate(turns)):  # as in judge_sets.py
            talks.append(whole(Dialogue(str(number), turns)))
    return {FED: read(data, 0)["dialogue"], JI: talks}


def teacher_scores(samples: Sequence[Sample], work: Path) -> dict[str, Floats]:
    """Score dialogues by FED and FULL; parts that were stored are not scored again."""
    columns: dict[str, list[float]] = {name: [] for name in TEACHERS}
    for start in range(0, len(samples), PART):
        some = samples[start : start + PART]
        path = work / f"teachers-{fingerprint(*TEACHERS.values(), *(repr(sample) for sample in some))}.json"
        if not path.exists():
            results = [
                by_system[""] for by_system in evaluate_all(list(TEACHERS.values()), _renamed(some), n_bootstrap=0)
            ]
            scored = [[result.by_sample[sample.key] for sample in _renamed(some)] for result in results]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(scored))
            print(f"{start + len(some):,} of {len(samples):,} dialogues scored", file=sys.stderr)
        for name, scores in zip(TEACHERS, json.loads(path.read_text()), strict=True):
            columns[name] += scores
    return {name: np.array(scores) for name, scores in columns.items()}


def _renamed(samples: Sequence[Sample]) -> list[Sample]:
    """Samples of one system: names of systems would split them into several results."""
    return [Sample(sample.id, sample.context, sample.response) for sample in samples]


def join(scores: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the scores with the sums of z-scores of the judge and of teachers."""
    z = {name: (values - values.mean()) / values.std() for name, values in scores.items()}
    return {**scores, **{" + ".join([JUDGE, *names]): z[JUDGE] + sum(z[name] for name in names) for names in SUMS}}


def table(scores: Mapping[str, Floats], human: Floats) -> list[list[str]]:
    """Return a row per scorer: its correlation, and its difference to the judge's."""
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, len(human), len(human)) for _ in range(RESAMPLES)]

    def resampled(values: Floats) -> Floats:
        return np.array([spearmanr(values[which], human[which]).statistic for which in drawn])

    alone, start = resampled(scores[JUDGE]), float(spearmanr(scores[JUDGE], human).statistic)
    rows = []
    for name, values in scores.items():
        value, others = float(spearmanr(values, human).statistic), resampled(values)
        difference = number_with_interval(value - start, percentile_interval(others - alone))
        rows.append([name, number_with_interval(value, percentile_interval(others)), difference])
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="the data sets (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/teachers", metavar="FOLDER", help="states and scores (out/teachers)")
    parser.add_argument("--items", type=int, default=400, metavar="N", help=f"dialogues of {JI}, at random (400)")
    args = parser.parse_args(argv)
    try:
        data, work = data_folder(args.data), Path(args.work)
        sets, dialogues = rated_dialogues(data), whole_dialogues(data)
        judges = Judges(sets, encoded("ready", sets, work))
        for name, samples in dialogues.items():
            which = np.sort(np.random.default_rng(0).permutation(len(samples))[: args.items])
            judged = judges.scores(name)[0][name][which]
            scores = {JUDGE: judged, **teacher_scores([samples[i] for i in which], work)}
            rows = table(join(scores), sets[name].human[which])
            print_table(f"{name}: {len(which)} dialogues", ["scorer", "Spearman", "difference to the judge"], rows)
    except InterloqError as error:
        print(f"dialogue_teachers: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
