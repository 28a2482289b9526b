"""A trained BERT rater in a folder: all weights, configuration, tokenizer, learning curve, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.durable import write_whole
from interloq.data.files import reading_saved
from interloq.errors import InputError
from interloq.learn.calibrate import probabilities
from interloq.learn.job import Curve, Run
from interloq.learn.settings import Training
from interloq.learn.store import check_counts, check_temperature, load_model, restored
from interloq.learn.trainable import Log
from interloq.models.batches import bucketed
from interloq.models.cross_encoder import CONFIG, CrossEncoder, Rows, joined_rows, row_lengths
from interloq.models.memory import cut_to_fit
from interloq.models.pretrained import model_folder, weights_fingerprint
from interloq.models.processes import pick_device
from interloq.models.subwords import Subwords
from interloq.rate.bert_task import BertRaterTask
from interloq.rate.examples import Examples
from interloq.rate.learning import RaterJob
from interloq.rate.settings import Batching, Sources
from interloq.registry import full_spec
from interloq.signature import file_fingerprint, fingerprint

KIND = "bert_rater"
OUTPUTS = 2
TRIPLETS, TOKENS = 1_024, 2**15  # read at a time


@dataclass(frozen=True, kw_only=True)
class BertRaterJob(RaterJob[BertRaterTask]):
    """Fine-tunes the encoder that the subwords belong to."""

    subwords: Subwords
    settings: Batching

    kind = KIND

    def made_of(self) -> Sequence[str]:
        return [self._weights(), self.subwords.signature(), full_spec(self.examples)]

    def _weights(self) -> str:
        encoder = self.subwords.folder
        return f"encoder:{weights_fingerprint(encoder)}-{file_fingerprint(encoder / CONFIG)}"

    def numbering(self, run: Run) -> Subwords:  # noqa: ARG002
        return self.subwords

    def task(self, run: Run) -> BertRaterTask:
        torch.manual_seed(self.training.seed)
        network = _pretrained(self.subwords)
        return BertRaterTask(network, self.pairs(run), self.subwords, self.settings, seed=self.training.seed)

    def signature(self, run: Run) -> list[str]:  # noqa: ARG002
        specs = [full_spec(self.settings), full_spec(self.training)]
        return [*specs, self._weights(), self.subwords.signature()]

    def facts(self, task: BertRaterTask, run: Run, curve: Curve) -> dict[str, Any]:
        subwords = self.subwords
        return super().facts(task, run, curve) | {
            "config": file_fingerprint(subwords.folder / CONFIG),
            "subwords": subwords.signature(),
            "longest": subwords.longest,
        }

    def keep(self, folder: Path, run: Run) -> None:  # noqa: ARG002
        self.subwords.save(folder)
        write_whole(folder / CONFIG, (self.subwords.folder / CONFIG).read_bytes())


def from_log(log: Log, given: Sources, training: Training, batching: Batching, examples: Examples) -> BertRaterJob:
    """The job of `interloq train rater --encoder`."""
    return BertRaterJob(
        logs=log.logs,
        source=log.fingerprint,
        kept=Path(given.examples) if given.examples else None,
        subwords=Subwords(model_folder(str(given.encoder)), longest=given.longest),
        settings=batching,
        examples=examples,
        training=training,
    )


def _pretrained(subwords: Subwords) -> CrossEncoder:
    network = CrossEncoder.pretrained(subwords.folder, OUTPUTS)
    if subwords.size > network.vocabulary:
        raise InputError(
            f"the tokenizer has {subwords.size} tokens, the encoder {network.vocabulary}",
            hint="name an encoder with its own tokenizer",
            where=str(subwords.folder),
        )
    return network


class BertRaterModel:
    """A trained rater, ready to be asked. It computes in float32."""

    def __init__(self, network: CrossEncoder, subwords: Subwords, facts: dict[str, Any], device: str = "auto") -> None:
        self.device = pick_device(device)
        self.network = network.to(self.device).eval()
        self.subwords, self.facts = subwords, facts
        self.tokens = TOKENS

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> BertRaterModel:
        """The model that a folder holds."""
        folder = Path(folder)
        facts, tensors = load_model(folder, kind=KIND)
        if not (folder / CONFIG).exists() or file_fingerprint(folder / CONFIG) != facts.get("config"):
            raise _foreign(CONFIG, folder)
        with reading_saved(folder):
            check_counts(facts, "longest")
            subwords = Subwords(folder, longest=facts["longest"])
            if subwords.signature() != facts["subwords"]:
                raise _foreign("the tokenizer", folder)
            check_temperature(facts)
        network = restored(lambda: CrossEncoder.empty(folder, OUTPUTS), tensors, folder)
        return cls(network, subwords, facts, device)

    @property
    def fingerprint(self) -> str:
        """Short hash of everything that changes its numbers."""
        names = ("weights", "config", "subwords", "temperature")
        return fingerprint(*(str(self.facts[name]) for name in names))

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def chances(self, triplets: Sequence[tuple[str, str, str]], *, calibrated: bool = False) -> NDArray[np.float64]:
        """P(R2 can be a reply to U1) of triplets (U1, R1, R2). Each distinct triplet is read once."""
        distinct = {triplet: i for i, triplet in enumerate(dict.fromkeys(triplets))}
        difference = self._difference(list(distinct))[[distinct[triplet] for triplet in triplets]]
        return probabilities(difference, self.facts["temperature"] if calibrated else 1.0)

    def _difference(self, triplets: Sequence[tuple[str, str, str]]) -> NDArray[np.float64]:
        """Logits, positive minus negative, of triplets that are read with others of like length."""
        place = {text: i for i, text in enumerate(dict.fromkeys(text for triplet in triplets for text in triplet))}
        named = np.array([[place[text] for text in triplet] for triplet in triplets], dtype=np.int64).reshape(-1, 3)
        texts, limit = self.subwords.texts(list(place)), self.network.positions
        lengths = row_lengths(texts.lengths[named], limit)
        found = np.zeros(len(named))
        for batch in bucketed(lengths, size=TRIPLETS, tokens=self.tokens, rng=None):
            logits = self._logits(joined_rows(texts, named[batch], self.subwords, limit=limit)).double()
            found[batch] = (logits[:, 1] - logits[:, 0]).cpu().numpy()
        return found

    def _logits(self, rows: Rows) -> torch.Tensor:
        parts = cut_to_fit(
            lambda part: self.network(rows[part]),
            len(rows.ids),
            error=lambda: InputError(
                f"no memory for one triplet of {rows.ids.shape[1]} tokens on {self.device}",
                hint="use a smaller encoder, or a machine with more memory",
            ),
            smaller=self._halve,
        )
        return torch.cat(parts)

    def _halve(self) -> None:
        """Later batches are smaller from the start."""
        self.tokens = max(1, self.tokens // 2)


def _foreign(what: str, folder: Path) -> InputError:
    return InputError(
        f"{what} is missing or not the one the rater was trained with",
        hint="copy the rater's folder whole, or train it again",
        where=str(folder),
    )
