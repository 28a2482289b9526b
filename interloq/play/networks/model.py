# SPDX-License-Identifier: Apache-2.0
"""A trained network that writes replies: a folder with weights in half precision, SentencePiece model and facts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.opening import reading_saved
from interloq.data.text.tokenize import sentencepiece_processor
from interloq.errors import InputError
from interloq.learn.gru import Pieces
from interloq.learn.store import check_counts, foreign, load_model, restore_network
from interloq.models.processes import pick_device
from interloq.play.networks.conv import ConvNetwork
from interloq.play.networks.lstm import LstmNetwork
from interloq.play.networks.network import SEPARATOR, Prompt, ReplyNetwork
from interloq.play.networks.reply_log import context_texts
from interloq.play.networks.settings import BotNetwork, BotReading
from interloq.play.networks.transformer import TransformerNetwork
from interloq.play.networks.vhred import VhredNetwork
from interloq.records import Turn
from interloq.signature import file_fingerprint, fingerprint

KIND, PIECES = "bot", "pieces.model"
LONGEST = 128  # tokens of a turn


def make_network(vocabulary: int, settings: BotNetwork, reading: BotReading) -> ReplyNetwork:
    """Return the untrained network of these settings."""
    sizes: dict[str, Any] = {
        "dimensions": settings.dimensions,
        "layers": settings.depth,
        "dropout": settings.dropout,
    }
    match settings.kind:
        case "lstm":
            return LstmNetwork(vocabulary, **sizes)
        case "conv":
            return ConvNetwork(
                vocabulary, kernel=settings.kernel, positions=max(reading.context, reading.reply + 1), **sizes
            )
        case "transformer":
            return TransformerNetwork(vocabulary, heads=settings.heads, **sizes)
        case "vhred":
            return VhredNetwork(
                vocabulary,
                latent=settings.latent,
                annealing=settings.annealing,
                word_dropout=settings.word_dropout,
                **sizes,
            )


class ReplyModel:
    """A trained network, ready to use."""

    def __init__(self, network: ReplyNetwork, pieces: Pieces, facts: dict[str, Any], device: str = "auto") -> None:
        self.network = network.to(pick_device(device)).eval()
        self.pieces, self.facts = pieces, facts
        self.settings = BotNetwork(**facts["config"]["network"])
        self.reading = BotReading(**facts["config"]["reading"])

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> ReplyModel:
        """Load a network from its folder."""
        folder = Path(folder)
        facts, tensors = load_model(folder, kind=KIND)
        if not (folder / PIECES).exists() or file_fingerprint(folder / PIECES) != facts.get("pieces"):
            raise foreign(PIECES, folder, "bot")
        with reading_saved(folder):
            config = facts["config"]
            check_counts(config, "vocabulary")
            settings = BotNetwork(**config["network"])
            check_counts({"layers": settings.depth}, "layers", most=len(tensors))  # each has weights of its own
            reading = BotReading(**config["reading"])
        floats = {name: tensor.float() for name, tensor in tensors.items()}
        network = restore_network(lambda: make_network(config["vocabulary"], settings, reading), floats, folder)
        assert isinstance(network, ReplyNetwork)  # noqa: S101 - what was made above
        return cls(network, Pieces(folder / PIECES, longest=LONGEST), facts, device)

    @property
    def fingerprint(self) -> str:
        """Short hash of everything that affects its output."""
        return fingerprint(self.facts["weights"], self.facts["pieces"])

    def prompts(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Prompt]:
        """Return the tokens of each dialogue's last turns, cut as in training."""
        prompts = []
        for turns, seed in zip(dialogues, seeds, strict=True):
            rows: list[int] = []
            for text in self._tokens(context_texts(turns, self.reading.turns)):
                rows += [SEPARATOR, *text]
            prompts.append(Prompt(rows[1:][-self.reading.context :], seed))
        return prompts

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of a reply."""
        return str(sentencepiece_processor(str(self.pieces.model)).decode(list(tokens)))

    def log_probabilities(self, contexts: Sequence[Sequence[Turn]], replies: Sequence[str]) -> NDArray[np.float64]:
        """Return log p(reply | context), or of a reverse network log p(last turn | reply)."""
        targets = self._tokens(replies)
        sources: list[Sequence[int]] = [prompt.tokens for prompt in self.prompts(contexts, [0] * len(contexts))]
        if self.settings.reverse:
            sources = list(targets)
            targets = self._tokens([context_texts(turns, 1)[0] for turns in contexts])
        targets = [row[: self.reading.reply] for row in targets]
        chances: NDArray[np.float64] = self.network.log_probabilities(sources, targets)
        return chances

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        tokens = self.pieces.texts(texts)
        return [tokens[i].tolist() for i in range(len(texts))]


def load_backward(folder: str | Path, *, device: str = "auto") -> ReplyModel:
    """Load a network trained with `--reverse`; another one is refused."""
    model = ReplyModel.load(folder, device=device)
    if not model.settings.reverse:
        raise InputError(
            "the network predicts replies, not last turns", hint="train it with --reverse", where=str(folder)
        )
    return model
