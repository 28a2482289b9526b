"""Train the judges that come with the package: tune teachers on ratings, generate replies, and teach a student.

    python recipes/judge_sets.py --data DATA -o WORK/rated.jsonl
    python recipes/reply_pool.py --data DATA --work WORK -o WORK/pool.jsonl
    python recipes/ready.py examples --name ready-large --encoder smollm2 --work WORK --examples WORK/examples
    python recipes/teach.py relevance --network smollm2,smollm2,24 --examples WORK/examples -o WORK/smollm2.safetensors
    python recipes/teach.py generate --encoder smollm2 --pool WORK/pool.jsonl -o WORK/bots.jsonl
    python recipes/teach.py tune --network NAME,BASE,RANK,TENSORS --pool … --rated … -o WORK/judges
    python recipes/teach.py label --network … --pool … --bots … --rated … -o WORK/judges
    python recipes/teach.py student --network … --pool … --bots … --rated … -o WORK/judges

Each stage is the function of the same name. It writes its results to files of its own and skips those that exist.

A teacher is a relevance network with low-rank updates (all-mpnet-base-v2, SmolLM2-135M) and one output per head:
relevance itself, and the aspects of judge_sets.py. It is tuned on ratings, and on relevance at the same time, so that
it does not forget what wrong replies look like. The trained tensors of several seeds are averaged: they start from the
same network, so their mean is a network too. A student learns the mean of the teachers' outputs.

Each fold holds out one or two of the eight tested sets: neither teachers nor students see ratings from these sets, or
ratings of replies to their contexts. The fold `all` holds nothing out; it gives the weights of the package.

The weights in the package were made before layers were compiled and rows were joined on the GPU; this version has run
only on a processor, with tiny networks.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from judge_network import HEADS, RELEVANCE, JudgeNetwork, NetworkSpec, Pairs, log
from judge_sets import RatedReply, read_replies
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from interloq.data.files.opening import lines
from interloq.models.batches import make_batches
from interloq.models.pretrained import model_folder
from interloq.models.processes import pick_device
from interloq.retrieve.leaks import normalise_text
from interloq.scorers.relevance.examples import Exchanges, Part
from interloq.statistics.ridge import ranks

ALL = "all"
# the sets that each fold holds out
FOLDS: Mapping[str, Sequence[str]] = {
    "a": ("GRADE ConvAI2", "USR Topical-Chat"),
    "b": ("GRADE DailyDialog", "USR PersonaChat"),
    "c": ("GRADE EmpatheticDialogues", "multi-reference DailyDialog"),
    "d": ("FED turn", "FED dialogue"),
    ALL: (),
}
TESTED = tuple(name for names in FOLDS.values() for name in names)
SOUP = "soup"  # the mean of the networks of several seeds
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


# ---- tuning ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TeachSettings:
    """How a teacher is tuned."""

    steps: int = 120
    sets: int = 4  # per step
    items: int = 16  # rated items of each of these sets
    contexts: int = 12  # from the pool, per step, each with a true reply and WRONG others
    relevance: float = 0.3  # weight of the relevance loss
    warmup: float = 0.1


WRONG = 3


class RatedItems:
    """Rated items of the sets that are learned from, as positions of their replies."""

    def __init__(self, replies: Sequence[RatedReply], fold: str) -> None:
        self.items: dict[str, list[list[int]]] = {}
        self.targets: dict[str, dict[str, Floats]] = {}
        by_item: dict[tuple[str, int], list[int]] = {}
        for i in find_learned(replies, fold).tolist():
            by_item.setdefault((replies[i].set, replies[i].item), []).append(i)
        for (name, _), places in by_item.items():
            self.items.setdefault(name, []).append(places)
        for name, items in self.items.items():
            first = [replies[places[0]] for places in items]
            self.targets[name] = {}
            for aspect in first[0].ratings:
                self.targets[name][aspect] = ranks(np.array([reply.ratings[aspect] for reply in first]))

    def draw(self, rng: np.random.Generator, settings: TeachSettings) -> list[tuple[str, Ints]]:
        """Draw sets, and items from each."""
        drawn = []
        for name in rng.permutation(list(self.items))[: settings.sets].tolist():
            several = len(self.items[name][0]) > 1
            count = settings.items // 2 if several else settings.items
            drawn.append(
                (name, rng.choice(len(self.items[name]), size=min(count, len(self.items[name])), replace=False))
            )
        return drawn


def find_learned(replies: Sequence[RatedReply], fold: str) -> Ints:
    """Return the indices of the replies that a fold learns from: replies of other sets to other contexts."""
    tested = {_context(reply) for reply in replies if reply.set in FOLDS[fold]}
    learned = [i for i, reply in enumerate(replies) if reply.set not in FOLDS[fold] and _context(reply) not in tested]
    return np.array(learned, dtype=np.int64)


def _context(reply: RatedReply) -> tuple[str, ...]:
    return tuple(normalise_text(text) for text in reply.context)


def order_loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the loss of the tuned judge: pairs in the wrong order cost more the further apart their ratings are."""
    apart = targets[:, None] - targets
    behind = outputs - outputs[:, None]
    losses = torch.nn.functional.softplus(behind * apart.sign()) * apart.abs()
    return losses.sum() / apart.abs().sum().clamp_min(1e-6)


class RatingsLoss:
    """The loss of rated items drawn from several sets."""

    def __init__(self, network: JudgeNetwork, replies: Sequence[RatedReply], pairs: Pairs, held_out: str) -> None:
        self.network, self.pairs, self.rated = network, pairs, RatedItems(replies, held_out)

    def __call__(self, rng: np.random.Generator, settings: TeachSettings) -> torch.Tensor:
        drawn = self.rated.draw(rng, settings)
        places = [[self.rated.items[name][i] for i in items.tolist()] for name, items in drawn]
        which = np.array([place for group in places for item in group for place in item])
        outputs = self.network.outputs(self.pairs, which)
        losses = []
        start = 0
        for (name, items), group in zip(drawn, places, strict=True):
            sizes = [len(item) for item in group]
            own = outputs[start : start + sum(sizes)]
            start += sum(sizes)
            item_of = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes)).to(own.device)
            sums = torch.zeros(len(sizes), own.shape[1], device=own.device).index_add_(0, item_of, own)
            means = sums / torch.tensor(sizes, device=own.device)[:, None]
            for aspect, targets in self.rated.targets[name].items():
                wanted = torch.from_numpy(targets[items].astype(np.float32)).to(own.device)
                losses.append(order_loss(means[:, HEADS.index(aspect)], wanted) / len(self.rated.targets[name]))
        return torch.stack(losses).sum() / len(drawn)


class RelevanceLoss:
    """The listwise loss of true replies in the pool against other replies to the same context."""

    KINDS = ("random", "retrieved", "elsewhere", "parrot", "corrupted")

    def __init__(self, network: JudgeNetwork, pool: Pool) -> None:
        self.network, self.pool = network, pool
        self.wrong: list[tuple[int, list[int]]] = []
        for group in pool.groups:
            others = [i for i in group if pool.kinds[i] in self.KINDS]
            if len(others) >= WRONG and pool.kinds[group[0]] == "true":
                self.wrong.append((group[0], others))

    def __call__(self, rng: np.random.Generator, contexts: int) -> torch.Tensor:
        which = []
        for k in rng.choice(len(self.wrong), size=contexts, replace=False).tolist():
            true, others = self.wrong[k]
            which += [true, *rng.choice(others, size=WRONG, replace=False).tolist()]
        return list_loss(self.network.outputs(self.pool.pairs(self.network), np.array(which)), 1 + WRONG)


# ---- the pool --------------------------------------------------------------------------------------------------------


class Pool:
    """Contexts with replies of every kind; replies to the same context are adjacent."""

    def __init__(self, path: Path, bots: Path | None, most: int | None = None) -> None:
        generated: dict[int, list[str]] = {}
        if bots:
            for _, line in lines(bots):
                made = json.loads(line)
                generated.setdefault(made["context"], []).append(made["reply"])
        self.contexts: list[list[str]] = []
        self.replies: list[str] = []
        self.kinds: list[str] = []
        self.bases: list[int] = []  # for attacks, the index of the reply without the addition; otherwise -1
        owners: list[int] = []
        self.groups: list[list[int]] = []
        for number, (_, line) in enumerate(lines(path)):
            if most is not None and number >= most:
                break
            value = json.loads(line)
            self.contexts.append(value["context"])
            group: list[int] = []
            given = [*value["replies"], *(["generated", text] for text in generated.get(number, []))]
            place_of: dict[str, int] = {}
            for kind, text, *base in given:
                if base and base[0] not in place_of:
                    place_of[base[0]] = len(self.replies)
                    self._add("base", base[0], -1, group)
                place_of.setdefault(text, len(self.replies))
                self._add(kind, text, place_of[base[0]] if base else -1, group)
            owners += [number] * len(group)
            self.groups.append(group)
        self.owner = np.array(owners)
        self._pairs: dict[str, Pairs] = {}

    def _add(self, kind: str, text: str, base: int, group: list[int]) -> None:
        group.append(len(self.replies))
        self.replies.append(text)
        self.kinds.append(kind)
        self.bases.append(base)

    def pairs(self, network: JudgeNetwork) -> Pairs:
        """The pool as tokens of a network."""
        key = network.subwords.signature()
        if key not in self._pairs:
            self._pairs[key] = network.read(self.contexts, self.replies, self.owner)
        return self._pairs[key]


# ---- stages ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RelevanceTraining:
    """How a network is trained for relevance."""

    batch: int = 256  # exchanges
    tokens: int = 2**16
    warmup: float = 0.05


def relevance(args: argparse.Namespace) -> None:
    """Train a network for relevance on the tokenised exchanges of `ready.py examples`, and store its tensors."""
    settings, target = RelevanceTraining(), Path(args.output)
    network = JudgeNetwork(NetworkSpec.parse(args.network), args.device, outputs=1)
    stored = Exchanges.load(Path(args.examples))
    choices = 1 + WRONG
    # epoch by epoch: each has other wrong replies
    for epoch in range(args.epochs):
        pairs = read_exchanges(network, stored, "train", epoch)
        rng = np.random.default_rng([0, epoch])
        batches = network.batches(pairs, size=settings.batch * choices, tokens=settings.tokens, rng=rng)
        log(f"{target.name}: {len(pairs.contexts):,} exchanges, {len(batches):,} batches")

        def loss(step: int, pairs: Pairs = pairs, batches: Sequence[Ints] = batches) -> torch.Tensor:
            return list_loss(network.outputs(pairs, batches[step]), choices)

        begun = time.monotonic()
        rate = args.learning_rate / 2**epoch
        network.minimise(loss, len(batches), rate, settings.warmup, target.name)
        log(f"{target.name}: {len(pairs.contexts) / (time.monotonic() - begun):,.0f} exchanges per second")
        save_file(network.stored(), target)
    pairs = read_exchanges(network, stored, "dev", 0)
    outputs = torch.from_numpy(network.score(pairs))
    wins = (outputs.view(-1, choices)[:, :1] > outputs.view(-1, choices)[:, 1:]).float().mean(dim=0)
    log(f"{target.name}: dev loss {float(list_loss(outputs, choices)):.4f}; true replies beat {wins.tolist()}")


def read_exchanges(network: JudgeNetwork, stored: Exchanges, part: Part, epoch: int) -> Pairs:
    """Return each exchange of a part with its true reply and WRONG others."""
    from ready import SETTINGS

    from interloq.scorers.relevance.job import RelevanceTask
    from interloq.scorers.relevance.stretches import join_contexts

    task = RelevanceTask(network.network, stored, SETTINGS, network.subwords)
    task.batches(part, epoch)  # draws the wrong replies
    drawn = task._drawn[part, 0 if part == "dev" else epoch]
    own = stored.range(part)
    places = np.arange(own.start, own.stop)
    examples = np.arange(len(places)) + epoch * len(places)
    replies = task._replies(places, drawn.texts, drawn.spoiled, examples)
    contexts = join_contexts(stored, places, network.subwords.end, SETTINGS.context)
    return Pairs(
        [contexts[i] for i in range(len(places))],
        [replies[i] for i in range(len(places) * task.choices)],
        np.repeat(np.arange(len(places)), task.choices),
    )


def list_loss(outputs: torch.Tensor, choices: int) -> torch.Tensor:
    """Return the loss of true replies, each of which comes before its wrong replies."""
    return -torch.log_softmax(outputs[:, 0].view(-1, choices), dim=1)[:, 0].mean()


def tune(args: argparse.Namespace) -> None:
    """Tune a teacher per fold and seed; store its tensors, and its outputs for all rated replies."""
    settings, out = TeachSettings(steps=args.steps), Path(args.output)
    out.mkdir(parents=True, exist_ok=True)
    spec, rated = NetworkSpec.parse(args.network), read_replies(Path(args.rated))
    pool = Pool(Path(args.pool), None, args.contexts)
    network = JudgeNetwork(spec, args.device)
    pairs = read_rated(network, rated)
    for fold in args.folds:
        ratings, wrong = RatingsLoss(network, rated, pairs, fold), RelevanceLoss(network, pool)
        for seed in args.seeds:
            target = out / f"{spec.name}-{fold}-{seed}"
            if target.with_suffix(".npy").exists():
                continue
            begun = time.monotonic()
            network.reset()
            torch.manual_seed(seed)
            rng = np.random.default_rng([seed, 7])

            def loss(
                _: int, ratings: RatingsLoss = ratings, wrong: RelevanceLoss = wrong, rng: Any = rng
            ) -> torch.Tensor:
                return ratings(rng, settings) + settings.relevance * wrong(rng, settings.contexts)

            network.minimise(loss, settings.steps, args.learning_rate, settings.warmup, target.name)
            keep(network, target, rated, pairs, fold)
            log(f"{target.name}: {time.monotonic() - begun:.0f} s")
        average_seeds(network, out, f"{spec.name}-{fold}", args.seeds)
        keep(network, out / f"{spec.name}-{fold}-{SOUP}", rated, pairs, fold)


def read_rated(network: JudgeNetwork, rated: Sequence[RatedReply]) -> Pairs:
    return network.read([r.context for r in rated], [r.reply for r in rated], np.arange(len(rated)))


def average_seeds(network: JudgeNetwork, out: Path, name: str, seeds: Sequence[int]) -> None:
    """Load the mean of the tensors of several seeds."""
    stored = [load_file(out / f"{name}-{seed}.safetensors") for seed in seeds]
    means = {}
    for part in stored[0]:
        means[part] = torch.stack([tensors[part].float() for tensors in stored]).mean(dim=0)
    network.reset(means)


def keep(network: JudgeNetwork, target: Path, rated: Sequence[RatedReply], pairs: Pairs, fold: str) -> None:
    """Write the network's tensors, and its outputs for all rated replies; print its agreement on the held-out ones."""
    save_file(network.stored(), target.with_suffix(".safetensors"))
    scores = network.score(pairs)
    log(f"{target.name}: {describe_agreement(rated, scores, FOLDS[fold] or TESTED)}")
    np.save(target.with_suffix(".npy"), scores)


def describe_agreement(rated: Sequence[RatedReply], scores: NDArray[Any], names: Sequence[str]) -> str:
    """Return rank correlations with the main aspect of the named sets, for the heads that matter."""
    from scipy.stats import spearmanr

    texts = []
    for name in names:
        items: dict[int, list[int]] = {}
        for i, reply in enumerate(rated):
            if reply.set == name:
                items.setdefault(reply.item, []).append(i)
        if len(items) < 2:  # only some of the sets were read
            continue
        first = [rated[places[0]] for places in items.values()]
        main = "overall" if "overall" in first[0].ratings else "dialogue"
        human = [reply.ratings[main] for reply in first]
        cells = []
        for head in (RELEVANCE, "overall", "dialogue"):
            means = [scores[places, HEADS.index(head)].mean() for places in items.values()]
            cells.append(f"{head} {spearmanr(human, means).statistic:.3f}")
        texts.append(f"{name}: {', '.join(cells)}")
    return "; ".join(texts)


def label(args: argparse.Namespace) -> None:
    """Store the outputs of each fold's averaged teachers for the replies of the pool."""
    spec, out = NetworkSpec.parse(args.network), Path(args.output)
    pool = Pool(Path(args.pool), args.bots, args.contexts)
    network = JudgeNetwork(spec, args.device)
    for fold in args.folds:
        target = out / f"labels-{spec.name}-{fold}.npy"
        if target.exists():
            continue
        begun = time.monotonic()
        network.reset(load_file(out / f"{spec.name}-{fold}-{SOUP}.safetensors"))
        np.save(target, network.score(pool.pairs(network)).astype(np.float16))
        log(f"{target.name}: {len(pool.replies):,} replies, {time.monotonic() - begun:.0f} s")


@dataclass(frozen=True)
class StudentSettings:
    """How a student is taught."""

    epochs: int = 3
    batch: int = 512
    warmup: float = 0.05
    rated: int = 2  # passes per epoch over the rated replies, which real bots wrote


WEIGHTS = (1.0, 2.0, 1.0, 1.0, 1.0, 2.0)  # of the heads in the student's loss
BELOW = 0.25  # how far an attack must stay below the reply it is made from, in standard deviations


def teach_targets(pool: Pool, labels: Sequence[NDArray[Any]], rated: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
    """Return the mean of the teachers' outputs for the replies of the pool, and then for the rated ones.

    Each teacher's outputs have mean 0 and variance 1 on the pool. An attack always has a lower target than the
    reply that it is made from.
    """
    standard = []
    for of_pool, of_rated in zip(labels, rated, strict=True):
        outputs = of_pool.astype(np.float32)
        every = np.concatenate([outputs, of_rated.astype(np.float32)])
        standard.append((every - outputs.mean(axis=0)) / outputs.std(axis=0))
    targets = np.mean(standard, axis=0)
    bases = np.array(pool.bases)
    attacks = np.flatnonzero(bases >= 0)
    targets[attacks] = np.minimum(targets[attacks], targets[bases[attacks]]) - BELOW
    return np.asarray(targets, dtype=np.float32)


def student(args: argparse.Namespace) -> None:
    """Train a student per fold and seed on the teachers' outputs; store its tensors and outputs."""
    spec, out, settings = NetworkSpec.parse(args.network), Path(args.output), StudentSettings(epochs=args.epochs)
    rated, pool = read_replies(Path(args.rated)), Pool(Path(args.pool), args.bots, args.contexts)
    network = JudgeNetwork(spec, args.device)
    pairs = read_rated(network, rated)
    every = pool.pairs(network) + pairs
    weights = torch.tensor(WEIGHTS, device=network.device) / sum(WEIGHTS)
    for seed in args.seeds:
        for fold in args.folds:
            target = out / f"{spec.name}-{fold}-{seed}"
            if target.with_suffix(".npy").exists():
                continue
            begun = time.monotonic()
            labels = [np.load(out / f"labels-{teacher}-{fold}.npy") for teacher in args.teachers]
            of_rated = [np.load(out / f"{teacher}-{fold}-{SOUP}.npy") for teacher in args.teachers]
            targets = torch.from_numpy(teach_targets(pool, labels, of_rated)).to(network.device)
            learned = find_learned(rated, fold) + len(pool.replies)
            network.reset(load_file(out / f"{args.start_from}-{fold}-{SOUP}.safetensors") if args.start_from else None)
            torch.manual_seed(seed)
            rng = np.random.default_rng([seed, 11])
            places = np.concatenate([np.arange(len(pool.replies)), *[learned] * settings.rated])
            batches: list[Ints] = []
            for _ in range(settings.epochs):
                drawn = make_batches(every.lengths[places], size=settings.batch, tokens=2**17, rng=rng)
                batches += [places[batch] for batch in drawn]

            def loss(step: int, batches: Any = batches, targets: Any = targets) -> torch.Tensor:
                wanted = targets[torch.from_numpy(batches[step]).to(targets.device)]
                errors: torch.Tensor = (network.outputs(every, batches[step]) - wanted).square().mean(dim=0)
                return (errors * weights).sum()

            network.minimise(loss, len(batches), args.learning_rate, settings.warmup, target.name, dropout=False)
            keep(network, target, rated, pairs, fold)
            log(f"{target.name}: {len(places):,} replies × {settings.epochs}, {time.monotonic() - begun:.0f} s")


# ---- bots ------------------------------------------------------------------------------------------------------------

WAYS = 4
SYSTEM = "You are a person who chats with a friend. Answer in one short sentence."


def generate(args: argparse.Namespace) -> None:
    """Let SmolLM2 answer each context of the pool in one or two of four ways: as a chat or a script, with all turns or
    one."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, device = model_folder(args.encoder), pick_device(args.device)
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).to(device).eval()
    pool = Pool(Path(args.pool), None, args.contexts)
    torch.manual_seed(0)
    asked: list[tuple[int, int, str]] = []
    for i, context in enumerate(pool.contexts):
        ways = (i % WAYS, (i + 2) % WAYS)[: args.ways]
        asked += [(way, i, prompt(tokenizer, context, way)) for way in ways]
    asked.sort(key=lambda one: (one[0], len(one[2])))
    begun = time.monotonic()
    with Path(args.output).open("w", encoding="utf-8") as file:
        for way in range(WAYS):
            own = [one for one in asked if one[0] == way]
            for start in range(0, len(own), args.batch):
                batch = own[start : start + args.batch]
                for (_, i, _), reply in zip(
                    batch, answers(model, tokenizer, [one[2] for one in batch], way), strict=True
                ):
                    if reply:
                        file.write(json.dumps({"context": i, "kind": f"smollm2 {way}", "reply": reply}) + "\n")
            log(f"way {way}: {len(own):,} replies, {time.monotonic() - begun:.0f} s")


def prompt(tokenizer: Any, context: Sequence[str], way: int) -> str:
    """Return the prompt for a context: a chat (ways 0, 1) or a script (2, 3); odd ways see only the last turn."""
    turns = list(context[-1:] if way % 2 else context)
    if way < 2:
        roles = ["user" if (len(turns) - i) % 2 else "assistant" for i in range(len(turns))]
        messages = [{"role": "system", "content": SYSTEM}]
        messages += [{"role": role, "content": text} for role, text in zip(roles, turns, strict=True)]
        text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return text
    names = ["A" if (len(turns) - i) % 2 else "B" for i in range(len(turns))]
    return "\n".join([*(f"{name}: {text}" for name, text in zip(names, turns, strict=True)), "B:"])


@torch.inference_mode()  # type: ignore[untyped-decorator]
def answers(model: Any, tokenizer: Any, prompts: Sequence[str], way: int) -> list[str]:
    """Return a reply to each prompt, cut at the first line and after its last complete sentence."""
    options: dict[str, Any] = {"do_sample": True, "temperature": 0.7 if way < 2 else 0.9, "top_p": 0.95}
    if way == 1:
        options["temperature"] = 1.2
    if way == 3:
        options = {"do_sample": False}
    inputs = tokenizer(
        list(prompts), return_tensors="pt", padding=True, truncation=True, max_length=256, add_special_tokens=False
    )
    inputs = {name: part.to(model.device) for name, part in inputs.items()}
    made = model.generate(**inputs, max_new_tokens=28, pad_token_id=tokenizer.pad_token_id, **options)
    texts = tokenizer.batch_decode(made[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return [_cut(text) for text in texts]


def _cut(text: str) -> str:
    line = text.strip().split("\n")[0].strip()
    ends = [i for i, letter in enumerate(line) if letter in ".!?"]
    if ends and ends[-1] > 8:
        return line[: ends[-1] + 1]
    return line


# ---- the command -----------------------------------------------------------------------------------------------------

STAGES: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "relevance": relevance,
    "generate": generate,
    "tune": tune,
    "label": label,
    "student": student,
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    stages = parser.add_subparsers(dest="stage", required=True)
    for name, function in STAGES.items():
        stage = stages.add_parser(name, help=(function.__doc__ or "").splitlines()[0])
        stage.add_argument("-o", "--output", required=True)
        stage.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
        stage.add_argument("--contexts", type=int, metavar="N", help="use the first N contexts of the pool")
        if name == "generate":
            stage.add_argument("--encoder", required=True, metavar="NAME")
        else:
            stage.add_argument("--network", required=True, metavar="NAME,BASE,RANK[,TENSORS]")
        if name not in ("generate", "relevance"):
            stage.add_argument("--folds", nargs="*", default=[*FOLDS], choices=tuple(FOLDS))
        if name != "relevance":
            stage.add_argument("--pool", required=True, metavar="FILE")
        if name in ("label", "student"):
            stage.add_argument("--bots", type=Path, metavar="FILE")
        if name in ("tune", "student"):
            stage.add_argument("--rated", required=True, metavar="FILE")
            stage.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    relevant, generated, tuned, taught = (stages.choices[name] for name in ("relevance", "generate", "tune", "student"))
    relevant.add_argument("--examples", required=True, metavar="FOLDER")
    relevant.add_argument("--epochs", type=int, default=1, metavar="N")
    relevant.add_argument("--learning-rate", type=float, default=5e-4, metavar="X")
    generated.add_argument("--ways", type=int, default=1, metavar="N", help="replies per context, 1 or 2")
    generated.add_argument("--batch", type=int, default=2048, metavar="N")
    tuned.add_argument("--steps", type=int, default=TeachSettings.steps, metavar="N")
    tuned.add_argument("--learning-rate", type=float, default=2e-4, metavar="X")
    taught.add_argument("--teachers", nargs="*", default=["mpnet", "smollm2"], metavar="NAME")
    taught.add_argument("--start-from", metavar="NAME", help="start from this teacher of the same fold")
    taught.add_argument("--epochs", type=int, default=StudentSettings.epochs, metavar="N")
    taught.add_argument("--learning-rate", type=float, default=5e-4, metavar="X")
    args = parser.parse_args(argv)
    STAGES[args.stage](args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
