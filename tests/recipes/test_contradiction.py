"""Sentences and their opposites, pairs made from logs, and the stages of `contradiction` with a tiny encoder."""

from __future__ import annotations

import json
import lzma
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import contradiction
import contradiction_pairs
import contradiction_sentences
import contradiction_tests
import pytest
from contradiction_facts import HELD_OUT_TOPICS, TOPICS, sentences_of

from interloq import Sample
from interloq.learn.store import read_facts
from interloq.scorers.contradiction.settings import ContradictionSettings
from tests.recipes.test_ready import write_sets_and_logs
from tests.scorers.contradiction.made_pairs import tiny_encoder

STATEMENTS = (
    "i like {} .",
    "i have a {} .",
    "my {} is old .",
    "i went to see a {} .",
    "it is a good {} .",
    "i never saw a {} .",
)
THINGS = ("dog", "film", "horse", "house", "guitar", "garden")


@pytest.mark.parametrize(
    ("sentence", "opposites"),
    [
        ("i like dogs .", {"i don't like dogs .", "i do not like dogs .", "i never like dogs ."}),
        ("I'm tired.", {"I'm not tired.", "I am never tired.", "I am not tired."}),
        ("it is cold", {"it is not cold", "it isn't cold", "it is never cold"}),
        ("she works here", {"she doesn't work here", "she does not work here", "she never works here"}),
        ("we stopped there", {"we didn't stop there", "we did not stop there", "we never stopped there"}),
        ("i have a dog", {f"i {no} have {a} dog" for no in ("don't", "do not") for a in ("a", "any")}
         | {"i never have a dog"}),
        ("take a seat", {"don't take a seat", "do not take a seat", "never take a seat"}),
        ("i don't like dogs", {"i like dogs"}),
        ("i didn't go", {"i went"}),
        ("i can't swim", {"i can swim"}),
        ("nice day", {None}),
    ],
)  # fmt: skip
def test_negation(sentence: str, opposites: set[str | None]) -> None:
    found = {contradiction_sentences.negate(sentence, random.Random(seed)) for seed in range(60)}
    assert found == opposites


def test_other_changes_of_sentences() -> None:
    rng = random.Random(0)
    assert contradiction_sentences.oppose("i love this film", rng) == "i hate this film"
    assert contradiction_sentences.oppose("a film", rng) is None
    assert contradiction_sentences.ask("i really like my dog .") == "do you like your dog ?"
    assert contradiction_sentences.ask("i went there") == "did you go there ?"
    assert contradiction_sentences.ask("you like it") is None
    assert contradiction_sentences.turn_person("I am happy with my dog") == "you are happy with your dog"
    assert (contradiction_sentences.emphasise("i like it", rng) or "").endswith(" like it")
    live, exclusive = contradiction_sentences.swap("i live in texas", rng) or ("", False)
    assert live.startswith("i live in ")
    assert live != "i live in texas"
    assert exclusive
    assert (contradiction_sentences.swap("i love pizza", rng) or ("", True))[1] is False
    assert not contradiction_sentences.is_statement("do you like it")


def test_facts_are_held_out_for_testing() -> None:
    assert {topic.name for topic in TOPICS} > HELD_OUT_TOPICS
    for topic in TOPICS:
        for value in topic.values:
            trained = sentences_of(topic, value, held_out=False)
            tested = sentences_of(topic, value, held_out=True)
            assert tested
            assert not {*trained} & {*tested}
            assert bool(trained) == (topic.name not in HELD_OUT_TOPICS)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_sets_and_logs(tmp_path_factory.mktemp("data"))
    drawn = random.Random(0)
    for log in contradiction_pairs.LOGS:
        talks = []
        for number in range(30):
            texts = [drawn.choice(STATEMENTS).format(drawn.choice(THINGS)) for _ in range(8)]
            turns = [{"speaker": "AB"[i % 2], "text": text} for i, text in enumerate(texts)]
            talks.append(
                {"id": f"{log}{number}", "turns": turns, "persona_b": f"i live in {drawn.choice(('texas', 'ohio'))}."}
            )
        talks[0]["turns"] = [{"speaker": "A", "text": "so this is what the test has"}] * 4
        with lzma.open(folder / "logs" / f"{log}.jsonl.xz", "wt") as file:
            file.writelines(json.dumps(talk) + "\n" for talk in talks)
    tests = folder / "robustness" / "turn_level_robust_data" / "rel"
    tests.mkdir(parents=True)
    rows = {
        "contradiction-original": [
            "i like dogs .\tso ?\tso this is what the test has",
            "i am old .\tso ?\ti live in maine now .",
            "hello",
        ],
        "contradiction-perturbed": [
            "i like dogs .\tso ?\ti don't like dogs .",
            "i am old .\tso ?\ti live in rome now .",
            "no",
        ],
        "entailment": ["hi\tany news ?\tno news"],
        "nonentailment": ["hi\tany news ?\ti like my dog"],
    }
    for name, lines in rows.items():
        (tests / f"{name}_text.txt").write_text("".join(f"{i}\t{line}\n" for i, line in enumerate(lines)))
    return folder


@pytest.fixture(scope="module")
def few() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contradiction_pairs, "FACT_PAIRS", {"train": 300, "dev": 60, "test": 60})
        patch.setattr(contradiction_pairs, "PERSONA_PAIRS", 40)
        patch.setattr(contradiction_pairs, "PARTS", 6)
        patch.setattr(contradiction, "DIALOGUES", 20)
        patch.setattr(contradiction, "TRUE_REPLIES", 20)
        patch.setattr(contradiction, "RESAMPLES", 5)
        yield patch


def test_the_stages(data: Path, few: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pairs, trained, figures = tmp_path / "pairs.jsonl", tmp_path / "trained", tmp_path / "figures.json"
    encoder = str(tiny_encoder(tmp_path / "encoder"))
    few.setattr(contradiction, "ENCODER", encoder)
    small = replace(ContradictionSettings(), longest=16)
    few.setattr(contradiction, "ContradictionSettings", lambda **options: replace(small, **options))
    assert contradiction.main(["pairs", "--data", str(data), "-o", str(pairs)]) == 0
    made = list(contradiction.read_pairs(pairs, ("train", "dev", "test")))
    assert not any("what the test has" in pair.reply for pair, _ in made)  # shared with a test set
    labels = Counter((facts["part"], facts["label"]) for _, facts in made)
    assert len(labels) == 6
    assert {facts["kind"] for _, facts in made} > {"true", "negated", "both negated", "other person", "answer", "fact"}
    command = ["train", "--pairs", str(pairs), "--encoder", encoder, "-o", str(trained), "--device", "cpu"]
    assert contradiction.main([*command, "--low-rank", "2", "--epochs", "1", "--most", "600"]) == 0
    measured = ["measure", str(trained), "--data", str(data), "--pairs", str(pairs), "-o", str(figures)]
    assert contradiction.main([*measured, "--against", "length"]) == 0
    known = json.loads(figures.read_text())
    assert len(known) == 4
    assert known["length"]["robustness test: contradiction-original against contradiction-perturbed"]["n"] == 6
    assert contradiction.main([*measured, "--against", "length"]) == 0  # everything is known
    target = tmp_path / "package"
    install = ["install", str(trained), "--pairs", str(pairs), "--figures", str(figures), "--to", str(target)]
    install += ["--most", "600"]
    assert contradiction.main(install) == 0
    card = (target / "README.md").read_text()
    assert "| personachat | CC BY |" in card
    assert "speaker='same'" in card
    assert read_facts(target, kind="contradiction")["base"]["weights"] in card
    pairs.write_text(pairs.read_text().splitlines()[0] + "\n")
    assert contradiction.main(install) == 2


def test_kinds_of_damage() -> None:
    original = Sample("a", ["i like my old dog", "so ?"], "he is called rex")
    for reply, kind in (
        ("he is called rex", "unchanged"),
        ("i don't like my old dog", "earlier turn negated"),
        ("he is called paul", "name or phrase exchanged"),
    ):
        assert contradiction_tests.damage(original, replace(original, response=reply)) == kind
