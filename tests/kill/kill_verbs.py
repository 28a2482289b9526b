"""Every verb that writes, with a tiny job for it: the files it needs, and the command."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORDS = [f"w{i}" for i in range(60)]
OFTEN = "--checkpoint-minutes 0.0001"


@dataclass(frozen=True)
class Verb:
    name: str
    command: str
    make: Callable[[Path], object]
    before: tuple[str, ...] = ()  # commands that make further inputs
    quick: bool = False  # a few trials in the tests
    once: bool = False  # refuses to replace its output, also that of a run that was killed after its last step

    @property
    def arguments(self) -> list[str]:
        return shlex.split(self.command)


def rows(path: Path, found: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in found))


def text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(2, 8)))


def pairs(folder: Path, n: int = 400) -> None:
    for seed, name in enumerate(("pairs.jsonl", "more.jsonl")):
        rng = random.Random(seed)
        rows(folder / name, ({"id": f"{seed}-{i}", "utterance": text(rng), "response": text(rng)} for i in range(n)))


def samples(folder: Path, n: int = 300) -> None:
    rng = random.Random(3)
    given = [
        {
            "id": f"s{i}",
            "context": [text(rng)],
            "response": text(rng),
            "references": [{"text": text(rng), "weight": 1.0} for _ in range(3)],
            "system": f"system{i % 2}",
            "ratings": [{"rater": "ann", "aspect": "overall", "value": i % 5 + 1}],
        }
        for i in range(n)
    ]
    rows(folder / "samples.jsonl", given)


def conversations(folder: Path, n: int = 300) -> None:
    rng = random.Random(4)
    turns = [[{"speaker": "ab"[i % 2], "text": text(rng)} for i in range(rng.randint(3, 30))] for _ in range(n)]
    rows(folder / "log.jsonl", ({"id": f"d{i}", "turns": its} for i, its in enumerate(turns)))


def openings(folder: Path) -> None:
    repeated = [{"utterance": f"question {i % 300}", "response": f"reply {i}"} for i in range(900)]
    rows(folder / "repeated.jsonl", repeated)


def indexed(folder: Path) -> None:
    pairs(folder)
    samples(folder)


def many_samples(folder: Path) -> None:
    samples(folder, 5000)  # two shards


def judged(folder: Path) -> None:
    samples(folder)
    people = [
        {"item": f"s{i}/{j}", "rater": "ann", "aspect": "overall", "value": (i + j) % 5 + 1}
        for i in range(300)
        for j in range(3)
    ]
    rows(folder / "ratings.jsonl", people)


def log(folder: Path) -> None:
    from tests.made_rater import write_log

    write_log(folder / "pairs.jsonl", 40)


def topics(folder: Path) -> None:
    from tests.made_language_models import tiny_model
    from tests.made_ruber import topic_pairs

    rows(folder / "pairs.jsonl", ({"utterance": p.utterance, "response": p.response} for p in topic_pairs(200)))
    tiny_model(folder / "bert")


def bert_log(folder: Path) -> None:
    from tests.made_bert import tiny_bert

    log(folder)
    tiny_bert(folder / "encoder")


def talks(folder: Path) -> None:
    from tests.made_relevance import talks as made
    from tests.made_relevance import tiny_encoder

    tiny_encoder(folder / "encoder")
    rows(
        folder / "talks.jsonl",
        ({"id": f"talk{i}", "turns": [{"text": text} for text in turns]} for i, turns in enumerate(made(40))),
    )


def rated(folder: Path) -> None:
    from tests.made_judge import write_sets

    talks(folder)
    write_sets(folder, 1600, 1500)


def interlocutors(folder: Path) -> None:
    from interloq import write
    from tests.scorers.interlocutor.made_models import judged, write_parts

    write_parts(folder / "parts")
    write(folder / "new.jsonl", judged(40, seed=4, judges=("cat",)), kind="samples")


def queries(folder: Path) -> None:
    from interloq import write
    from tests.reliability.made_model import topic_encoder
    from tests.reliability.made_queries import rated_samples

    topic_encoder(folder / "encoder")
    write(folder / "rated.jsonl", rated_samples(30, references=8), kind="samples")
    indexed(folder)


def versions(folder: Path) -> None:
    samples(folder)
    old, new = [], []
    for line in (folder / "samples.jsonl").read_text().splitlines():
        sample = {**json.loads(line), "system": "bot", "ratings": []}
        old.append(sample)
        new.append({**sample, "response": sample["references"][0]["text"]})
    rows(folder / "old.jsonl", old)
    rows(folder / "new.jsonl", new)


def parts_of_lines(folder: Path) -> None:
    rng = random.Random(5)
    for name in ("contexts.txt", "replies.txt"):
        (folder / name).write_text("".join(f"{text(rng)}\n" for _ in range(500)))


def ratings_of_samples(folder: Path) -> None:
    samples(folder)
    rows(
        folder / "ratings.jsonl",
        ({"item": f"s{i}", "rater": "ben", "aspect": "overall", "value": i % 5 + 1} for i in range(300)),
    )


def published(folder: Path) -> None:
    from tests.published_layouts import write_grade

    write_grade(folder / "grade")


def logged(folder: Path) -> None:
    rng, log = random.Random(7), []
    for i in range(300):
        said = [{"from": "human" if n % 2 else "gpt", "value": text(rng)} for n in range(1, 5)]
        log.append({"id": f"c{i}", "conversations": said})
    (folder / "log.json").write_text(json.dumps(log))


def annotated(folder: Path) -> None:
    result = {"from_name": "overall", "type": "rating", "value": {"rating": 4}}
    rng, tasks = random.Random(6), []
    for i in range(300):
        answers = [{"completed_by": 7, "result": [result]}]
        tasks.append({"data": {"id": f"s{i}", "context": [text(rng)], "response": text(rng)}, "annotations": answers})
    (folder / "export.json").write_text(json.dumps(tasks))


def rated_talks(folder: Path) -> None:
    from tests.scorers.interlocutor.made_models import JUDGES

    rng = random.Random(7)
    talks = []
    for i in range(200):
        judge = JUDGES[i % len(JUDGES)]
        turns = [{"speaker": (judge, "bot")[k % 2], "text": text(rng)} for k in range(4)]
        rating = {"rater": judge, "aspect": "impression", "value": i % 5 + 1, "role": "interlocutor"}
        talks.append({"id": f"d{i}", "turns": turns, "systems": {"bot": "bot"}, "ratings": [rating]})
    rows(folder / "rated.jsonl", talks)


def posts(folder: Path) -> None:
    from tests.made_posts import made_posts, write_posts

    write_posts(folder / "posts.jsonl", made_posts(12_000))


TINY = f"--learning-rate .003 --batch 32 --device cpu --quiet {OFTEN}"
SCORER = f"--encoder encoder --epochs 1 --reply 12 {TINY}"
INTERLOCUTOR = f"--tokens 48 --user-samples 5 --epochs 2 {TINY}"
SCORES = "score samples.jsonl -m chrf -m distinct -o scores.jsonl --bootstrap 0 --quiet"
INDEX = "index build pairs.jsonl -o index --segment 37 --quiet --retriever"
DENSE = "\"dense(encoder='fake32')\" --exact-up-to 150"
RELIABILITY = (
    "train reliability rated.jsonl --model network --metric bleu_star --encoder encoder --context 24 --reply 12 "
    "--sizes 2,3 --hidden 16 --epochs 2"
)
PLAY = "play run --scheme self-play --target a=eliza --target b=echo --repeats 4 -o talks.jsonl --quiet"
STUDY = ("serve add study.db samples.jsonl --task rate --alone --name replies", "serve invite study.db replies -n 3000")
BACKUP = "serve backup study.db "
VERBS = (
    Verb("index build (words)", f"{INDEX} bm25", pairs, quick=True),
    Verb("index build (vectors)", f"{INDEX} {DENSE}", pairs),
    Verb("index build (workers)", f"{INDEX} {DENSE} --workers 2", pairs),
    Verb("index add", "index add index more.jsonl --segment 37 --quiet", pairs, (f"{INDEX} bm25",), quick=True),
    Verb("extend", "extend samples.jsonl --index index -k 3 -o out.jsonl.gz --quiet", indexed, (f"{INDEX} bm25",)),
    Verb("extend (parts)", "extend samples.jsonl --index index -k 3 -o out.jsonl --parts parts --quiet", indexed,
         (f"{INDEX} bm25",)),
    Verb("rate",
         "rate samples.jsonl --rater \"human(ratings='ratings.jsonl',low=1,high=5)\" -o rated.jsonl --batch 4 --quiet",
         judged, quick=True),
    Verb("score", "score samples.jsonl -m chrf -m 'bleu(order=2)' -o scores.jsonl.zst --quiet", samples, quick=True),
    Verb("score (workers)", "score samples.jsonl -m length -o scores.jsonl --workers 2 --quiet", many_samples),
    Verb("score (parts)", "score samples.jsonl -m length -o scores.jsonl --parts parts --quiet", many_samples,
         quick=True),
    Verb("data join", "data join parts -o joined.jsonl --quiet", many_samples,
         ("score samples.jsonl -m length -o scores.jsonl --shard 1/1 --parts parts --quiet",)),
    Verb("report", "report scores.jsonl --samples samples.jsonl -o report.html --quiet", samples, (SCORES,)),
    Verb("serve restore (rows)", "serve restore rows.jsonl new.db", samples, (*STUDY, BACKUP + "rows.jsonl"),
         quick=True, once=True),
    Verb("serve restore (copy)", "serve restore copy.db new.db", samples, (*STUDY, BACKUP + "copy.db"), once=True),
    Verb("serve backup", f"{BACKUP}rows.jsonl.zst", samples, STUDY, once=True),
    Verb("data convert", "data convert samples.jsonl -o converted.jsonl.gz", samples, quick=True),
    Verb("data import", "data import grade grade --subset dailydialog -o imported.jsonl", published),
    Verb("data import (log)", "data import log.json -o imported.jsonl --keep-user-ids --quiet", logged, quick=True),
    Verb("data export", "data export scores.jsonl --samples samples.jsonl -o events.jsonl", samples, (SCORES,)),
    Verb("data merge", "data merge samples.jsonl ratings.jsonl -o merged.jsonl --quiet", ratings_of_samples),
    Verb("data to-label-studio", "data to-label-studio samples.jsonl -o tasks.json", samples),
    Verb("data from-label-studio", "data from-label-studio export.json -o rated.jsonl --keep-user-ids", annotated),
    Verb("data lines", "data lines replies.txt --contexts contexts.txt -o samples.jsonl", parts_of_lines),
    Verb("corpus build", "corpus build posts.jsonl -o corpus --workers 2 --block 1 --quiet", posts),
    Verb("corpus pairs", "corpus pairs log.jsonl -o out.jsonl.gz --draw 900 --quiet", conversations),
    Verb("corpus testset", "corpus testset repeated.jsonl -o out --same text --min-posts 2 --quiet", openings),
    Verb("corpus continuity", "corpus continuity log.jsonl -o out --keep-user-ids --by user", conversations,
         quick=True),
    Verb("reply", "reply samples.jsonl --system a=eliza --system b=echo --n 3 --keep --seed 1 -o replies.jsonl --quiet",
         samples, quick=True),
    Verb("reply (workers)", "reply samples.jsonl --system a=eliza --system b=echo -o replies.jsonl --workers 2 --quiet",
         samples),
    Verb("play run", PLAY, lambda _: None, quick=True),
    Verb("play run (workers)", f"{PLAY} --workers 2", lambda _: None),
    Verb("play partners",
         "play partners --partner echo=echo --partner eliza=eliza --openings embedded:en -o partners.json",
         lambda _: None, once=True),
    Verb("play samples", "play samples talks.jsonl -o samples.jsonl --quiet", lambda _: None, (PLAY,)),
    Verb("corpus ratings", "corpus ratings rated.jsonl -o out --keep-user-ids --by user", rated_talks),
    Verb("compare", "compare old.jsonl new.jsonl -m chrf -o comparison.json --markdown summary.md --quiet", versions),
    Verb("gate", "gate old.jsonl new.jsonl -m chrf --margin 0.5 -o verdict.json --junit gate.xml --quiet", versions),
    Verb("choose", "choose samples.jsonl -m chrf -m length --bootstrap 50 --permutations 50 -o chosen.json --quiet",
         samples),
    Verb("reliability curve", "reliability curve rated.jsonl -m bleu_star --sizes 2,3 -o curve.json --draws 2 --quiet",
         queries),
    Verb("train baseline", "train baseline pairs.jsonl -o baseline.json --model bert --layer 1 --pairs 100 --quiet",
         topics),
    Verb("train tokenizer", "train tokenizer samples.jsonl -o words.model --vocabulary 60 --quiet", samples),
    Verb("train vectors", "train vectors pairs.jsonl -o out --dimensions 6 --epochs 3 --min-count 1 --threads 1",
         pairs),
    Verb("train rater", f"train rater pairs.jsonl -o out --embedding 8 --hidden 8 --epochs 2 {TINY}", log),
    Verb("train rater (encoder)", f"train rater pairs.jsonl -o out --encoder encoder --epochs 1 {TINY}", bert_log),
    Verb("train ruber", f"train ruber pairs.jsonl -o out --embedding 16 --hidden 16 --epochs 2 {TINY}", topics),
    Verb("train bert-ruber", f"train bert-ruber pairs.jsonl --encoder bert -o out --epochs 2 {TINY}", topics),
    Verb("train relevance", f"train relevance talks.jsonl -o out --context 24 {SCORER}", talks),
    Verb("train dcp", f"train dcp parts -o out --encoder parts/encoder {INTERLOCUTOR}", interlocutors),
    Verb("train dcp (add users)", f"train dcp new.jsonl -o out --add-to model --epochs 2 {TINY}", interlocutors,
         (f"train dcp parts -o model --encoder parts/encoder {INTERLOCUTOR}",)),
    Verb("train interlocutor",
         f"train interlocutor parts -o out --encoder parts/encoder --aspect continued {INTERLOCUTOR}", interlocutors),
    Verb("train judge", "train judge samples.jsonl -o out --device cpu --quiet", samples),
    Verb("train judge (from a scorer)",
         "train judge rated0.jsonl rated1.jsonl --scorer scorer -o out --device cpu --quiet", rated,
         (f"train relevance talks.jsonl -o scorer --context 24 {SCORER}",)),
    Verb("train judge (tuned)",
         f"train judge rated0.jsonl rated1.jsonl --scorer scorer --tune -o out --replies 640 {TINY}", rated,
         (f"train relevance talks.jsonl -o scorer --context 24 {SCORER}",)),
    Verb("train reliability", f"{RELIABILITY} -o out {TINY}", queries),
    Verb("reliability predict", "reliability predict rated.jsonl --model model -o out.jsonl --device cpu --quiet",
         queries, (f"{RELIABILITY} -o model {TINY}",)),
    Verb("reliability augment",
         "reliability augment samples.jsonl --model model --log pairs.jsonl -o out.jsonl --trials trials.jsonl "
         "--device cpu --quiet", queries, (f"{RELIABILITY} -o model {TINY}",)),
    Verb("train bot",
         f"train bot talks.jsonl -o out --kind vhred --dimensions 16 --vocabulary 60 --epochs 2 {TINY}", talks),
    Verb("train valid", f"train valid talks.jsonl -o out {SCORER}", talks),
    Verb("train adapt", f"train adapt pairs.jsonl --model bert -o out --epochs 2 --longest 16 {TINY}", topics),
    Verb("train encoder",
         "train encoder pairs.jsonl -o out --layers 1 --dimensions 16 --heads 2 --vocabulary 150 --epochs 2 "
         f"--longest 16 {TINY}", topics),
)  # fmt: skip
