"""Specs of every registered metric, from the contracts in their tests, with samples and the files that they name."""

from __future__ import annotations

import dataclasses
import importlib
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
from interloq.registry import read_catalogue
from interloq.retrieve.index import create_index
from interloq.scorers.bert_ruber.job import BertRuberJob
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from interloq.scorers.relevance.settings import VALID
from interloq.vectors.word_vectors import WordVectors
from tests.made_judge import small_judge
from tests.made_lm import tiny_bert, tiny_lm
from tests.made_relevance import small_scorer
from tests.made_ruber import random_scorer, topic_pairs
from tests.metrics.made_contracts import Contract
from tests.scorers.contradiction.made_pairs import small_contradiction_scorer
from tests.scorers.interlocutor.made_models import small_model


def _read_contract(name: str, target: str) -> Contract:
    """Return the contract in the test file of a metric."""
    *package, module = target.partition(":")[0].split(".")[1:]
    tests = importlib.import_module(".".join(["tests", *package, f"test_{module}"]))
    assert name in tests.CONTRACTS, f"add {name!r} to CONTRACTS of {tests.__file__}"
    contract: Contract = tests.CONTRACTS[name]
    return contract


KNOWN = read_catalogue()["metric"]
METRICS = {name: _read_contract(name, known["target"]) for name, known in KNOWN.items()}
DEFAULTS: dict[str, str] = {}
SPECS: list[str] = []
FREE: list[str] = []  # these score replies without references
for name, contract in METRICS.items():
    DEFAULTS[name] = f"{name}({contract.required})" if contract.required else name
    SPECS += [DEFAULTS[name], *contract.variants]
    if not (KNOWN[name]["needs"]["references"] if contract.referenced is None else contract.referenced):
        FREE.append(name)
WITH_VECTORS = [name for name, contract in METRICS.items() if contract.required == "vectors='letters'"]

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
    `form`, `clashing` of contradictions, `rated`, learned from ratings, and the models of interlocutors `answers` and
    `ratings`. There are an index, `replies`, with ratings of its replies, and a short rubric, `short.json`.
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
    small_contradiction_scorer(Path("pairs")).rename("clashing")
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
