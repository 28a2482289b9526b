"""How likely texts are to an encoder that guesses masked tokens: each token is hidden in turn and guessed at.

Σ log p(token | the other tokens) over the tokens of `[CLS] text [SEP]` is the pseudo-log-likelihood of Salazar et al.
(2020). Tokens that the tokenizer does not know are read but not guessed at: no encoder learns to guess [UNK].

A head that was never trained would guess at random, so encoders without one are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from interloq.data.files import read_json, reading_saved
from interloq.data.token_texts import Texts
from interloq.errors import InputError
from interloq.models.batches import bucketed
from interloq.models.cross_encoder import Rows, joined_rows
from interloq.models.memory import cut_to_fit
from interloq.models.pretrained import load_network, load_tokenizer, model_folder, weights_fingerprint
from interloq.models.processes import pick_device
from interloq.models.subwords import LONGEST, Subwords
from interloq.models.token_guesser import SPARE, Marks, TokenGuesser, marks_of

Mode = Literal["likelihood", "surprise"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TOKENS, ROWS = 8192, 256  # in a batch, padding included
BOUNDS = "replies.json"
LOW, HIGH = 0.25, 0.75  # quantiles of the replies of a log, as in the code of Phy et al.
SPECIAL = 2  # [CLS] and [SEP]
HINT = "name an encoder with its head for masked tokens, or train one on your logs with: interloq train adapt"


class MaskedLikelihood:
    """Calculated in float32: batches change a sum by less than 1e-5 of it."""

    def __init__(self, guesser: TokenGuesser, subwords: Subwords, marks: Marks, *, device: str = "auto") -> None:
        self.device = pick_device(device)
        self.guesser = guesser.to(self.device).eval()
        self.subwords, self.marks, self.tokens = subwords, marks, TOKENS

    @classmethod
    def load(cls, name: str, *, device: str = "auto", longest: int = LONGEST) -> MaskedLikelihood:
        """`name` as in `models.pretrained`. Of each text the first `longest` tokens count, fewer where none fit."""
        folder = model_folder(name)
        model = load_network(folder, transformers.AutoModelForMaskedLM, hint=HINT)
        marks = marks_of(load_tokenizer(folder), "mlm", folder)
        positions = getattr(model.config, "max_position_embeddings", None)
        room = longest if positions is None else min(longest, positions - SPARE - SPECIAL)
        return cls(TokenGuesser(model, []), Subwords(folder, longest=room), marks, device=device)

    def signature(self) -> str:
        kind = self.guesser.model.config.model_type
        return f"{kind}-{weights_fingerprint(self.subwords.folder)}-{self.subwords.signature()}"

    def usual(self, mode: Mode) -> tuple[float, float]:
        """The quartiles recorded with the encoder."""
        return read_bounds(self.subwords.folder, mode)

    def known(self, text: str) -> int:
        """Tokens of a text that can be guessed."""
        return int(self._known(self.subwords.texts([text]).tokens).sum())

    def scores(self, texts: Sequence[str]) -> tuple[Floats, Ints]:
        """The sum of log-likelihoods of each text, and of how many tokens; each distinct text is read once."""
        place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        sums, counts = self.of_tokens(self.subwords.texts(list(place)))
        which = [place[text] for text in texts]
        return sums[which], counts[which]

    def of_tokens(self, texts: Texts) -> tuple[Floats, Ints]:
        """The same of texts as token numbers."""
        starts, lengths = texts.ends[:-1], np.diff(texts.ends)
        hidden = np.flatnonzero(self._known(texts.tokens))  # a row for each of these tokens
        owners = np.searchsorted(texts.ends, hidden, side="right") - 1
        found = np.zeros(len(hidden))
        for batch in bucketed(lengths[owners] + SPECIAL, size=ROWS, tokens=self.tokens, rng=None):
            rows = joined_rows(texts, owners[batch][:, None], self.subwords)
            found[batch] = self._guessed(rows, 1 + (hidden - starts[owners])[batch])
        sums, counts = (np.bincount(owners, weights=each, minlength=len(starts)) for each in (found, None))
        return sums.astype(np.float64), counts.astype(np.int64)

    def _known(self, tokens: NDArray[Any]) -> NDArray[np.bool_]:
        return ~np.isin(tokens, self.marks.special)

    def _guessed(self, rows: Rows, columns: Ints) -> Floats:
        """The log-likelihood of one token of each row, with that token hidden."""
        parts = cut_to_fit(
            lambda part: self._likelihoods(rows[part], torch.from_numpy(columns[part])),
            len(columns),
            lacking=lambda: InputError(
                f"no memory for one row of {rows.ids.shape[1]} tokens on {self.device}",
                hint="use a smaller encoder, or a machine with more memory",
            ),
            smaller=self._halve,
        )
        return np.asarray(torch.cat(parts).double().cpu())

    def _halve(self) -> None:
        self.tokens = max(1, self.tokens // 2)  # later batches are smaller from the start

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _likelihoods(self, rows: Rows, columns: torch.Tensor) -> torch.Tensor:
        ids = rows.ids.long()
        places = torch.zeros_like(ids, dtype=torch.bool)
        places[torch.arange(len(ids)), columns] = True
        right = ids[places].to(self.device)
        ids = torch.where(places, self.marks.mask, ids)
        parts = (part.to(self.device) for part in (ids, rows.mask.long(), rows.kinds.long(), places))
        logits = self.guesser(*parts).float()
        found: torch.Tensor = logits.log_softmax(dim=1).gather(1, right[:, None])[:, 0]
        return found


def valued(mode: Mode, sums: Floats, counts: Ints) -> Floats:
    """The mean log-likelihood of a token, or minus the sum; NaN where there is no token."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = sums / counts if mode == "likelihood" else -sums
    return np.where(counts > 0, found, np.nan)


def reply_bounds(scorer: MaskedLikelihood, replies: Texts) -> dict[str, Any]:
    """What is usual for replies: the quartiles of each mode."""
    sums, counts = scorer.of_tokens(replies)
    facts: dict[str, Any] = {"replies": int((counts > 0).sum()), "quantiles": [LOW, HIGH]}
    for mode in get_args(Mode) if facts["replies"] else ():
        facts[mode] = np.quantile(valued(mode, sums, counts)[counts > 0], [LOW, HIGH]).tolist()
    return facts


def read_bounds(folder: Path, mode: Mode) -> tuple[float, float]:
    """The bounds that were recorded when the encoder was adapted to a log."""
    hint = "adapt the encoder to a log with interloq train adapt, or give bounds=(low,high)"
    if not (folder / BOUNDS).is_file():
        raise InputError("the encoder has no bounds of replies", hint=hint, where=str(folder))
    with reading_saved(folder, f"{BOUNDS} holds no bounds of {mode}", hint=hint):
        low, high = read_json(folder / BOUNDS, hint=hint)[mode]
        return float(low), float(high)
