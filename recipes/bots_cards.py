"""Cards of trained bots: perplexity, diversity, length, speed and samples on the same held-out exchanges."""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.durable import write_atomically
from interloq.data.records.jsonl import read
from interloq.play.bot import ask_bot
from interloq.play.bots.hugging_face import HuggingFace
from interloq.play.bots.retrieval import Retrieval
from interloq.play.bots.seq2seq import Seq2Seq
from interloq.terminal.console import print_stderr

REPLIES, SHOWN = 500, 4  # held-out contexts answered, and shown
TEST = "test.jsonl"
UNSPACED = ("ja", "zh")


@dataclass(frozen=True, slots=True)
class Card:
    """What is known about one bot."""

    name: str
    language: str
    weights: int
    megabytes: float
    perplexity: float  # per word, or per character
    bound: bool  # whether the perplexity is an upper bound
    distinct: tuple[float, float]
    length: float
    speed: float
    samples: tuple[tuple[str, str], ...]
    spec: str


def write_cards(bots: Path, work: Path, output: Path | None, *, device: str = "auto") -> None:
    """Measure each bot in a folder; print the cards, or write them to a file."""
    cards = []
    for facts_file in sorted(bots.glob("*/model.json")):
        facts = json.loads(facts_file.read_text("utf-8"))
        if not (facts["reverse"] if facts["kind"] == "causal" else facts["config"]["network"]["reverse"]):
            cards.append(measure(facts_file.parent, facts, work, device))
            print_stderr(f"{facts_file.parent.name}: done")
    indexes = sorted(path.parent for path in bots.glob("*/segments"))
    cards += [measure(folder, {"language": "en", "weights_count": 0}, work, device) for folder in indexes]
    text = render(cards, device)
    if output is None:
        print(text)
    else:
        write_atomically(output, text.encode("utf-8"))


def measure(folder: Path, facts: dict[str, Any], work: Path, device: str) -> Card:
    """Return the card of one bot."""
    language = facts["language"] or "en"
    samples = list(read(work / language / TEST, kind="samples"))
    contexts, responses = [sample.context for sample in samples], [sample.response for sample in samples]
    bot: Any
    match facts.get("kind"):
        case "bot":
            bot = Seq2Seq(model=str(folder), top_p=0.9, device=device)  # type: ignore[arg-type]
            chances = bot.network.log_probabilities(contexts, responses)
            written = f"seq2seq(model='{folder.name}',top_p=0.9)"
        case "causal":
            bot = HuggingFace(model=str(folder), device=device)  # type: ignore[arg-type]
            chances = np.array(bot.log_probabilities(contexts, responses))
            written = f"hf(model='{folder.name}')"
        case _:
            bot = Retrieval(index=str(folder))
            chances = np.full(len(samples), np.nan)
            written = f"retrieval(index='{folder.name}')"
    first = samples[:REPLIES]
    bot.replies([first[0].context], [0])  # loads everything
    start = time.perf_counter()
    replies = [reply.text for reply in ask_bot(bot, [sample.context for sample in first], range(len(first)))]
    speed = len(first) / (time.perf_counter() - start)
    shown = tuple((sample.context[-1].text, reply) for sample, reply in zip(first[:SHOWN], replies, strict=False))
    return Card(
        name=folder.name,
        language=language,
        weights=facts["weights_count"],
        megabytes=sum(path.stat().st_size for path in folder.glob("model.*")) / 1e6,
        perplexity=perplexity(chances, responses, language),
        bound="kl" in facts,
        distinct=(distinct(replies, 1, language), distinct(replies, 2, language)),
        length=float(np.mean([len(split_words(text, language)) for text in replies])),
        speed=speed,
        samples=shown,
        spec=written,
    )


def split_words(text: str, language: str) -> list[str]:
    """Return the words of a text, or its characters in a language without spaces."""
    if language in UNSPACED:
        return [character for character in text if not character.isspace()]
    return text.split()


def perplexity(chances: NDArray[np.float64], replies: Sequence[str], language: str) -> float:
    """Return the perplexity per word; the end of each reply counts as a word."""
    words = sum(len(split_words(reply, language)) + 1 for reply in replies)
    return math.exp(-float(chances.sum()) / words)


def distinct(texts: Sequence[str], n: int, language: str) -> float:
    """Return the share of different n-grams among all n-grams (Li et al., 2016)."""
    grams = []
    for text in texts:
        words = split_words(text.lower(), language)
        grams += [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    return len(set(grams)) / max(1, len(grams))


def render(cards: Sequence[Card], device: str) -> str:
    """Return the cards as Markdown."""
    lines = [
        "# Trained bots",
        "",
        "Written by `python recipes/bots.py cards`. Perplexity is per word (Japanese: per character) on held-out",
        "replies, with the end of a reply counted as a word; for VHRED it is an upper bound. Replies are sampled with",
        f"top-p 0.9 for {REPLIES} held-out contexts, in batches of 256, on {_machine(device)}.",
        "",
        "| bot | language | weights | stored | perplexity | distinct-1 | distinct-2 | words | replies/s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for card in cards:
        perplexity_text = f"{'≤ ' if card.bound else ''}{card.perplexity:.1f}"
        if math.isnan(card.perplexity):  # a retrieval bot
            perplexity_text = "–"
        row = [
            *(card.name, card.language, f"{card.weights / 1e6:.2f} M", f"{card.megabytes:.1f} MB"),
            *(perplexity_text, *(f"{share:.3f}" for share in card.distinct)),
            *(f"{card.length:.1f}", f"{card.speed:,.0f}"),
        ]
        lines.append(f"| {' | '.join(row)} |")
    for card in cards:
        lines += ["", f"## {card.name}", "", f"`{card.spec}`", "", "| last turn | reply |", "|---|---|"]
        lines += [f"| {_cell(turn)} | {_cell(reply)} |" for turn, reply in card.samples]
    return "\n".join(lines) + "\n"


def _machine(device: str) -> str:
    import torch

    if device != "cpu" and torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    return f"{platform.machine()} CPU, {torch.get_num_threads()} threads"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
