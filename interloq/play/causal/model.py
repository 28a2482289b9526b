# SPDX-License-Identifier: Apache-2.0
"""A causal language model that learns replies, its speaker tokens, and the folder of a trained one.

A folder has the layout of Hugging Face, so anything that loads a causal model loads it. With low-rank updates, it has
only the updates and the vectors of speakers, and names the model they belong to, which must not have changed; the bot
`hf` loads both kinds of folder. Its chat template writes a dialogue as in training: turns, each followed by the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from interloq.data.files.opening import read_json, reading_saved
from interloq.errors import InputError
from interloq.learn.low_rank import attach_stored, merge
from interloq.learn.settings import LowRank
from interloq.learn.store import FACTS, load_model
from interloq.models import pretrained
from interloq.play.causal.settings import OWN, SHARED
from interloq.signature import fingerprint

KIND, BASE = "causal", "base"
TEMPLATE = "{% for message in messages %}{{ message['content'] + eos_token }}{% endfor %}"
HINT = "name a causal language model"


@dataclass(frozen=True, slots=True)
class CausalBatch:
    """Rows padded on the right; the tokens to predict, and the places before them in all rows end to end."""

    ids: torch.Tensor
    places: torch.Tensor
    targets: torch.Tensor
    speakers: torch.Tensor  # number of each row's speaker
    speaker_places: torch.Tensor  # in the row

    def on(self, device: torch.device) -> CausalBatch:
        """Return the batch on a device."""
        parts = (self.ids, self.places, self.targets, self.speakers, self.speaker_places)
        return CausalBatch(*(part.to(device, non_blocking=True) for part in parts))


class CausalNetwork(torch.nn.Module):  # type: ignore[misc]
    """A language model, and vectors of speakers that are read in place of a token; 0 speakers: none."""

    def __init__(self, model: Any, speakers: int) -> None:
        super().__init__()
        self._whole = (model,)  # in a tuple: its weights are registered below, each once
        self.encoder = model.base_model  # the part that low-rank updates are added to
        head, vectors = model.get_output_embeddings(), model.get_input_embeddings().weight
        self.head = None if head.weight is vectors else head
        self.speakers = torch.nn.Embedding(speakers, vectors.shape[1]) if speakers else None
        if self.speakers is not None:
            with torch.no_grad():
                self.speakers.weight.mul_(0.1 * vectors.std()).add_(vectors.mean(0))

    @property
    def model(self) -> Any:
        """The whole language model."""
        return self._whole[0]

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.encoder.parameters()).device

    def freeze(self) -> None:
        """Freeze the model, before low-rank updates are added to it."""
        self.model.requires_grad_(False)

    def losses(self, batch: CausalBatch) -> torch.Tensor:
        """Return −log p of each target."""
        vectors = self.model.get_input_embeddings()(batch.ids)
        if self.speakers is not None:
            rows = torch.arange(len(batch.ids), device=batch.ids.device)
            own = self.speakers(batch.speakers).to(vectors.dtype)
            vectors = vectors.index_put((rows, batch.speaker_places), own)
        states = self.encoder(inputs_embeds=vectors, use_cache=False).last_hidden_state
        states = states.flatten(0, 1)[batch.places]
        if self.head is None:
            logits = torch.nn.functional.linear(states, self.model.get_input_embeddings().weight)
        else:
            logits = self.head(states)
        return torch.nn.functional.cross_entropy(logits.float(), batch.targets, reduction="none")


def add_speakers(model: Any, tokenizer: Any, users: Sequence[str], vectors: torch.Tensor | None) -> None:
    """Make the vectors of speakers tokens of the model, which it reads but never writes."""
    if vectors is None:
        return
    names = [SHARED, *map(OWN.format, users)]
    tokenizer.add_special_tokens({"additional_special_tokens": names}, replace_extra_special_tokens=False)
    numbers = tokenizer.convert_tokens_to_ids(names)
    size = max(model.get_input_embeddings().num_embeddings, len(tokenizer))
    model.resize_token_embeddings(size, mean_resizing=False)
    with torch.no_grad():
        for part in (model.get_output_embeddings(), model.get_input_embeddings()):  # may be one: the input comes last
            part.weight[numbers] = vectors.to(part.weight)
    model.generation_config.suppress_tokens = numbers


def has_updates(folder: Path) -> bool:
    """Return whether a folder has low-rank updates of a causal model instead of all weights."""
    if not (folder / FACTS).is_file():
        return False
    facts = read_json(folder / FACTS, hint="copy the folder again")
    return facts.get("kind") == KIND and BASE in facts


def updates_fingerprint(folder: Path) -> str:
    """Return the fingerprint of updates and their base."""
    facts = read_json(folder / FACTS, hint="copy the folder again")
    with reading_saved(folder):
        return fingerprint(str(facts["weights"]), str(facts[BASE]["weights"]), str(facts["low_rank"]))


def load_updated(folder: Path, tokenizer: Any) -> Any:
    """Return the model of a folder with low-rank updates."""
    facts, tensors = load_model(folder, kind=KIND)
    with reading_saved(folder):
        name, weights = str(facts[BASE]["name"]), str(facts[BASE]["weights"])
        settings, users = LowRank(**facts["low_rank"]), list(map(str, facts["user_names"]))
    own = folder / BASE
    base = pretrained.model_folder(own if own.is_dir() else name, download=False)
    if pretrained.weights_fingerprint(base) != weights:
        what = f"the updates belong to another version of {name}"
        raise InputError(what, hint=f"copy the model they were trained from to {own}", where=str(folder))
    model = pretrained.load_network(base, transformers.AutoModelForCausalLM, hint=HINT)
    network = CausalNetwork(model, len(users) + 1 if facts["speakers"] else 0)
    network.freeze()
    attach_stored(network, settings, tensors, folder)
    merge(network)
    add_speakers(model, tokenizer, users, None if network.speakers is None else network.speakers.weight)
    return model
