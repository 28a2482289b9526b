# SPDX-License-Identifier: Apache-2.0
"""A trained cross-encoder with one output, loaded from its folder: the base of `relevance` and `contradiction`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from interloq.data.files.opening import reading_saved
from interloq.learn.low_rank import merge
from interloq.learn.ready import scorer_folder
from interloq.learn.start import files_of, load_trained_network, weights_of
from interloq.learn.store import check_temperature, foreign, load_model
from interloq.models.cpu_linear import Precision, check_precision, speed_up
from interloq.models.cross_encoder import TOKENS, CrossEncoder
from interloq.models.pretrained import Subwords
from interloq.models.processes import pick_device
from interloq.signature import fingerprint


class CrossEncoderScorer:
    """The network with its tokenizer and facts. In float32, batching changes a score by less than 1e-5."""

    kind: ClassVar[str]

    def __init__(self, network: CrossEncoder, subwords: Subwords, facts: dict[str, Any], device: str = "auto") -> None:
        self.device = pick_device(device)
        self.network = network.to(self.device).eval()
        self.subwords, self.facts, self.tokens = subwords, facts, TOKENS[self.device.type]
        self.padded = True

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        device: str = "auto",
        precision: Precision = "float32",
        in_files: bool = False,
        trainable: bool = False,
    ) -> Self:
        """Load a scorer from its folder, or the packaged one of this name.

        See cpu_linear.py for `precision` and `in_files`.

        With `trainable`, the network keeps torch's own layers, which are slower on some processors.
        """
        check_precision(precision, pick_device(device))
        folder = scorer_folder(folder, cls.kind)
        facts, tensors = load_model(folder, kind=cls.kind)
        with reading_saved(folder):
            subwords = Subwords(files_of(folder, facts), longest=cls.check_facts(facts))
            if subwords.signature() != facts["subwords"]:
                raise foreign("the tokenizer", folder, "scorer")
            check_temperature(facts)
        network = load_trained_network(folder, facts, tensors, outputs=1, merged=False, trainable=trainable)
        scorer = cls(network, subwords, facts, device)
        if not trainable:
            speed_up(scorer.network.encoder, precision, in_files=in_files)
        merge(scorer.network)  # what is left, such as all layers on a GPU
        scorer.padded = precision == "float32"  # sums over padding differ in the last digit, which may round otherwise
        return scorer

    @staticmethod
    @abstractmethod
    def check_facts(facts: Mapping[str, Any]) -> int:
        """Check the facts about how texts are read, and return the number of tokens that are kept of a text."""

    def signature(self) -> str:
        return signature_of(self.facts)


def signature_of(facts: Mapping[str, Any]) -> str:
    """Return the signature of a scorer with these facts."""
    parts = (weights_of(facts), str(facts["subwords"]), repr(facts["temperature"]))
    return f"{facts['kind']}-{fingerprint(*parts)}"
