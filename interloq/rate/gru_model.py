# SPDX-License-Identifier: Apache-2.0
"""The NN-rater's Bi-GRU (Tsuta et al., 2020 and 2023): can R2 be a reply to U1, given the reply R1?

Three texts ⟨U1, R1, R2⟩ → shared Bi-GRU → [v(U1); v(R1); v(R2)] → five ReLU layers → two logits. It never sees both
utterances of a pair of pairs: they are the same in positive examples, so it would only learn to compare them.

A trained rater is a folder with weights, SentencePiece model, learning curve and calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files.durable import write_atomically
from interloq.data.files.opening import reading_saved
from interloq.learn.calibrate import probabilities
from interloq.learn.fit import Part
from interloq.learn.gru import Pieces, SentenceGru, train_pieces
from interloq.learn.job import Curve, Job, Run
from interloq.learn.settings import Training
from interloq.learn.store import check_counts, check_temperature, foreign, load_model, restore_network
from interloq.learn.trainable import PairLog
from interloq.models.batches import make_batches
from interloq.models.processes import pick_device
from interloq.rate import learning
from interloq.rate.examples import ExampleLimits, Examples
from interloq.rate.pairs import NO_LIMITS, NO_PARROTS, RaterPairs, source_of
from interloq.rate.parrots import Parrots
from interloq.rate.settings import Batching, RaterSources, RaterTokenizer, Shape
from interloq.registry import full_spec
from interloq.signature import file_fingerprint, fingerprint

KIND, PIECES = "rater", "pieces.model"
TEXTS, TOKENS = 4_096, 2**16  # encoded per batch
TRIPLETS = 2**15


class RaterNetwork(torch.nn.Module):  # type: ignore[misc]
    """Bi-GRU, and layers that turn its vectors into logits."""

    def __init__(self, vocabulary: int, shape: Shape) -> None:
        super().__init__()
        self.vocabulary, self.shape = vocabulary, shape
        self.encoder = SentenceGru(vocabulary=vocabulary, embedding=shape.embedding, hidden=shape.hidden)
        widths = [6 * shape.hidden, *[shape.width] * shape.layers]
        layers: list[torch.nn.Module] = []
        for width, following in pairwise(widths):
            layers += [torch.nn.Linear(width, following), torch.nn.ReLU()]
        self.judge = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], 2))

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor, triplets: torch.Tensor) -> torch.Tensor:
        """Return the logits [n, 2] of n triplets of text numbers; `tokens` is the concatenation of the texts."""
        return self.logits(self.encoder(tokens, lengths), triplets)

    def logits(self, vectors: torch.Tensor, triplets: torch.Tensor) -> torch.Tensor:
        """Return the logits from the vectors of texts: each text is encoded once, even if many triplets use it."""
        logits: torch.Tensor = self.judge(vectors[triplets].flatten(1))
        return logits

    def config(self) -> dict[str, Any]:
        """Return the configuration from which the network can be rebuilt."""
        return {"vocabulary": self.vocabulary, "shape": asdict(self.shape)}


@dataclass(frozen=True, slots=True)
class GruBatch:
    """Concatenated texts, triplets of text numbers, and labels."""

    tokens: torch.Tensor
    lengths: torch.Tensor
    triplets: torch.Tensor  # ⟨U1, R1, R2⟩ of all examples, then ⟨U2, R2, R1⟩
    labels: torch.Tensor


class RaterTask(learning.RatingTask):
    """Learns from the vectors of three texts."""

    network: RaterNetwork

    def tokens(self, lengths: learning.Ints) -> learning.Ints:
        return np.asarray(lengths.max(axis=1))

    def prepare(self, part: Part, examples: learning.Ints) -> GruBatch:
        rows, labels = (array[examples] for array in self._examples[part])
        distinct, places = np.unique(rows, return_inverse=True)
        u1, r1, u2, r2 = places.reshape(rows.shape).T
        triplets = np.concatenate([np.column_stack([u1, r1, r2]), np.column_stack([u2, r2, r1])])
        tokens, lengths = self.pairs.texts.join(distinct)
        return GruBatch(
            torch.from_numpy(tokens),
            torch.from_numpy(lengths),
            torch.from_numpy(triplets),
            torch.from_numpy(np.tile(labels.astype(np.int64), 2)),
        )

    def logits(self, prepared: GruBatch) -> torch.Tensor:
        device = next(self.network.parameters()).device
        on = [t.to(device, non_blocking=True) for t in (prepared.tokens, prepared.triplets)]
        logits: torch.Tensor = self.network(on[0], prepared.lengths, on[1])
        return logits


@dataclass(frozen=True, kw_only=True)
class GruRaterJob(Job[RaterTask]):
    """Trains a Bi-GRU. Without a `tokenizer` (a SentencePiece model), one with `vocabulary` pieces is trained first."""

    logs: learning.RaterLogs
    settings: Shape
    batching: Batching
    tokenizer: str | Path | None = None
    vocabulary: int = RaterTokenizer.vocabulary
    longest: int = RaterSources.longest

    kind = KIND
    others = learning.OTHERS
    smaller = learning.SMALLER

    def started(self, work: Path) -> bool:
        return RaterPairs.written(work / learning.EXAMPLES) or super().started(work)

    def matches(self, facts: dict[str, Any]) -> bool:
        return super().matches(facts) or learning.was_trained_on(facts, self.source)

    def prepare(self, run: Run) -> None:
        self.logs.report_too_few(self.logs.pairs(run, self.pieces(run), self.source), run)

    def dependencies(self) -> Sequence[str]:
        tokenizer = f"pieces(longest={self.longest},vocabulary={self.vocabulary})"
        if self.tokenizer:
            tokenizer = Pieces(self.tokenizer, longest=self.longest).signature()
        drawing = [full_spec(self.logs.examples), tokenizer, *self.logs.additions]
        return [full_spec(self.batching), *drawing]

    def pieces(self, run: Run) -> Pieces:
        """Return the tokenizer, trained first if it is missing."""
        path = Path(self.tokenizer) if self.tokenizer else run.work / PIECES
        if not path.exists() and not self.tokenizer:
            with run.progress("reading texts for the tokenizer", None) as step:
                train_pieces(chain.from_iterable(self.logs.read()), path, vocabulary=self.vocabulary, step=step)
        return Pieces(path, longest=self.longest)

    def task(self, run: Run) -> RaterTask:
        torch.manual_seed(self.training.seed)
        pieces = self.pieces(run)
        network, pairs = RaterNetwork(pieces.size, self.settings), self.logs.pairs(run, pieces, self.source)
        return RaterTask(network, pairs, self.batching, seed=self.training.seed)

    def facts(self, task: RaterTask, run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        pieces = self.pieces(run)
        specs = map(full_spec, (self.settings, self.batching, self.training))
        return learning.rater_facts(task, KIND, [*specs, pieces.signature()]) | {
            "config": task.network.config(),
            "pieces": file_fingerprint(pieces.model),
            "longest": self.longest,
        }

    def save_extras(self, folder: Path, run: Run) -> None:
        write_atomically(folder / PIECES, self.pieces(run).model.read_bytes())


def from_log(
    log: PairLog,
    given: RaterSources,
    training: Training,
    batching: Batching,
    examples: Examples,
    own: RaterTokenizer,
    shape: Shape,
    parrots: Parrots = NO_PARROTS,
    limits: ExampleLimits = NO_LIMITS,
) -> GruRaterJob:
    """Return the job of `interloq train rater`."""
    folder = Path(given.examples) if given.examples else None
    return GruRaterJob(
        logs=learning.RaterLogs(log.logs, examples, folder, parrots, limits),
        source=source_of(log, given.examples if own.tokenizer else None),
        longest=given.longest,
        tokenizer=own.tokenizer,
        vocabulary=own.vocabulary,
        settings=shape,
        batching=batching,
        training=training,
    )


class RaterModel:
    """A trained rater, ready to use. It reads one turn of the context."""

    turns = 1

    def __init__(self, network: RaterNetwork, pieces: Pieces, facts: dict[str, Any], device: str = "auto") -> None:
        self.device = pick_device(device)
        self.network = network.to(self.device).eval()
        self.pieces, self.facts = pieces, facts

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> RaterModel:
        """Load a rater from its folder."""
        folder = Path(folder)
        facts, tensors = load_model(folder, kind=KIND)
        if not (folder / PIECES).exists() or file_fingerprint(folder / PIECES) != facts.get("pieces"):
            raise foreign(PIECES, folder, "rater")
        with reading_saved(folder):
            check_counts(facts, "longest")
            pieces = Pieces(folder / PIECES, longest=facts["longest"])
            config, shape = facts["config"], Shape(**facts["config"]["shape"])
            check_counts({"layers": shape.layers}, "layers", most=len(tensors))  # each has weights of its own
            check_temperature(facts)
        network = restore_network(lambda: RaterNetwork(config["vocabulary"], shape), tensors, folder)
        return cls(network, pieces, facts, device)

    @property
    def fingerprint(self) -> str:
        """Short hash of everything that affects its output."""
        return fingerprint(self.facts["weights"], self.facts["pieces"], str(self.facts["temperature"]))

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def chances(self, triplets: Sequence[tuple[str, str, str]], *, calibrated: bool = False) -> NDArray[np.float64]:
        """Return P(R2 can be a reply to U1) of triplets (U1, R1, R2). Each distinct text is encoded once."""
        texts, indices = learning.number_texts(triplets)
        vectors = self._vectors(texts)
        parts = [self._difference(vectors, indices[i : i + TRIPLETS]) for i in range(0, len(indices), TRIPLETS)]
        difference = np.concatenate(parts) if parts else np.zeros(0)
        return probabilities(difference, self.facts["temperature"] if calibrated else 1.0)

    def _difference(self, vectors: torch.Tensor, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        logits = self.network.logits(vectors, torch.from_numpy(indices).to(self.device)).double()
        difference: NDArray[np.float64] = (logits[:, 1] - logits[:, 0]).cpu().numpy()
        return difference

    def _vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Return the vectors of distinct texts, encoded in batches of similar length."""
        pieces = self.pieces.texts(texts)
        vectors = torch.zeros(len(texts), 2 * self.network.shape.hidden, device=self.device)
        for batch in make_batches(pieces.lengths, size=TEXTS, tokens=TOKENS, rng=None):
            tokens, lengths = pieces.join(batch)
            vectors[torch.from_numpy(batch).to(self.device)] = self.network.encoder(
                torch.from_numpy(tokens).to(self.device), torch.from_numpy(lengths)
            )
        return vectors
