"""The bots of `bipartite.py`: targets, partners, sizes, and the order known in advance."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

from interloq import Turn
from interloq.play.bot import Bot, generator
from interloq.registry import create
from interloq.servers.replies import Reply
from interloq.signature import Signature, fingerprint, signature

HOT, MIXED, RETRIEVAL, CHAT, CHAT_HOT, TUNED = "lm hot", "lm mixed up", "retrieval", "chat", "chat hot", "tuned"
JUDGE, OTHER = "judge", "other"
CONTEXT = 64  # tokens: the models are trained on pairs, so they see little more than a pair
PERSONA = "You are a friendly person in a chat. Answer in one short sentence."
DROPPED = 0.3  # share of words dropped by `MixedUp`


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of models and runs; a work folder made with other sizes is refused."""

    budgets: tuple[int, ...] = (0, 2_500, 25_000, 250_000)  # pairs of the four language models
    epochs: int = 4
    batch: int = 128
    shape: tuple[int, int] = (6, 384)  # layers, dimensions
    judge_shape: tuple[int, int] = (8, 512)
    vocabulary: int = 8_000  # if no tokenizer is given
    max_tokens: int = 32
    exchanges: int = 5


QUICK = Sizes((0, 20, 60, 200), 2, 16, (1, 32), (1, 64), 400, 4, 2)


@dataclass(frozen=True, slots=True)
class Job:
    data: Path
    work: Path
    sizes: Sizes
    lm: str
    relevance: str
    judge: str
    layout: str
    device: str
    openings: int
    repeats: int
    resamples: int
    excluded: frozenset[str]
    models: tuple[str, ...]  # to train; all if empty
    schemes: tuple[str, ...]  # to play and score

    @property
    def group(self) -> dict[str, int]:
        """The four language models with their budgets, least trained first."""
        return {f"lm-{budget}": budget for budget in self.sizes.budgets}

    @property
    def judge_folder(self) -> str:
        return self.judge or self.lm or str(self.work / JUDGE)


@dataclass(frozen=True)
class MixedUp(Bot):
    """Repeats another bot's reply with some of the words dropped and the rest shuffled."""

    good: str  # the spec of a bot

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        found = self._bot.replies(dialogues, seeds)
        return [
            replace(reply, text=mixed_up(reply.text, generator(seed, turns)))
            for reply, turns, seed in zip(found, dialogues, seeds, strict=True)
        ]

    def signature(self) -> Signature:
        return signature(replace(self, good=""), of=fingerprint(str(self._bot.signature())), dropped=DROPPED)

    @cached_property
    def _bot(self) -> Bot:
        bot: Bot = create(self.good, kind="bot")
        return bot


def mixed_up(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    kept = [word for word, lot in zip(words, rng.random(len(words)), strict=True) if lot >= DROPPED] or words[:1]
    return " ".join(kept[i] for i in rng.permutation(len(kept)))


def targets(job: Job) -> dict[str, str]:
    """Name → spec; the prefix `mixed:` marks a bot whose words are shuffled."""
    best = f"lm-{job.sizes.budgets[-1]}"
    found = {name: _small(job, name) for name in job.group}
    found |= {HOT: _small(job, best, temperature=1.5), MIXED: f"mixed:{_small(job, best)}"}
    found |= {RETRIEVAL: f"retrieval(index={str(job.work / 'index-train')!r})", "eliza": "eliza", "echo": "echo"}
    if job.lm:
        found |= {CHAT: _chat(job, 0.7), CHAT_HOT: _chat(job, 1.5), TUNED: _small(job, TUNED)}
    return {name: spec for name, spec in found.items() if name not in job.excluded}


def partners(job: Job) -> dict[str, str]:
    """Name → spec of the partners. None is a target: they have other weights, temperatures or pools."""
    least, more = other_models(job)
    found = {
        least: _small(job, least),
        more: _small(job, more),
        f"{more} warm": _small(job, more, temperature=1.1),
        f"{more} greedy": _small(job, more, temperature=0.0),
        "retrieval other": f"retrieval(index={str(job.work / 'index-other')!r},k=5)",
        "retrieval ten": f"retrieval(index={str(job.work / 'index-train')!r},k=10)",
        "eliza en": "eliza(language='en')",
    }
    if job.lm:
        found["chat warm"] = _chat(job, 1.0)
    return {name: spec for name, spec in found.items() if name not in job.excluded}


def other_models(job: Job) -> tuple[str, str]:
    """The trained partners: from another start, with the two middle budgets."""
    return f"{OTHER}-{job.sizes.budgets[1]}", f"{OTHER}-{job.sizes.budgets[2]}"


def known_order(job: Job) -> list[tuple[str, str]]:
    """Pairs (better, worse) that must hold by any standard; all other pairs are left open."""
    group = list(job.group)
    best, untrained = group[-1], group[0]
    found = [(better, worse) for worse, better in combinations(group, 2)]
    found += [(best, HOT), (best, MIXED), (RETRIEVAL, MIXED)]
    found += [(better, untrained) for better in (RETRIEVAL, "eliza", CHAT, TUNED)]
    found += [(better, "echo") for better in (RETRIEVAL, "eliza", CHAT, TUNED)]
    found += [(CHAT, CHAT_HOT), (CHAT, best), (CHAT, MIXED), (TUNED, best), (TUNED, MIXED)]
    names = targets(job)
    return [pair for pair in found if pair[0] in names and pair[1] in names]


def _small(job: Job, name: str, *, temperature: float = 0.7) -> str:
    """Spec of a model trained here; with a budget of 0 it is the untrained start."""
    kind, _, budget = name.partition("-")
    folder = job.work / (start(kind) if budget == "0" else name)
    return (
        f"hf(model={str(folder)!r},temperature={temperature!r},max_tokens={job.sizes.max_tokens},chat=False,"
        f"separator='eos',context={CONTEXT},batch=512,device={job.device!r})"
    )


def _chat(job: Job, temperature: float) -> str:
    return (
        f"hf(model={job.lm!r},temperature={temperature},max_tokens={job.sizes.max_tokens},system_prompt={PERSONA!r},"
        f"device={job.device!r})"
    )


def made(specs: Mapping[str, str]) -> dict[str, Bot]:
    """Bots by name; equal specs share one bot."""
    each: dict[str, Bot] = {}
    for spec in specs.values():
        of = spec.removeprefix("mixed:")
        each.setdefault(spec, create(spec, kind="bot") if of == spec else MixedUp(of))
    return {name: each[spec] for name, spec in specs.items()}


def start(kind: str) -> str:
    """Folder of the initial weights of a kind of model."""
    return f"start-{kind}"


def report(line: str) -> None:
    print(f"bipartite: {line}", file=sys.stderr)
