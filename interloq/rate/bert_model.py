"""A trained BERT rater in a folder: all weights, configuration, tokenizer, learning curve, calibration."""

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
from interloq.learn.settings import Training
from interloq.learn.store import FACTS, check_counts, check_temperature, load_model, restored, save_model
from interloq.models.batches import bucketed
from interloq.models.cross_encoder import CONFIG, CrossEncoder, Rows, joined_rows, row_lengths
from interloq.models.memory import cut_to_fit
from interloq.models.pretrained import weights_fingerprint
from interloq.models.processes import pick_device
from interloq.models.subwords import Subwords
from interloq.rate.bert_task import BertRaterTask
from interloq.rate.learning import check_same, learn
from interloq.rate.pairs import RaterPairs
from interloq.rate.settings import BERT_BATCHING, BERT_TRAINING, Batching
from interloq.registry import full_spec
from interloq.signature import file_fingerprint, fingerprint
from interloq.version import __version__

KIND = "bert_rater"
OUTPUTS = 2
TRIPLETS, TOKENS = 1_024, 2**15  # read at a time


def train_bert_rater(
    pairs: RaterPairs,
    subwords: Subwords,
    folder: str | Path,
    *,
    batching: Batching = BERT_BATCHING,
    training: Training = BERT_TRAINING,
    device: str = "auto",
    progress: Progress = silent,
    say: Callable[[str], None] = lambda _: None,
) -> BertRaterModel:
    """Fine-tune the encoder that the subwords belong to and save to `folder`; a job cut short goes on."""
    folder, encoder = Path(folder), subwords.folder
    weights = f"encoder:{weights_fingerprint(encoder)}-{file_fingerprint(encoder / CONFIG)}"
    made_of = [weights, subwords.signature(), pairs.fingerprint, f"version:{__version__}"]
    signature = "|".join([full_spec(batching), full_spec(training), *made_of])
    if (folder / FACTS).exists():
        model = BertRaterModel.load(folder)
        check_same(model.facts, signature, folder)
        say(f"{folder} is trained already")
        return model
    torch.manual_seed(training.seed)
    network = _pretrained(encoder, subwords)
    task = BertRaterTask(network, pairs, subwords, batching, seed=training.seed)

    def keep(facts: dict[str, Any]) -> None:
        _save(folder, network, subwords, facts)

    learn(task, pairs, training, folder, signature=signature, keep=keep, device=device, progress=progress, say=say)
    return BertRaterModel.load(folder)


def _pretrained(encoder: Path, subwords: Subwords) -> CrossEncoder:
    network = CrossEncoder.pretrained(encoder, OUTPUTS)
    if subwords.size > network.vocabulary:
        raise InputError(
            f"the tokenizer has {subwords.size} tokens, the encoder {network.vocabulary}",
            cure="name an encoder with its own tokenizer",
            where=str(encoder),
        )
    return network


def _save(folder: Path, network: CrossEncoder, subwords: Subwords, facts: dict[str, Any]) -> None:
    """The facts come last, so a folder without them is none."""
    subwords.save(folder)
    with replacing(folder / CONFIG) as file:
        file.write((subwords.folder / CONFIG).read_bytes())
    own = {
        "config": file_fingerprint(folder / CONFIG),
        "subwords": subwords.signature(),
        "longest": subwords.longest,
    }
    save_model(folder, network.state_dict(), {"kind": KIND, **facts, **own})


class BertRaterModel:
    """A trained rater, ready to be asked. It computes in float32."""

    def __init__(self, network: CrossEncoder, subwords: Subwords, facts: dict[str, Any], device: str = "auto") -> None:
        self.device = pick_device(device)
        self.network = network.to(self.device).eval()
        self.subwords, self.facts = subwords, facts
        self.tokens = TOKENS

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> BertRaterModel:
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
            lacking=lambda: InputError(
                f"no memory for one triplet of {rows.ids.shape[1]} tokens on {self.device}",
                cure="use a smaller encoder, or a machine with more memory",
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
        cure="copy the rater's folder whole, or train it again",
        where=str(folder),
    )
