"""The stages of `python recipes`: which recipe measures what, with which arguments."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """One recipe with its arguments, in which {data} and {work} stand for the folders."""

    name: str  # of its result, recipes/measured/NAME.json
    papers: tuple[str, ...]
    arguments: str
    minutes: int  # about, on two cores
    file: str = ""  # of the recipe, if it is not named as the stage
    needs: str = ""  # what else than data, such as a GPU
    optional: tuple[str, ...] = ()  # options with a folder, which are used if it exists

    @property
    def recipe(self) -> str:
        return self.file or f"{self.name}.py"


REFERENCES = ("000", "001")
POOL = "--data {data} --work {work}/references"  # the stages about references share pool, indexes and ratings
VECTORS = f"{POOL} --vectors {{work}}/glove"
GLOVE = "GloVe in WORK/glove"  # trained on the pool: docs/measured/vectors.md
RUBER = f"{GLOVE}, RUBER in WORK/ruber"  # docs/measured/rated-references.md
READY = "relevance(model='ready')"
GLOVE_ROW = ("--vectors {work}/glove",)  # for the row of RUBER's referenced scorer
NOTE = (
    "Means are averages over six sets of English replies, maxima and minima over the two sets of USR, which name their "
    f"annotators. The rater is by({READY}) in place of the Bi-GRU and the BERT rater. GloVe learned from the pool, and"
)
PUBLISHED = (
    f'{VECTORS} --rater "by({READY})" --bert-rater "by({READY})" --bert-retriever "dense(vectors=\'{{work}}/glove\')"'
)
OWN_NOTE = shlex.quote(f"{NOTE} RUBER's scorer from pairs of it.")
READY_NOTE = shlex.quote(f"{NOTE} {READY} is in place of RUBER's scorer.")
OWN_SCORER = f"--scorer \"ruber_unreferenced(model='{{work}}/ruber')\" --note {OWN_NOTE}"
READY_SCORER = f'--scorer "{READY}" --note {READY_NOTE}'
INTERLOCUTOR = "--data {data} --out {work}/interlocutor"
FROZEN = "--data {data} --out {work}/frozen"
SCHEMES = "--data {data} --work {work}/schemes"
REAM = "--data {data} --work {work}/ream"
JAPANESE = "a GPU, a Japanese encoder in WORK/ja-encoder"  # docs/measured/relevance-ja-zh.md
SMOLLM2 = "the model smollm2"  # docs/models.md
STAGES = (
    Stage("corpus_statistics", REFERENCES, "--data {data}", 2),
    Stage("vbleu_tables", REFERENCES, f"{POOL} --rated", 30, optional=GLOVE_ROW),
    Stage("vbleu_tables_manner", REFERENCES, f"{POOL} --rated --manner", 15, "vbleu_tables.py", optional=GLOVE_ROW),
    Stage("reference_weights", REFERENCES, POOL, 10),
    Stage("reference_gain", REFERENCES, POOL, 15),
    Stage("rated_references", REFERENCES, POOL, 5),
    Stage("retrieval_forms", REFERENCES, VECTORS, 15, needs=GLOVE, optional=("--ready-vectors {work}/glove-6b",)),
    Stage("reference_forms", REFERENCES, f"{VECTORS} --encoder 40000", 20, needs=GLOVE),
    Stage("vbleu_published", REFERENCES, f"{PUBLISHED} {OWN_SCORER}", 10, needs=RUBER),
    Stage("vbleu_published_relevance", REFERENCES, f"{PUBLISHED} {READY_SCORER}", 5, "vbleu_published.py", needs=GLOVE),
    Stage("fed_variants", ("002",), f"{SCHEMES} --per-bot 16 --limit 125", 40, needs=SMOLLM2),
    Stage("schemes_people", ("002",), f"{SCHEMES} --openings 12", 20),
    Stage("target_choice", ("002",), f"{SCHEMES} --openings 12", 12),
    Stage("hazumi_statistics", ("003",), f"--statistics {INTERLOCUTOR}", 1, "hazumi.py"),
    Stage("dcp_statistics", ("003",), f"--statistics --only byu,irc,reddit {INTERLOCUTOR}", 2, "dcp.py"),
    Stage("dcp_frozen", ("003",), FROZEN, 15),
    Stage("dcp_profiles", ("003",), FROZEN, 10),
    Stage("own_scores_english", ("003",), FROZEN, 20),
    Stage("hazumi", ("003",), f"{INTERLOCUTOR} --encoder {{work}}/ja-encoder", 30, needs=JAPANESE),
    Stage("kokoro", ("003",), f"{INTERLOCUTOR} --encoder {{work}}/ja-encoder", 30, needs=JAPANESE),
    Stage("dcp", ("003",), f"{INTERLOCUTOR} --only byu,irc,reddit --lm smollm2", 60, needs=f"a GPU, {SMOLLM2}"),
    Stage(
        "human_system",
        ("003",),
        f"{INTERLOCUTOR} --only rated --ja-encoder {{work}}/ja-encoder",
        30,
        "dcp.py",
        needs=JAPANESE,
    ),
    Stage("ream", ("004",), f"{REAM} --epochs 6 --only labels,growth,errors --sets DSTC7", 50),
    Stage("ream-gupta", ("004",), f"{REAM} --epochs 6 --only growth --sets Gupta", 15, "ream.py"),
    Stage(
        "ream-earlier",
        ("004",),
        f"{REAM} --epochs 6 --only errors,augment,annotators,simulation --sets Gupta,DailyDialog++",
        120,
        "ream.py",
    ),
    Stage("ream_curves", ("004",), REAM, 20),
    Stage("ream_pooled", ("004",), f"{REAM} --sets DSTC7", 15),
    Stage("ream_pooled_others", ("004",), f"{REAM} --sets Gupta,DailyDialog++,Reddit", 10, "ream_pooled.py"),
)
