"""A trained NN-rater in a folder: weights, SentencePiece model, learning curve, calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files import reading_saved, replacing
from interloq.data.progress import Progress, silent
from interloq.errors import InputError
from interloq.learn.calibrate import probabilities
from interloq.learn.pieces import Pieces
from interloq.learn.settings import Training
from interloq.learn.store import FACTS, check_counts, check_temperature, load_model, restored, save_model
from interloq.models.batches import bucketed
from interloq.models.processes import pick_device
from interloq.rate.learning import check_same, learn
from interloq.rate.network import RaterNetwork, RaterTask
from interloq.rate.pairs import RaterPairs
from interloq.rate.settings import Batching, Shape
from interloq.registry import full_spec
from interloq.signature import file_fingerprint, fingerprint
from interloq.version import __version__

KIND, PIECES = "rater", "pieces.model"
TEXTS, TOKENS = 4_096, 2**16  # encoded at a time
TRIPLETS = 2**15


def train_rater(
    pairs: RaterPairs,
    pieces: Pieces,
    folder: str | Path,
    *,
    shape: Shape = Shape(),  # noqa: B008
    batching: Batching = Batching(),  # noqa: B008
    training: Training = Training(),  # noqa: B008
    device: str = "auto",
    progress: Progress = silent,
    say: Callable[[str], None] = lambda _: None,
) -> RaterModel:
    """Train on examples and save to `folder`; a job that was cut short goes on where it was."""
    folder = Path(folder)
    signature = "|".join(
        [*map(full_spec, (shape, batching, training)), pieces.signature(), pairs.fingerprint, f"version:{__version__}"]
    )
    if (folder / FACTS).exists():
        model = RaterModel.load(folder)
        check_same(model.facts, signature, folder)
        say(f"{folder} is trained already")
        return model
    torch.manual_seed(training.seed)
    task = RaterTask(RaterNetwork(pieces.size, shape), pairs, batching, seed=training.seed)

    def keep(facts: dict[str, Any]) -> None:
        _save(folder, task.network, pieces, facts)

    learn(task, pairs, training, folder, signature=signature, keep=keep, device=device, progress=progress, say=say)
    return RaterModel.load(folder)


def _save(folder: Path, network: RaterNetwork, pieces: Pieces, facts: dict[str, Any]) -> None:
    with replacing(folder / PIECES) as file:
        file.write(pieces.model.read_bytes())
    own = {"pieces": file_fingerprint(folder / PIECES), "longest": pieces.longest}
    save_model(folder, network.state_dict(), {"kind": KIND, **facts, "config": network.config(), **own})


class RaterModel:
    """A trained rater, ready to be asked."""

    def __init__(self, network: RaterNetwork, pieces: Pieces, facts: dict[str, Any], device: str = "auto") -> None:
        self.device = pick_device(device)
        self.network = network.to(self.device).eval()
        self.pieces, self.facts = pieces, facts

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> RaterModel:
        folder = Path(folder)
        facts, tensors = load_model(folder, kind=KIND)
        if not (folder / PIECES).exists() or file_fingerprint(folder / PIECES) != facts.get("pieces"):
            raise InputError(
                f"{PIECES} is missing or not the one the rater was trained with",
                cure="copy the rater's folder whole, or train it again",
                where=str(folder),
            )
        with reading_saved(folder):
            check_counts(facts, "longest")
            pieces = Pieces(folder / PIECES, longest=facts["longest"])
            config, shape = facts["config"], Shape(**facts["config"]["shape"])
            check_temperature(facts)
        network = restored(lambda: RaterNetwork(config["vocabulary"], shape), tensors, folder)
        return cls(network, pieces, facts, device)

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.facts["weights"], self.facts["pieces"], str(self.facts["temperature"]))

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def chances(self, triplets: Sequence[tuple[str, str, str]], *, calibrated: bool = False) -> NDArray[np.float64]:
        """P(R2 can be a reply to U1) of triplets (U1, R1, R2). Each distinct text is encoded once."""
        texts = list(dict.fromkeys(text for triplet in triplets for text in triplet))
        place = {text: i for i, text in enumerate(texts)}
        vectors = self._vectors(texts)
        named = np.array([[place[text] for text in triplet] for triplet in triplets], dtype=np.int64).reshape(-1, 3)
        parts = [self._difference(vectors, named[i : i + TRIPLETS]) for i in range(0, len(named), TRIPLETS)]
        difference = np.concatenate(parts) if parts else np.zeros(0)
        return probabilities(difference, self.facts["temperature"] if calibrated else 1.0)

    def _difference(self, vectors: torch.Tensor, named: NDArray[np.int64]) -> NDArray[np.float64]:
        logits = self.network.logits(vectors, torch.from_numpy(named).to(self.device)).double()
        difference: NDArray[np.float64] = (logits[:, 1] - logits[:, 0]).cpu().numpy()
        return difference

    def _vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Vectors of distinct texts, encoded with others of like length."""
        pieces = self.pieces.texts(texts)
        vectors = torch.zeros(len(texts), 2 * self.network.shape.hidden, device=self.device)
        for batch in bucketed(pieces.lengths, size=TEXTS, tokens=TOKENS, rng=None):
            tokens, lengths = pieces.joined(batch)
            vectors[torch.from_numpy(batch).to(self.device)] = self.network.encoder(
                torch.from_numpy(tokens).to(self.device), torch.from_numpy(lengths)
            )
        return vectors
