from __future__ import annotations

import gzip
import json
import lzma
from dataclasses import replace
from pathlib import Path
from typing import Any

import judge
import numpy as np
import pytest
import tuned_judges
from more_rated_sets import more_rated_sets
from rated_sets import KNOWN, rated_sets

from interloq.scorers.judge.model import pair_hash
from interloq.scorers.judge.settings import TUNING
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.statistics.ridge import STRENGTHS
from tests.made_relevance import small_scorer
from tests.recipes.test_relevance import write_rated_sets


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rated_sets(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_scorer(tmp_path_factory.mktemp("model"), epochs=2)


def with_other_ratings(sets: dict[str, Any], *names: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    changed = {name: replace(sets[name], human=rng.normal(size=len(sets[name].human))) for name in names}
    return {**sets, **changed}


def test_every_set_has_relevance_its_judge_and_the_blends(
    data: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--data", str(data), "--scorer", f"one={model}", "-m", "length", "--resamples", "20"]
    options += ["--keep", str(tmp_path / "kept")]
    assert judge.main([*options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    scorers = ("one", "judge one", "length", "blend of all")
    wanted = {(name, s, c) for name in KNOWN for s in scorers for c in ("spearman", "pearson")}
    assert {(row["set"], row["scorer"], row["measure"]) for row in found["rows"]} == wanted
    assert found["weights"]["blend of all"].keys() == found["weights"]["λ of judge one"].keys() == KNOWN.keys()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RelevanceScorer, "load", lambda *_, **__: pytest.fail("stored states were computed again"))
        assert judge.main(options) == 0
    shown = capsys.readouterr().out
    for row in found["rows"]:
        part = shown.split(f"\n{row['set']} (")[1].split("\n\n")[0]
        line = next(line for line in part.splitlines() if line.startswith(f"{row['scorer']:<32}"))
        assert f"{row['value']:.3f}  [" in line


def test_relevance_is_what_the_network_scores(data: Path, model: Path) -> None:
    sets = rated_sets(data)
    found = judge.encoded(str(model), sets, None)["FED turn"]
    samples = sets["FED turn"].samples
    scores = RelevanceScorer.load(model).scores(
        [[t.text for t in s.context] for s in samples], [s.response for s in samples]
    )
    assert found.scores == pytest.approx(scores, abs=1e-6)


@pytest.mark.parametrize("tested", ["USR PersonaChat", "FED turn"])
def test_ratings_of_the_tested_set_are_never_seen(data: Path, model: Path, tested: str) -> None:
    sets = rated_sets(data)
    states = judge.encoded(str(model), sets, None)
    kin = KNOWN[tested].kin
    first, strength = judge.Judges(sets, states).scores(tested)
    assert first.keys() == sets.keys() - set(kin)
    second, same = judge.Judges(with_other_ratings(sets, tested, *kin), states).scores(tested)
    assert strength == same
    for name in first:
        assert np.array_equal(first[name], second[name])


def test_a_set_held_out_for_the_blend_is_scored_without_its_ratings(data: Path, model: Path) -> None:
    sets = rated_sets(data)
    states = judge.encoded(str(model), sets, None)
    tested, held = "GRADE ConvAI2", "FED turn"
    changed = with_other_ratings(sets, tested, held, "FED dialogue")
    own, same = (judge.Judges(some, states)._heads(tested, held) for some in (sets, changed))
    other = judge.Judges(with_other_ratings(sets, "USR PersonaChat"), states)._heads(tested, held)
    assert all(np.array_equal(a.weights, b.weights) for a, b in zip(own, same, strict=True))
    assert not np.array_equal(own[0].weights, other[0].weights)
    scores, strength = judge.Judges(sets, states).scores(tested)
    head = own[STRENGTHS.index(strength)]
    assert scores[held] == pytest.approx(head(judge.Judges(sets, states).states[held]))


def test_replies_to_a_tested_context_are_not_learned_from(data: Path, model: Path) -> None:
    sets = rated_sets(data)
    tested, other = "GRADE ConvAI2", "GRADE DailyDialog"
    samples = [replace(sample, context=sets[tested].samples[0].context) for sample in sets[other].samples]
    shared = sets | {other: replace(sets[other], samples=samples)}
    states = judge.encoded(str(model), shared, None)
    heads = judge.Judges(shared, states)._heads(tested)
    without = {name: own for name, own in shared.items() if name != other}
    wanted = judge.Judges(without, states)._heads(tested)
    assert heads[0].weights == pytest.approx(wanted[0].weights)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tuned judges that learn from tiny sets, in one epoch."""
    monkeypatch.setattr(tuned_judges, "SETTINGS", replace(tuned_judges.SETTINGS, least=5, replies=16, batch=8))
    monkeypatch.setattr(tuned_judges, "TUNING", replace(TUNING, epochs=1, learning_rate=1e-3))
    monkeypatch.setattr("interloq.statistics.ridge.RESAMPLES", 5)


def test_tuned_judges_and_means_of_ranks(
    quick: None, data: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--data", str(data), "--scorer", f"one={model}", "--resamples", "20", "--device", "cpu", "--json"]
    options += ["--keep", str(tmp_path / "kept"), "--tune", "one", "--seeds", "2", "--mean", "tuned one,judge one"]
    assert judge.main(options) == 0
    shown = capsys.readouterr()
    titles = {"one", "judge one", "tuned one", "tuned one seed 1", "mean of ranks: tuned one + judge one"}
    values = {(row["set"], row["scorer"]): row["value"] for row in json.loads(shown.out)["rows"]}
    assert values.keys() == {(name, title) for name in KNOWN for title in titles}
    assert values["FED turn", "tuned one"] != values["FED turn", "tuned one seed 1"]
    trained = [line for line in shown.err.splitlines() if line.startswith("tuned without ")]
    assert len(trained) == 14
    assert sum("FED turn and FED dialogue" in line for line in trained) == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RelevanceScorer, "load", lambda *_, **__: pytest.fail("stored scores were computed again"))
        assert judge.main(options) == 0
    assert capsys.readouterr().out == shown.out


@pytest.mark.parametrize("tested", ["multi-reference DailyDialog", "FED turn"])
def test_tuned_judges_see_neither_ratings_nor_contexts_of_the_tested_set(
    quick: None, data: Path, model: Path, tested: str
) -> None:
    sets = rated_sets(data)
    kin = KNOWN[tested].kin
    other = next(name for name in sets if name not in (tested, *kin))
    samples = list(sets[other].samples)
    samples[:3] = [replace(sample, context=sets[tested].samples[0].context) for sample in samples[:3]]
    judges = tuned_judges.TunedJudges(str(model), sets | {other: replace(sets[other], samples=samples)}, device="cpu")
    fold = [name for name in sets if name in (tested, *kin)]
    task = judges._task(fold, 0)
    learned = [name for name in sets if name not in fold and name != "FED dialogue"]
    assert np.bincount(task.replies.sets).tolist() == [
        len(sets[name].samples) - 3 * (name == other) for name in learned
    ]
    hashes = {pair_hash(sample) for name in fold for sample in sets[name].samples}
    assert not hashes & set(task.replies.hashes.tolist())


def test_every_training_starts_from_the_same_network(quick: None, data: Path, model: Path) -> None:
    sets = rated_sets(data)
    first, second = (tuned_judges.TunedJudges(str(model), sets, device="cpu") for _ in range(2))
    first.scores("GRADE ConvAI2")
    assert np.array_equal(first.scores("FED turn"), second.scores("FED turn"))


def write_more(folder: Path) -> None:
    """Spot the Bot, ConvAI and PredictiveEngagement, a few dialogues or pairs each."""
    texts = ["what do you like ?", "i like tea .", "do you cook ?", "i cook at night .", "why ?", "it is quiet ."]
    turns = [{"id": "ab"[i % 2], "text": text} for i, text in enumerate(texts)]
    talks = [
        {"_id": {"$oid": f"{i:02}"}, "system_type0": "a", "system_type1": "b", "convo": turns[: 2 + i % 5]}
        for i in range(12)
    ]
    sides = [{f"entity{k}_annotation": {"is_human": (i + k) % 3 == 0 or None} for k in range(2)} for i in range(12)]
    votes = [{"convo_id": f"{i:02}", **side} for i, side in enumerate(sides)]
    for name, values in (("dialogues", talks), ("annotations", votes)):
        with gzip.open(folder / f"spot_the_bot_convai2.{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(value) + "\n" for value in values)
    spoken = [{"speaker": "AB"[i % 2], "text": text} for i, text in enumerate(texts)]
    chats = [{"id": str(i), "turns": spoken[i % 3 :], "eval_score": 1 + i % 5} for i in range(12)]
    known = [chat | {"speaker_class": {"A": "Human", "B": "Bot"}} for chat in chats[:10]] + chats[10:]
    (folder / "logs").mkdir()
    with lzma.open(folder / "logs" / "convai_human_bot.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(chat) + "\n" for chat in known)
    columns = "query,response,human_score,Ruber_Unref_Score,CTX_Unref_Score,Eng_Score_MeanPooling,Eng_Score_MaxPooling"
    pairs = [f"where is it {i} ?,{texts[i % 6]},{1 + i % 4},0,0,0,0" for i in range(8)]
    (folder / "predictive_engagement.csv").write_text("\n".join([columns, *pairs]) + "\n")


@pytest.fixture(scope="module")
def more_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_rated_sets(tmp_path_factory.mktemp("more"))
    write_more(folder)
    return folder


def test_more_sets_are_rated_sides_of_dialogues_and_pairs(more_data: Path) -> None:
    sets = rated_sets(more_data)
    found = more_rated_sets(more_data, sets.values())
    engagement, spot, convai = found.values()
    assert len(engagement.human) == 8
    assert len(convai.human) == 10
    assert convai.human[:3].tolist() == [1, 2, 3]
    replies = [sample for sample, item in zip(convai.samples, convai.items, strict=True) if item == 0]
    assert [(len(s.context), s.response) for s in replies] == [
        (1, "i like tea ."),
        (3, "i cook at night ."),
        (5, "it is quiet ."),
    ]
    assert spot.human[:5].tolist() == [0.5, 0.5, 0.5, 0.5, (1 + 0.5 * 3) / 4]
    assert len(spot.human) == 2 * 12 - 3  # the first speaker of a dialogue with two turns does not reply
    own = sets["GRADE ConvAI2"]
    asked = replace(own, samples=[replace(own.samples[0], context=engagement.samples[2].context)])
    assert len(more_rated_sets(more_data, [asked])["PredictiveEngagement"].human) == 7


def test_blends_learn_on_sets_of_the_same_kind_and_take_tuned_judges(quick: None, more_data: Path, model: Path) -> None:
    sets = rated_sets(more_data)
    references = {"GRADE ConvAI2": np.arange(12.0), "USR PersonaChat": np.arange(18.0)}
    found = judge.run(
        more_data,
        {"one": str(model)},
        {"length": lambda samples: np.array([float(len(sample.response)) for sample in samples])},
        tuning=tuned_judges.Tuning(["one"], 1, "last"),
        more=True,
        references=references,
        device="cpu",
        resamples=0,
    )
    weights = found.weights["blend of all"]
    assert weights["FED turn"] == weights["FED dialogue"]
    assert weights["FED turn"]["vbertscore"] == 0
    assert weights["GRADE ConvAI2"]["vbertscore"] != 0
    values = {(row.set, row.scorer): row.value for row in found.rows if row.measure == "spearman"}
    for name in sets:
        assert values[name, "blend of all, tuned"] != values[name, "blend of all"]
        assert ((name, "vbertscore") in values) == (name in references)


def test_the_epoch_that_counts() -> None:
    epochs = tuned_judges.Epochs(np.array([2.0, 1.0, 3.0]), np.array([0.3, 0.1, 0.2]), {"one": np.eye(3)})
    assert [int(epochs.of("one", rule).argmax()) for rule in tuned_judges.EPOCHS] == [1, 0, 2]


def test_wrong_options_are_one_line(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, says in (
        (["--data", str(data), "--scorer", "folder"], "write --scorer NAME=FOLDER"),
        (["--data", str(data), "--scorer", f"a={data}"], "no trained scorer in"),
        (["--data", str(data), "--scorer", f"a={data}", "--tune", "b"], "--tune names 'b', which is not a scorer"),
        (["--data", str(data), "--scorer", f"a={data}", "--mean", "tuned a"], "--mean names 'tuned a'"),
    ):
        assert judge.main(arguments) == 2
        shown = capsys.readouterr().err
        assert says in shown
        assert shown.count("\n") == 1
