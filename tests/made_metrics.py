"""Specs of every registered metric, with samples and the files that they name; a new metric adds itself to METRICS."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from random import Random
from string import ascii_letters

import numpy as np
from hypothesis import strategies as st

from interloq import Rating, Reference, Sample, write
from interloq.data.files.opening import write_json
from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.models.mlm import BOUNDS
from interloq.records import Pair
from interloq.retrieve.index import create_index
from interloq.scorers.bert_ruber.job import BertRuberJob
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from interloq.scorers.relevance.settings import VALID
from interloq.vectors.word_vectors import WordVectors
from tests.made_judge import small_judge
from tests.made_lm import tiny_bert, tiny_lm
from tests.made_relevance import small_scorer
from tests.made_ruber import random_scorer, topic_pairs
from tests.scorers.interlocutor.made_models import small_model

UNIT, POSITIVE, COSINE = (0.0, 1.0), (0.0, math.inf), (-1.0, 1.0)
# name → the range of its values, and specs beside the defaults
METRICS: dict[str, tuple[tuple[float, float], list[str]]] = {
    "am_fm": (POSITIVE, ["am_fm(am=deep_am(model='bert',mode='referenced'),fm=deep_fm(model='lm',mode='referenced'))"]),
    "bert_ruber": (UNIT, []),
    "bertscore": (
        COSINE,
        [
            "bertscore(model='bert',idf=True,layer=1,part='r')",
            "bertscore(model='bert',weights='outside')",
            "bertscore(model='bert',weights='inside',part='p')",
        ],
    ),
    "blend": (
        (-math.inf, math.inf),
        [
            "blend(metrics=(bleu(order=2),rouge_l(tokenizer='char')),weights=(1.5,0.5),means=(0.1,0.2),scales=(0.2,0.9))",
            "blend(metrics=(nist,chrf))",
        ],
    ),
    "bleu": (UNIT, ["bleu(order=2,level='sentence')", "bleu(smoothing='add-k',k=0.5)", "bleu(smoothing='tiny')"]),
    "bleu_star": (UNIT, ["bleu_star(order=2,smoothing='none')"]),
    "chrf": (UNIT, ["chrf(word_order=2)", "chrf(char_order=3,beta=1,lowercase=True,whitespace=True)"]),
    "dcp": (UNIT, ["dcp(model='answers',user='ann')", "dcp(model='answers',user='')"]),
    "deep_am": (COSINE, ["deep_am(model='bert',layer=1)", "deep_am(model='bert',mode='referenced')"]),
    "deep_fm": ((-math.inf, 1.0), ["deep_fm(model='lm',mode='referenced')"]),
    "delta_bleu": (UNIT, ["delta_bleu(mode='corpus',order=4)", "delta_bleu(mode='paper',order=1)"]),
    "distinct": (UNIT, ["distinct(n=1)", "distinct(n=3,per='token')"]),
    "embedding_average": (COSINE, ["embedding_average(vectors='letters',unknown='mean')"]),
    "fed": (
        (-math.inf, math.inf),
        [
            "fed(model='lm',dimension='relevant',mode='whole')",
            "fed(model='lm',dimension='fluent',sets='negative_only',over='sum',prior='context',layout='lines')",
        ],
    ),
    "full": (POSITIVE, ["full(model='lm',mode='perplexity',follow_ups='ja')"]),
    "greedy_matching": (COSINE, ["greedy_matching(vectors='letters',unknown='mean')"]),
    "interlocutor_score": ((-math.inf, math.inf), ["interlocutor_score(model='ratings',user='bob')"]),
    "judge": (COSINE, ["judge(model='rated',aspect='natural')"]),
    "length": (POSITIVE, []),
    "llm_judge": ((1.0, 5.0), []),
    "meteor": (UNIT, ["meteor(stages=('exact',))", "meteor(level='corpus',alpha=0.5,gamma=1,lowercase=False)"]),
    "mlm": ((-math.inf, math.inf), ["mlm(model='masked',mode='surprise')"]),
    "nist": (POSITIVE, ["nist(order=2)"]),
    "nsp": (UNIT, []),
    "perplexity": ((1.0, math.inf), ["perplexity(model='lm',context=False,layout='lines',log=True)"]),
    "pmi": ((-math.inf, math.inf), ["pmi(model='lm',over='sum',turns=1,layout='lines')"]),
    "relevance": (UNIT, []),
    "rouge_l": (UNIT, ["rouge_l(beta=1,multiple='best')"]),
    "ruber": (
        UNIT,
        [
            "ruber(referenced=nist,unreferenced=length(tokenizer='char'),blend='min')",
            "ruber(referenced=bleu,unreferenced=length,blend='max')",
        ],
    ),
    "ruber_referenced": (COSINE, ["ruber_referenced(vectors='letters',unknown='mean')"]),
    "ruber_unreferenced": (UNIT, []),
    "usl_h": (
        UNIT,
        ["usl_h(valid=valid(model='form'),next=nsp(model='bert'),mlm=length,weights=(3,2,1),bounds=(0,20))"],
    ),
    "valid": (UNIT, []),
    "vbertscore": (
        COSINE,
        [
            "vbertscore(index='replies',rater=human(ratings='ratings.jsonl'),model='bert',weigh=True,weights='inside',idf=True,k=3)",
            "vbertscore(index='replies',rater=by(valid(model='form')),model='bert',best=2,weigh=False)",
        ],
    ),
    "vbleu": (
        UNIT,
        [
            "vbleu(index='replies',rater=human(ratings='ratings.jsonl'),mode='paper',k=3)",
            "vbleu(index='replies',rater=human(ratings='ratings.jsonl'),mode='corpus',order=4,parrot=False,turns=2)",
            "vbleu(index='replies',rater=by(valid(model='form')),parrot=False,best=3)",
        ],
    ),
    "vector_extrema": (COSINE, ["vector_extrema(vectors='letters',unknown='mean')"]),
}
# metrics with a field that has no default
WITH_VECTORS = ["embedding_average", "greedy_matching", "ruber_referenced", "vector_extrema"]
REQUIRED = dict.fromkeys(WITH_VECTORS, "vectors='letters'") | {
    "am_fm": "am=deep_am(model='bert'),fm=deep_fm(model='lm')",
    "bert_ruber": "model='bert_scorer'",
    "bertscore": "model='bert'",
    "blend": "metrics=(chrf,rouge_l)",
    "dcp": "model='answers'",
    "deep_am": "model='bert'",
    "deep_fm": "model='lm'",
    "fed": "model='lm'",
    "full": "model='lm'",
    "interlocutor_score": "model='ratings'",
    "judge": "model='rated'",
    "llm_judge": "model='lm',rubric='short.json',layout='lines',longest=200",
    "mlm": "model='masked'",
    "nsp": "model='bert'",
    "perplexity": "model='lm'",
    "pmi": "model='lm'",
    "relevance": "model='judge'",
    "ruber": "referenced=chrf,unreferenced=length",
    "ruber_unreferenced": "model='scorer'",
    "usl_h": "valid=valid(model='form'),next=relevance(model='judge'),mlm=mlm(model='masked')",
    "valid": "model='form'",
    "vbertscore": "index='replies',rater=human(ratings='ratings.jsonl'),model='bert'",
    "vbleu": "index='replies',rater=human(ratings='ratings.jsonl')",
}
DEFAULTS = {name: f"{name}({REQUIRED[name]})" if name in REQUIRED else name for name in METRICS}
SPECS = [text for name, (_, variants) in METRICS.items() for text in (DEFAULTS[name], *variants)]
# these score replies that have none
FREE = (
    "am_fm",
    "bert_ruber",
    "dcp",
    "deep_am",
    "deep_fm",
    "distinct",
    "fed",
    "full",
    "interlocutor_score",
    "judge",
    "length",
    "llm_judge",
    "mlm",
    "nsp",
    "perplexity",
    "pmi",
    "relevance",
    "ruber_unreferenced",
    "usl_h",
    "valid",
)

PLAIN = [Reference("it was a very good day .", 1.0), Reference("we had a fine time there .", 0.5)]
ODD = [
    Sample("empty reply", (), "", PLAIN),
    Sample("reply of white space", (), " \n\t\u3000", PLAIN),
    Sample("one token", (), "good", PLAIN),
    Sample("one token, equal", (), "yes", ["yes"]),
    Sample("no references", (), "it was good ."),
    Sample("empty reference", (), "it was good .", [""]),
    Sample("reference of white space", (), "it was good .", [" \n "]),
    Sample("nothing on either side", (), "", [""]),
    Sample("no weight above 0", (), "it was good .", [Reference("it was good .", 0.0), Reference("no", -1.0)]),
    Sample("punctuation", (), "...?!", ["?"]),
    Sample("markup", (), "<skipped>", ["<skipped>", "&amp;"]),
    Sample("many references", (), "it was good .", [f"it was good {i} ." for i in range(40)]),
    Sample("equal references", (), "it was good .", ["it was fine ."] * 3),
]
FOREIGN = {
    "Japanese": "昨日は友だちと映画を見に行きました。",
    "Chinese": "昨天我和朋友一起去看了电影。",
    "Arabic": "ذهبت أمس مع صديقي إلى السينما.",
    "emoji": "👩‍👩‍👧‍👦 🎉🎉 so happy 🇯🇵 👍🏽",
    "combining marks": "Ame\u0301lie a\u0300 la plage e\u0301te\u0301",
    "mixed": "OK了！ えーっと… نعم",
}
REPLY = st.text(max_size=25) | st.sampled_from(["", "yes", "i do .", "<skipped>", "a a a a a a", *FOREIGN.values()])


def plain_samples(n: int = 40) -> list[Sample]:
    """Replies that share words with their references, by two systems; one to three references of positive weight."""
    random = Random(0)
    words = ["we", "i", "had", "saw", "a", "the", "very", "good", "bad", "day", "film", "dog", "there", "again"]

    def text() -> str:
        return " ".join([*random.choices(words, k=random.randint(4, 12)), "."])

    return [
        Sample(
            f"{i:03}",
            ["how was it ?"],
            text(),
            [Reference(text(), random.choice([1.0, 0.7, 0.2])) for _ in range(1 + i % 3)],
            ("first", "second")[i % 2],
        )
        for i in range(n)
    ]


def write_files() -> None:
    """Write the files of the specs above to the working directory.

    `letters` are vectors of single characters: all numbers are positive, so no reply points away from a reference and
    scores less than an empty one. Networks have random weights or are hardly trained: `scorer` and `bert_scorer` of
    RUBER, the encoders `bert` and `masked`, the language model `lm`, the scorers of relevance and form `judge` and
    `form`, `rated`, learned from ratings, and the models of interlocutors `answers` and `ratings`. There are an index,
    `replies`, with ratings of its replies, and a short rubric, `short.json`.
    """
    known = sorted({letter for text in FOREIGN.values() for letter in text if not letter.isspace()} | {*ascii_letters})
    matrix = np.random.default_rng(0).random((len(known), 30), dtype=np.float32)
    WordVectors.of(known, matrix, tokenizer="char").save("letters")
    random_scorer(Path("scorer"))
    tiny_bert(Path("bert"))
    tiny_lm(Path("lm"), positions=512)
    prompt = "{definition} {dialogue} {lowest} {highest} "
    write_json("short.json", {"scale": [1, 5], "dimensions": {"overall": "good?"}, "single": prompt})
    tiny_bert(Path("masked"), head="MaskedLM", words=[f"w{k}" for k in range(1, 20)])
    Path("masked", BOUNDS).write_text('{"likelihood": [-8, -2]}')
    small_scorer(Path("made")).rename("judge")
    small_scorer(Path("made"), settings=dataclasses.replace(VALID, batch=32, reply=12)).rename("form")
    small_judge(Path("people"), Path("judge")).rename("rated")
    small_model(Path("continuity"), epochs=1).rename("answers")
    small_model(Path("ratings_by_users"), aspect="overall", personal="both", epochs=1).rename("ratings")
    quick, settings = Training(epochs=1), BertRuberSettings()
    job = BertRuberJob(pairs=lambda: topic_pairs(60), encoder="bert", settings=settings, training=quick)
    train(job, "bert_scorer", device="cpu")
    index = create_index("replies", "bm25")
    index.add([Pair(f"p{i}", f"how was it {i % 3} ?", f"it was a good day {i}") for i in range(30)], source="made")
    places = [(s.id, place) for s in plain_samples() for place in range(len(s.references), len(s.references) + 9)]
    rated = [Rating(1 + place % 5, item=f"{id}/{place}") for id, place in places]  # not the gold replies
    others = (
        *(sample.id for sample in ODD),
        "one",
        *map(str, range(20)),
        *FOREIGN,
        *(f"{script}, other" for script in FOREIGN),
    )
    rated += [Rating(5, item=f"{id}/0") for id in others]  # weight 1, as a gold reply has without a rating
    write("ratings.jsonl", rated, kind="ratings")
