"""Put taught judges into the package: scale their outputs to expected ranks, and write weights, facts and card.

    python recipes/install_judges.py --judges WORK/judges --rated WORK/rated.jsonl [--to FOLDER]

Reads what `teach.py` wrote. Slopes and figures come from the folds: each set is scored by networks that saw none
of its ratings. The package gets the networks of the fold `all`, with these slopes. The encoders must be on this
machine: all-mpnet-base-v2 in $INTERLOQ_MODELS or the hub's cache, and the package of `smollm2`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from judge_network import HEADS, READING, RELEVANCE
from judge_sets import ASPECTS, LICENCES, RatedReply, read_replies
from numpy.typing import NDArray
from rated_sets import KNOWN
from safetensors.torch import load_file
from teach import ALL, FOLDS, SOUP

from interloq import InterloqError, Sample
from interloq.data.files.durable import write_atomically
from interloq.learn.cross_encoder_scorer import signature_of
from interloq.learn.ready import HUB_ENCODER, JUDGES, PACKAGED, READY, READY_BOTH, READY_LARGE, find_hub_encoder
from interloq.learn.settings import LowRank
from interloq.learn.start import Start
from interloq.learn.store import read_facts, save_model
from interloq.models.pretrained import Subwords
from interloq.models.smollm2 import SMOLLM2
from interloq.scorers.judge.job import judge_tensors
from interloq.scorers.judge.model import KIND, SCORER, pair_hash
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.scorers.relevance.settings import ENCODER
from interloq.signature import fingerprint
from interloq.statistics.ridge import Head, ranks

RESAMPLES = 1000
FILES = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
FOLD_OF = {name: fold for fold, names in FOLDS.items() for name in names}
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Taught:
    """A taught network: its name and seed in the folder of judges, its encoder, and the rank of its updates."""

    name: str
    seed: str
    encoder: str
    low_rank: int


STUDENT = Taught("student", "0", ENCODER, 128)
LARGE = Taught("mpnet", SOUP, HUB_ENCODER, 32)
SMALL_LM = Taught("smollm2", SOUP, SMOLLM2, 16)


class Ratings:
    """Rated items of all sets."""

    def __init__(self, replies: Sequence[RatedReply]) -> None:
        self.replies = replies
        self.items: dict[str, list[list[int]]] = {}
        places: dict[tuple[str, int], list[int]] = {}
        for i, reply in enumerate(replies):
            places.setdefault((reply.set, reply.item), []).append(i)
        for (name, _), item in places.items():
            self.items.setdefault(name, []).append(item)

    def sets_with(self, aspect: str) -> list[str]:
        """Return the sets that have ratings of an aspect."""
        return [name for name, items in self.items.items() if aspect in self.replies[items[0][0]].ratings]

    def targets(self, name: str, aspect: str) -> Floats:
        """Return the ranks of a set's items, from −1 to 1."""
        return ranks(np.array([self.replies[item[0]].ratings[aspect] for item in self.items[name]]))

    def by_item(self, name: str, values: Floats) -> Floats:
        """Return the mean value of the replies of each item of a set."""
        return np.array([values[item].mean() for item in self.items[name]])

    @cached_property
    def hashes(self) -> list[int]:
        """Hashes by which a judge recognises replies that it learned from."""
        return [pair_hash(Sample("", list(reply.context), reply.reply)) for reply in self.replies]


class Outputs:
    """Standardised outputs of taught networks: in each fold, mean 0 and variance 1 over all rated replies."""

    def __init__(self, judges: Path, ratings: Ratings, networks: Sequence[Taught]) -> None:
        self.judges, self.ratings, self.networks = judges, ratings, networks
        self._agreement: dict[str, dict[str, tuple[float, float, float]]] = {}

    def read(self, network: Taught, fold: str, aspect: str) -> Floats:
        """Return a network's outputs for all rated replies, as stored."""
        stored = np.load(self.judges / f"{network.name}-{fold}-{network.seed}.npy").astype(np.float64)
        return np.asarray(stored[:, HEADS.index(aspect)])

    def unseen(self, name: str, aspect: str) -> Floats:
        """Return the sum of the networks' outputs for the items of a set that they did not see."""
        total = np.zeros(len(self.ratings.replies))
        for network in self.networks:
            values = self.read(network, FOLD_OF[name], aspect)
            total += (values - values.mean()) / values.std()
        return self.ratings.by_item(name, total)

    def slope(self, aspect: str) -> float:
        """Return the expected rank per unit of output: least squares on unseen sets, equally weighted."""
        above, below = 0.0, 0.0
        for name in self.ratings.sets_with(aspect):
            if name in FOLD_OF:
                values = self.unseen(name, aspect)
                values = values - values.mean()
                above += float(np.mean(values * self.ratings.targets(name, aspect)))
                below += float(np.mean(values**2))
        return above / below

    def agreement(self, aspect: str) -> dict[str, tuple[float, float, float]]:
        """Return Spearman's correlation on each unseen set, with a 95 % interval from resampled items."""
        if aspect not in self._agreement:
            figures = {}
            for name in self.ratings.sets_with(aspect):
                if name in FOLD_OF:
                    figures[name] = _spearman(self.ratings.targets(name, aspect), self.unseen(name, aspect))
            self._agreement[aspect] = figures
        return self._agreement[aspect]

    def errors(self) -> Floats:
        """Return the absolute errors of the overall ranks of items of unseen sets."""
        slope, errors = self.slope("overall"), []
        for name in self.ratings.sets_with("overall"):
            if name in FOLD_OF:
                values = self.unseen(name, "overall")
                expected = np.clip(slope * (values - values.mean()), -1, 1)
                errors.append(np.abs(self.ratings.targets(name, "overall") - expected))
        return np.concatenate(errors)

    def aspect_facts(self, aspect: str) -> dict[str, Any]:
        """Return the facts of an aspect: what it was learned from, and the mean agreement on unseen sets."""
        sets = self.ratings.sets_with(aspect)
        figures = np.array(list(self.agreement(aspect).values()))
        half = float(np.sqrt((((figures[:, 2] - figures[:, 1]) / 2) ** 2).sum())) / len(figures)
        mean = float(figures[:, 0].mean())
        return {
            "aspect": aspect,
            "replies": sum(len(self.ratings.items[name]) for name in sets),
            "sets": len(sets),
            "spearman": mean,
            "ci": [mean - half, mean + half],
        }


def _spearman(targets: Floats, values: Floats) -> tuple[float, float, float]:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    resampled = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(targets), len(targets))
        resampled.append(spearmanr(targets[drawn], values[drawn]).statistic)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return float(spearmanr(targets, values).statistic), float(low), float(high)


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_judge(folder: Path, network: Taught, outputs: Outputs, ratings: Ratings) -> None:
    """Write a judge of one network: the relevance scorer in its subfolder, and a head for each aspect."""
    tensors = load_file(outputs.judges / f"{network.name}-{ALL}-{network.seed}.safetensors")
    weights, biases = tensors.pop("head.weight").double(), tensors.pop("head.bias").double()
    relevance = HEADS.index(RELEVANCE)
    head = {
        "head.weight": weights[relevance : relevance + 1].half(),
        "head.bias": biases[relevance : relevance + 1].half(),
    }
    scorer = write_scorer(folder / SCORER, network, {**tensors, **head})
    learned = []
    for aspect in ASPECTS:
        row = HEADS.index(aspect)
        values = outputs.read(network, ALL, aspect)
        middle = np.mean([ratings.by_item(name, values).mean() for name in ratings.sets_with(aspect)])
        slope = outputs.slope(aspect) / values.std()
        offset = slope * (float(biases[row]) - float(middle))
        learned.append(Head(slope * weights[row].numpy(), offset, 0.0, float("nan"), (float("nan"), float("nan"))))
    errors = outputs.errors()
    constant = {
        "error_weights": torch.zeros(weights.shape[1], dtype=torch.float32),
        "error_offset": torch.tensor(np.log(np.expm1(errors.mean())), dtype=torch.float32),
    }
    facts = {
        "kind": KIND,
        "signature": f"taught:{network.name}|seed:{network.seed}|rated:{_rated_fingerprint(ratings)}",
        "scorer": {"place": SCORER, "signature": scorer},
        "aspects": [outputs.aspect_facts(aspect) for aspect in ASPECTS],
        "error": {"mean": float(errors.mean()), "below in 80 %": float(np.quantile(errors, 0.8))},
    }
    save_model(folder, {**judge_tensors(learned, ratings.hashes), **constant}, facts)


def write_scorer(folder: Path, network: Taught, tensors: Mapping[str, torch.Tensor]) -> str:
    """Write the network as a relevance scorer; return its signature."""
    base = (
        Start.of(network.encoder)
        if network.encoder != HUB_ENCODER
        else Start(HUB_ENCODER, find_hub_encoder(HUB_ENCODER)[0])
    )
    files = base.files
    folder.mkdir(parents=True, exist_ok=True)
    if network.encoder == HUB_ENCODER:  # users may have other versions of the files beside the encoder's weights
        files = PACKAGED[READY_LARGE]
        for name in FILES:
            write_atomically(folder / name, (files / name).read_bytes())
    facts = {
        "kind": RelevanceScorer.kind,
        "signature": f"taught:{network.name}|seed:{network.seed}",
        "config": READING,
        "subwords": Subwords(files, longest=READING["longest"]).signature(),
        "temperature": 1.0,
        "low_rank": asdict(LowRank(low_rank=network.low_rank)),
        "base": base.describe(),
    }
    save_model(folder, tensors, facts)
    return signature_of(read_facts(folder, kind=RelevanceScorer.kind))


def write_ensemble(folder: Path, members: Mapping[str, Outputs], both: Outputs) -> None:
    """Write a judge that combines others: the sum of their standardised outputs, scaled to expected ranks."""
    weights = np.ones((len(ASPECTS), len(members)))
    for row, aspect in zip(weights, ASPECTS, strict=True):
        row[:] = [both.slope(aspect) / member.slope(aspect) for member in members.values()]
    tensors = {
        "weights": torch.from_numpy(weights),
        "offsets": torch.zeros(len(ASPECTS), dtype=torch.float64),
        "pairs": torch.zeros(0, dtype=torch.int64),  # the members have them
    }
    facts = {
        "kind": KIND,
        "signature": "taught:" + "+".join(network.name for network in both.networks),
        "members": list(members),
        "aspects": [both.aspect_facts(aspect) for aspect in ASPECTS],
    }
    save_model(folder, tensors, facts)


def _rated_fingerprint(ratings: Ratings) -> str:
    return fingerprint(*map(str, ratings.hashes))


# ---- the card --------------------------------------------------------------------------------------------------------


def write_card(name: str, networks: str, outputs: Outputs, ratings: Ratings) -> str:
    """Return sources, licences, commands and figures."""
    sets = [f"| {set_name} | {LICENCES[set_name]} | {len(items):,} |" for set_name, items in ratings.items.items()]
    rows = []
    for set_name in KNOWN:
        cells = []
        for aspect in ASPECTS:
            figures = outputs.agreement(aspect)
            cells.append("{:.3f} [{:.2f}, {:.2f}]".format(*figures[set_name]) if set_name in figures else "–")
        rows.append(f"| {set_name} | {' | '.join(cells)} |")
    errors = outputs.errors()
    sources, figures_table = "\n".join(sets), "\n".join(rows)
    return f"""# Ready weights of `judge`: `{name}`

{networks} `judge(model='{name}')` uses them. What a judge measures, and when to trust it, is in
docs/metrics/judge.md; how these were made, and what else was tried, is in docs/measured/judge.md.

## Ratings

| set | licence | rated items |
|---|---|---|
{sources}

Only the ratings of these sets were learned. The package does not contain their texts, only hashes of contexts and
replies, so that a note can count the scored replies that the judge has learned from. Other texts come from the
permissive logs in the card of `relevance(model='{READY_LARGE}')`, and from SmolLM2-135M-Instruct (Apache-2.0), which
replied to their contexts. Excluded because of their licences: DailyDialog++, Hazumi, KokoroChat and the robustness set.
All replies are English, so the judge knows only English.

## Commands

`recipes/teach.py` lists the commands of all stages, with seeds; the last stage is

```text
python recipes/install_judges.py --judges WORK/judges --rated WORK/rated.jsonl
```

## Figures

Spearman correlations with people on sets whose ratings neither the network nor its teachers saw, by the networks of
the folds; each fold held out two sets, and FED's replies and dialogues together. 95 % intervals from {RESAMPLES}
resamples. A dialogue is scored by the mean over its replies.

| set | {" | ".join(ASPECTS)} |
|---|{"---|" * len(ASPECTS)}
{figures_table}

Expected ranks of single replies are off by {errors.mean():.2f} on average (ranks go from −1 to 1; always saying 0 would
be off by .50), and by less than {np.quantile(errors, 0.8):.2f} in 80 % of cases.
"""


# ---- the command -----------------------------------------------------------------------------------------------------


def install(judges: Path, ratings: Ratings, target: Callable[[str], Path]) -> None:
    """Write the three packaged judges."""
    student, large, small_lm = (Outputs(judges, ratings, [network]) for network in (STUDENT, LARGE, SMALL_LM))
    both = Outputs(judges, ratings, [LARGE, SMALL_LM])
    write_judge(target(READY), STUDENT, student, ratings)
    write_judge(target(READY_LARGE), LARGE, large, ratings)
    write_judge(target(READY_BOTH) / SMOLLM2, SMALL_LM, small_lm, ratings)
    write_ensemble(target(READY_BOTH), {READY_LARGE: large, SMOLLM2: small_lm}, both)
    updates = "Low-rank updates for"
    for name, text, outputs in (
        (READY, f"{updates} {ENCODER} (rank 128), taught by `{READY_LARGE}` and a judge on SmolLM2.", student),
        (READY_LARGE, f"{updates} {HUB_ENCODER} (rank 32).", large),
        (READY_BOTH, f"{updates} SmolLM2-135M-Instruct (rank 16), joined with `{READY_LARGE}`.", both),
    ):
        write_atomically(target(name) / "README.md", write_card(name, text, outputs, ratings).encode())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--judges", required=True, metavar="FOLDER", help="folder that teach.py wrote")
    parser.add_argument("--rated", required=True, metavar="FILE", help="file that judge_sets.py wrote")
    parser.add_argument("--to", metavar="FOLDER", help="folder to write to instead of the package")
    args = parser.parse_args(argv)

    def target(name: str) -> Path:
        return Path(args.to) / name if args.to else JUDGES[name]

    try:
        install(Path(args.judges), Ratings(read_replies(Path(args.rated))), target)
    except InterloqError as error:
        print(f"install_judges: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
