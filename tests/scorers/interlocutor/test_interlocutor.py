"""The modules of `interloq.scorers.interlocutor`: add users, baselines, model users, reader, settings."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq import InputError, Rating, Sample, write
from interloq.cli.main import main
from interloq.data.records.profiles import read_profiles
from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.learn.store import read_tensors
from interloq.models.pretrained import Subwords
from interloq.records import INTERLOCUTOR, Turn
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.interlocutor.add_users import AddUsersJob, from_log
from interloq.scorers.interlocutor.baselines import BASELINES, global_majority, label_of, private_majority, turn_index
from interloq.scorers.interlocutor.model import InterlocutorModel
from interloq.scorers.interlocutor.model_users import CARD, forget_user, warning, write_card
from interloq.scorers.interlocutor.reader import JUDGE, REPLIER, USERS, SampleReader
from interloq.scorers.interlocutor.settings import (
    ADDING,
    DCP,
    DCP_TRAINABLE,
    SCORE,
    SCORE_TRAINABLE,
    Added,
    InterlocutorReading,
    InterlocutorSources,
    Kind,
    Target,
)
from tests.made_relevance import tiny_encoder
from tests.scorers.interlocutor.made_models import judged


def adding(model: Path, folder: Path, *judges: str, kind: Kind = DCP, aspect: str = "continued") -> AddUsersJob:
    write(folder / "train.jsonl", judged(20, seed=3, judges=judges, aspect=aspect), kind="samples")
    (folder / "profiles.json").write_text('{"cat": "so !", "ann": "no"}')
    training = replace(ADDING, epochs=4, learning_rate=0.02)
    return from_log(TrainingLog([str(folder)]), InterlocutorSources(add_to=str(model)), Added(kind=kind), training)


def test_nothing_else_changes(dcp_model: Path, tmp_path: Path) -> None:
    facts = train(adding(dcp_model, tmp_path, "cat", "ann"), tmp_path / "new", device="cpu")
    assert (facts["users"], facts["user_samples"]) == (["ann", "bob", "cat"], [60, 60, 20])
    old, new = (read_tensors(folder / "model.safetensors") for folder in (dcp_model, tmp_path / "new"))
    assert torch.equal(new["users"][:2], old["users"])
    assert new["users"][2].abs().sum() > 0
    assert all(torch.equal(new[name], old[name]) for name in old if name != "users")
    before, after = (
        InterlocutorModel.load(folder, kind="dcp", device="cpu") for folder in (dcp_model, tmp_path / "new")
    )
    samples = judged(5)
    for user in ("ann", "bob", ""):
        assert np.array_equal(after.scores(samples, user), before.scores(samples, user))
    assert after.scores(samples, "cat") != pytest.approx(after.scores(samples, ""), abs=1e-4)
    assert facts["added"]["error"] < facts["added"]["error_as_anyone"]
    assert facts["temperature"] == before.facts["temperature"]


def test_profiles_of_new_users_are_added(score_model: Path, tmp_path: Path) -> None:
    job = adding(score_model, tmp_path, "cat", kind=SCORE, aspect="overall")
    train(job, tmp_path / "new", device="cpu")
    model = InterlocutorModel.load(tmp_path / "new", kind=SCORE, device="cpu")
    assert model.reader.profiles == {"ann": "i like the rain .", "bob": "tea !", "cat": "so !"}


def test_what_cannot_be_added(dcp_model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no new user has 5 training samples; no sample names a new user"):
        train(adding(dcp_model, tmp_path, "ann"), tmp_path / "new", device="cpu")
    with pytest.raises(InputError, match="contains a 'dcp', not a 'interlocutor'"):
        adding(dcp_model, tmp_path, "cat", kind=SCORE)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "model.json").write_text('{"kind": "dcp", "schema": 1, "users": []}')
    with pytest.raises(InputError, match="users cannot be added to a model without user tokens"):
        adding(tmp_path / "plain", tmp_path, "cat")


def test_options_of_a_whole_training_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "dcp", "new.jsonl", "-o", "out", "--add-to", "model", "--personal", "both"]) == 2
    assert "--personal is not used with --add-to; omit --personal or --add-to" in capsys.readouterr().err


def reply(id: str, user: str, label: float | None, aspect: str = "continued") -> Sample:
    rating = Rating(label, user, aspect, INTERLOCUTOR)
    return Sample(id, ["Hi", "Hey"], "Hello", ratings=[rating], dialogue=id.partition("#")[0])


TRAIN = [
    *(reply(f"a{i}#1", "ann", float(i != 0)) for i in range(5)),  # 4 of 5 answered
    *(reply(f"b{i}#2", "bob", float(i == 0)) for i in range(4)),  # 1 of 4
    reply("c#1", "", 0.0),  # an opening that nobody answered
    reply("d#1", "ann", None),
]


def values(name: str, *samples: Sample) -> list[float | None]:
    return [score.value for score in BASELINES[name](TRAIN, samples)]


def test_majorities_are_shares_of_the_training_labels() -> None:
    ann, bob, eve, nobody = (reply(f"t{user}#9", user, None) for user in ("ann", "bob", "eve", ""))
    assert values("global_majority", ann, bob, eve, nobody) == [0.5] * 4
    assert values("private_majority", ann, bob, eve, nobody) == [0.8, 0.25, 0.5, 0.5]
    score = global_majority(TRAIN, [ann])[0]
    assert (score.id, score.metric, score.key) == ("tann#9", "global_majority", ann.key)


def test_the_turn_index_is_in_the_id_of_a_reply_in_its_dialogue_or_else_the_length_of_the_context() -> None:
    first, second, late = (reply(id, "ann", None) for id in ("x#1", "x#2", "x#99"))
    plain = Sample("ticket#99", ["Hi", "Hey"], "Hello")
    assert values("turn_index", first, second, late, plain) == pytest.approx(
        [(4 + 5) / (6 + 10), (1 + 5) / (4 + 10), 0.5, (1 + 5) / (4 + 10)]
    )
    assert [s.value for s in turn_index(TRAIN, [second], smoothing=0)] == [0.25]


def test_labels_are_zero_or_one() -> None:
    assert label_of(reply("x#1", "ann", 1.0, "happy"), "happy") == 1
    with pytest.raises(InputError, match=r"rating of 'continued' of 'x#1' is 4, but labels are 0 or 1"):
        label_of(reply("x#1", "ann", 4.0))
    with pytest.raises(InputError, match="no training sample has a label 'continued'"):
        private_majority([reply("x#1", "ann", None)], [])


def test_a_model_with_user_tokens_says_so(dcp_model: Path, score_model: Path) -> None:
    facts = json.loads((dcp_model / "model.json").read_text())
    assert facts["warning"] == warning(2, 0)
    assert facts["warning"].startswith("This model contains learned tokens of 2 users, with their ids. A token")
    card = (dcp_model / CARD).read_text()
    assert facts["warning"] in card
    assert "interloq corpus forget" in card
    assert "with their ids and the profiles of 2 users." in (score_model / CARD).read_text()
    assert warning(0, 1).startswith("This model contains the profiles of 1 user.")


def test_a_model_without_users_has_no_card(tmp_path: Path) -> None:
    (tmp_path / CARD).write_text("old")
    write_card(tmp_path, 0, 0)
    assert not (tmp_path / CARD).exists()
    assert warning(0, 0) == ""


def test_a_forgotten_user_is_anyone_and_nobody_else_changes(score_model: Path, tmp_path: Path) -> None:
    folder, samples = shutil.copytree(score_model, tmp_path / "model"), judged(5)
    before = InterlocutorModel.load(folder, kind="interlocutor", device="cpu")
    assert forget_user(folder, "ann")
    after = InterlocutorModel.load(folder, kind="interlocutor", device="cpu")
    assert after.signature() != before.signature()
    assert after.scores(samples, "bob") == pytest.approx(before.scores(samples, "bob"), abs=1e-6)
    assert after.scores(samples, "ann") == pytest.approx(before.scores(samples, ""), abs=1e-6)
    assert read_profiles(folder / "profiles.json") == {"bob": "tea !"}
    assert not any("ann" in path.read_text() for path in folder.glob("*.json") if not path.name.startswith("token"))
    assert "of 1 user, with their ids and the profiles of 1 user" in (folder / CARD).read_text()
    assert not forget_user(folder, "ann")


def test_the_last_user(dcp_model: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(dcp_model, tmp_path / "model")
    assert forget_user(folder, "bob")
    assert forget_user(folder, "ann")
    facts = json.loads((folder / "model.json").read_text())
    assert (facts["users"], facts["warning"], (folder / CARD).exists()) == ([], "", False)
    assert 0 < InterlocutorModel.load(folder, kind="dcp", device="cpu").scores(judged(1))[0] < 1


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model in the folder"):
        forget_user(tmp_path, "ann")
    (tmp_path / "model.json").write_text('{"kind": "relevance"}')
    with pytest.raises(InputError, match="contains a 'relevance'; only models by train dcp and train interlocutor"):
        forget_user(tmp_path, "ann")


VOCABULARY = 1000  # speakers are 1000, 1001, …


@pytest.fixture(scope="module")
def subwords(tmp_path_factory: pytest.TempPathFactory) -> Subwords:
    return Subwords(tiny_encoder(tmp_path_factory.mktemp("reader")), longest=40)


def reader(subwords: Subwords, tokens: int = 40, profile_tokens: int = 10) -> SampleReader:
    return SampleReader(subwords, tokens, profile_tokens, VOCABULARY, {"bob": 0, "cat": 1}, {"bob": "tea !"})


def parts(read: SampleReader, sample: Sample, judge: str) -> list[list[str]]:
    """Context and reply as words, with speakers as numbers from 0."""
    words = read.subwords._tokenizer.convert_ids_to_tokens
    (row,) = read.read([sample], [judge])
    return [[str(t - VOCABULARY) if t >= VOCABULARY else words(int(t)) for t in part] for part in row]


TURNS = [Turn("tea ?", "bob"), Turn("rain .", "ann"), Turn("so ?", "bob")]
SAMPLE = Sample("d#3", TURNS, "the rain .", ratings=[Rating(1, "bob", "continued", INTERLOCUTOR)])


def test_each_turn_starts_with_its_speaker_and_the_row_with_the_judge(subwords: Subwords) -> None:
    bob, replier = str(USERS), str(REPLIER)
    assert parts(reader(subwords), SAMPLE, "bob") == [
        [bob, "tea", "!", bob, "tea", "?", replier, "rain", ".", bob, "so", "?"],
        [replier, "the", "rain", "."],
    ]
    anyone = str(JUDGE)
    for unknown in ("", "dan"):
        assert parts(reader(subwords), SAMPLE, unknown)[0] == [
            *[anyone, anyone, "tea", "?", replier, "rain", ".", anyone, "so", "?"],
        ]


def test_long_contexts_lose_their_first_turns(subwords: Subwords) -> None:
    rows = {n: parts(reader(subwords, tokens=n), SAMPLE, "cat") for n in (17, 16, 14, 13, 10)}
    assert [len(row[0]) for row in rows.values()] == [10, 7, 7, 4, 3]
    assert all(row[1] == ["0", "the", "rain", "."] for row in rows.values())
    assert rows[13][0] == ["3", "3", "so", "?"]
    assert rows[10][0] == ["3", "3", "so"]  # the last turn does not fit and is cut inside


def test_texts_longer_than_the_model_are_cut_and_counted(subwords: Subwords) -> None:
    read = reader(subwords, tokens=16, profile_tokens=100)
    long = Sample("d#1", [Turn("tea " * 50, "bob")], "rain " * 50)
    (row,) = SampleReader(subwords, 16, 100, VOCABULARY, {}, {"bob": "tea " * 50}, read.cut).read([long], ["bob"])
    assert len(row[0]) + len(row[1]) + 3 == 16
    assert read.cut == {"profiles": 1, "replies": 1}
    assert sum(map(len, read.read([Sample("d#1", [Turn("tea " * 50, "bob")], "rain")], ["cat"])[0])) + 3 == 16
    assert read.cut["turns"] == 1


def test_turns_without_text_are_skipped(subwords: Subwords) -> None:
    blank = Sample("d#3", [*TURNS, Turn(" ", "ann")], "the rain .", ratings=SAMPLE.ratings)
    assert parts(reader(subwords), blank, "bob") == parts(reader(subwords), SAMPLE, "bob")


def test_defaults_are_those_of_the_paper() -> None:
    for trainable, epochs in ((DCP_TRAINABLE, 5), (SCORE_TRAINABLE, 10)):
        target = next(part for part in trainable.settings if isinstance(part, Target))
        training = next(part for part in trainable.settings if isinstance(part, Training))
        assert (training.optimizer, training.learning_rate, training.epochs, target.batch) == (
            "adamw",
            3e-5,
            epochs,
            64,
        )


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [(InterlocutorReading, "tokens", 15), (Added, "user_samples", 0), (Target, "batch", 0), (Target, "anyone", 2)],
)
def test_bad_values_are_refused(kind: Any, name: str, value: int) -> None:
    with pytest.raises(InputError, match=f"{name} must be"):
        kind(**{name: value})


def test_results_in_words() -> None:
    facts = {"best": {"dev_loss": 0.5, "epoch": 2}, "users": ["ann"], "kind": "dcp"}
    facts["dev"] = {"accuracy": 0.75, "majority": 0.5, "nll": 0.6, "nll_of_rate": 0.69}
    assert DCP_TRAINABLE.result(facts, []) == (
        "best dev loss 0.5000 after epoch 2; 1 user with a token\n"
        "dev: accuracy 0.750 (majority 0.500), negative log-likelihood 0.6000 (constant 0.6900)"
    )
    facts |= {"kind": "interlocutor", "dev": {"rmse": 1.0, "rmse_of_mean": 1.5, "pearson": None}}
    assert SCORE_TRAINABLE.result(facts, []).endswith("dev: RMSE 1.000 (mean rating 1.500), Pearson's r n/a")
