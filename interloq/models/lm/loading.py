"""Load a language model of any supported kind by name."""

from __future__ import annotations

from typing import Any

from interloq.models.lm.causal import LanguageModel
from interloq.models.lm.seq2seq import Seq2SeqModel
from interloq.models.pretrained import has_encoder, model_folder


def language_model(name: str, **options: Any) -> Any:
    """A causal or an encoder-decoder model, depending on the folder."""
    return (Seq2SeqModel if has_encoder(model_folder(name)) else LanguageModel)(name, **options)
