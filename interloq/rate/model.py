# SPDX-License-Identifier: Apache-2.0
"""A trained Bi-GRU rater: a folder with weights, SentencePiece model, learning curve and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files.durable import write_atomically
from interloq.data.files.opening import reading_saved
from interloq.learn.calibrate import probabilities
from interloq.learn.job import Curve, Run
from interloq.learn.pieces import Pieces, train_pieces
from interloq.learn.settings import Training
from interloq.learn.store import check_counts, check_temperature, foreign, load_model, restored
from interloq.learn.trainable import PairLog
from interloq.models.batches import bucketed
from interloq.models.processes import pick_device
from interloq.rate.examples import Examples
from interloq.rate.learning import RaterJob, number_texts
from interloq.rate.network import RaterNetwork, RaterTask
from interloq.rate.pairs import source_of
from interloq.rate.settings import Batching, RaterSources, RaterTokenizer, Shape
from interloq.registry import full_spec
from interloq.signature import file_fingerprint, fingerprint

KIND, PIECES = "rater", "pieces.model"
TEXTS, TOKENS = 4_096, 2**16  # encoded per batch
TRIPLETS = 2**15


@dataclass(frozen=True, kw_only=True)
class GruRaterJob(RaterJob[RaterTask]):
    """Trains a Bi-GRU. Without a `tokenizer` (a SentencePiece model), one of `vocabulary` pieces is trained first."""

    settings: Shape
    batching: Batching
    tokenizer: str | Path | None = None
    vocabulary: int = RaterTokenizer.vocabulary
    longest: int = RaterSources.longest

    kind = KIND

    def dependencies(self) -> Sequence[str]:
        trained = f"pieces(longest={self.longest},vocabulary={self.vocabulary})"
        tokenizer = Pieces(self.tokenizer, longest=self.longest).signature() if self.tokenizer else trained
        return [full_spec(self.batching), full_spec(self.examples), tokenizer]

    def numbering(self, run: Run) -> Pieces:
        path = Path(self.tokenizer) if self.tokenizer else run.work / PIECES
        if not path.exists() and not self.tokenizer:
            with run.progress("reading texts for the tokenizer", None) as step:
                train_pieces(chain.from_iterable(self.logs()), path, vocabulary=self.vocabulary, step=step)
        return Pieces(path, longest=self.longest)

    def task(self, run: Run) -> RaterTask:
        torch.manual_seed(self.training.seed)
        network = RaterNetwork(self.numbering(run).size, self.settings)
        return RaterTask(network, self.pairs(run), self.batching, seed=self.training.seed)

    def signature(self, run: Run) -> list[str]:
        specs = map(full_spec, (self.settings, self.batching, self.training))
        return [*specs, self.numbering(run).signature()]

    def facts(self, task: RaterTask, run: Run, curve: Curve) -> dict[str, Any]:
        own = {"pieces": file_fingerprint(self.numbering(run).model), "longest": self.longest}
        return {**super().facts(task, run, curve), "config": task.network.config(), **own}

    def save_extras(self, folder: Path, run: Run) -> None:
        write_atomically(folder / PIECES, self.numbering(run).model.read_bytes())


def from_log(
    log: PairLog,
    given: RaterSources,
    training: Training,
    batching: Batching,
    examples: Examples,
    own: RaterTokenizer,
    shape: Shape,
) -> GruRaterJob:
    """Job of `interloq train rater`."""
    return GruRaterJob(
        logs=log.logs,
        source=source_of(log, given.examples if own.tokenizer else None),
        kept=Path(given.examples) if given.examples else None,
        longest=given.longest,
        tokenizer=own.tokenizer,
        vocabulary=own.vocabulary,
        settings=shape,
        batching=batching,
        examples=examples,
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
        network = restored(lambda: RaterNetwork(config["vocabulary"], shape), tensors, folder)
        return cls(network, pieces, facts, device)

    @property
    def fingerprint(self) -> str:
        """Short hash of everything that affects its output."""
        return fingerprint(self.facts["weights"], self.facts["pieces"], str(self.facts["temperature"]))

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def chances(self, triplets: Sequence[tuple[str, str, str]], *, calibrated: bool = False) -> NDArray[np.float64]:
        """P(R2 can be a reply to U1) of triplets (U1, R1, R2). Each distinct text is encoded once."""
        place, indices = number_texts(triplets)
        vectors = self._vectors(list(place))
        parts = [self._difference(vectors, indices[i : i + TRIPLETS]) for i in range(0, len(indices), TRIPLETS)]
        difference = np.concatenate(parts) if parts else np.zeros(0)
        return probabilities(difference, self.facts["temperature"] if calibrated else 1.0)

    def _difference(self, vectors: torch.Tensor, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        logits = self.network.logits(vectors, torch.from_numpy(indices).to(self.device)).double()
        difference: NDArray[np.float64] = (logits[:, 1] - logits[:, 0]).cpu().numpy()
        return difference

    def _vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Vectors of distinct texts, encoded in batches of similar length."""
        pieces = self.pieces.texts(texts)
        vectors = torch.zeros(len(texts), 2 * self.network.shape.hidden, device=self.device)
        for batch in bucketed(pieces.lengths, size=TEXTS, tokens=TOKENS, rng=None):
            tokens, lengths = pieces.joined(batch)
            vectors[torch.from_numpy(batch).to(self.device)] = self.network.encoder(
                torch.from_numpy(tokens).to(self.device), torch.from_numpy(lengths)
            )
        return vectors
