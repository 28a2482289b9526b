# SPDX-License-Identifier: Apache-2.0
"""Papers of the metrics, as BibTeX entries in `papers.bib`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from interloq.version import __version__

_RUBER, _AM_FM, _USL_H = "tao-etal-2018-ruber", "zhang-etal-2021-deep", "phy-etal-2020-deconstruct"
_VECTORS, _WEIGHTED = "liu-etal-2016-evaluate", "tsuta-etal-2023-uncertainty"
PAPERS: dict[str, tuple[str, ...]] = {  # by metric; without a paper: the metric is our own
    "am_fm": (_AM_FM,),
    "bert_ruber": ("ghazarian-etal-2019-better",),
    "bertscore": ("zhang-etal-2020-bertscore",),
    "blend": (),
    "bleu": ("papineni-etal-2002-bleu",),
    "bleu_star": ("papineni-etal-2002-bleu", "gupta-etal-2019-investigating"),
    "chrf": ("popovic-2015-chrf",),
    "dcp": ("tsuta-etal-2024-rethinking",),
    "deep_am": (_AM_FM,),
    "deep_fm": (_AM_FM,),
    "delta_bleu": ("galley-etal-2015-deltableu", "tsuta-etal-2020-ubleu"),
    "distinct": ("li-etal-2016-diversity",),
    "embedding_average": (_VECTORS,),
    "fed": ("mehri-eskenazi-2020-unsupervised",),
    "full": ("de-bruyn-etal-2022-open",),
    "greedy_matching": ("rus-lintean-2012-comparison", _VECTORS),
    "interlocutor_score": ("tsuta-etal-2024-rethinking",),
    "judge": (),
    "length": (),
    "llm_judge": ("liu-etal-2023-g",),
    "meteor": ("banerjee-lavie-2005-meteor",),
    "mlm": ("salazar-etal-2020-masked", _USL_H),
    "nist": ("doddington-2002-automatic",),
    "nsp": ("devlin-etal-2019-bert",),
    "perplexity": ("jelinek-etal-1977-perplexity",),
    "pmi": ("li-etal-2016-diversity",),
    "relevance": (),
    "rouge_l": ("lin-2004-rouge",),
    "ruber": (_RUBER,),
    "ruber_referenced": (_RUBER,),
    "ruber_unreferenced": (_RUBER,),
    "usl_h": (_USL_H,),
    "valid": (_USL_H,),
    "vbertscore": ("zhang-etal-2020-bertscore", _WEIGHTED),
    "vbleu": ("tsuta-etal-2020-ubleu", _WEIGHTED),
    "vector_extrema": ("forgues-etal-2014-bootstrapping", _VECTORS),
}
VARIANTS = {  # papers of fields: (metric, field) → the value without it, and the paper
    ("bertscore", "weights"): ("ignore", _WEIGHTED),
    ("chrf", "word_order"): (0, "popovic-2017-chrf"),
}
RELIABILITY = "gao-etal-2021-ream"  # --min-reliability
SACREBLEU = "post-2018-call"  # tokenizers of sacrebleu
OURS = "interloq"
YEAR = "2026"  # of the version


@cache
def entries() -> dict[str, str]:
    """BibTeX entries by key, with one for Interloq itself."""
    text = Path(__file__).with_name("papers.bib").read_text("utf-8")
    return {**dict(_entries(text)), OURS: _software()}


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for entry in text.split("\n\n"):
        if key := re.match(r"\s*@\w+\{([^,]+),", entry):
            yield key[1], entry.strip()


def _software() -> str:
    fields = {
        "title": "Interloq: evaluation of open-domain dialogue systems",
        "author": "{The Interloq authors}",
        "year": YEAR,
        "note": f"Python package interloq, version {__version__}",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{OURS},", *lines, "}"])
