"""Heads on frozen vectors: who answers, with and without a user or a profile, and people's own scores."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dcp_engagement
import dcp_frozen
import dcp_profiles
import frozen_heads
import numpy as np
import own_scores_english
import pytest
import torch
from frozen_heads import HeadSettings, Rows, TurnVectors

from interloq import Dialogue, InputError, Rating, Sample, Turn


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)  # for networks this small, threads do little but wait for each other


def vectors_of(*texts: str, width: int = 4) -> TurnVectors:
    """Return random unit vectors."""
    rows = np.random.default_rng(0).normal(size=(len(texts), width)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return TurnVectors({text: i for i, text in enumerate(texts)}, rows)


def users_who_differ(n: int, seed: int) -> Rows:
    """Return replies that user 1 answers if their first number is high, and user 2 if it is low."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    user = rng.integers(1, 3, size=n)
    likes = np.where(user == 1, x[:, 0], -x[:, 0])
    return Rows(x, (likes + 0.1 * rng.normal(size=n) > 0).astype(np.float64), user)


def test_what_a_head_reads() -> None:
    vectors = vectors_of("a", "b", "c", "reply")
    sample = Sample("d#3", [Turn("a"), Turn("b"), Turn("c")], "reply", dialogue="d")
    (row,) = frozen_heads.features([sample], vectors)
    reply, last, earlier, numbers = row[:4], row[4:8], row[8:12], row[12:]
    assert np.allclose(reply, vectors.of(["reply"])[0])
    assert np.allclose(last, vectors.of(["c"])[0])
    assert np.allclose(earlier, vectors.of(["a", "b"]).mean(axis=0))
    expected = [np.log1p(3), np.log1p(5), np.log1p(1), reply @ last, reply @ earlier]
    assert np.allclose(numbers, expected)
    assert set(frozen_heads.texts_of([sample])) == {"a", "b", "c", "reply"}


def test_principal_components_keep_distances() -> None:
    vectors = vectors_of(*"abcdef", width=3)
    reduced = frozen_heads.Reduction.fit(vectors, 3)(vectors)
    before, after = (np.linalg.norm(own.rows[0] - own.rows[1]) for own in (vectors, reduced))
    assert after == pytest.approx(before, rel=1e-5)
    assert reduced.width == 3


def test_only_a_token_learns_what_differs_between_users() -> None:
    train, dev, test = (users_who_differ(n, seed) for seed, n in enumerate((1000, 200, 300)))
    settings = HeadSettings(hidden=16, batch=50, learning_rate=1e-2, dropout=0.0)
    answered, everything = test.y == 1, np.arange(300)
    without = frozen_heads.train_head(train, dev, 0, settings, 0).predict(test)
    token = frozen_heads.train_head(train, dev, 2, settings, 0).predict(test)
    assert frozen_heads.mean_auc([without], answered, everything) < 0.6
    assert frozen_heads.mean_auc([token], answered, everything) > 0.9
    assert np.array_equal(token, frozen_heads.train_head(train, dev, 2, settings, 0).predict(test))


def test_numbers_are_learned_with_the_squared_error() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2)).astype(np.float32)
    rows = Rows(x, 3 + x[:, 0].astype(np.float64), np.zeros(400, dtype=np.int64))
    settings = HeadSettings(labels=False, learning_rate=1e-2, epochs=15, batch=16, dropout=0.0)
    head = frozen_heads.train_head(rows, rows, 0, settings, 0)
    assert head.dev_loss < 0.1
    assert abs(head.predict(rows).mean() - 3) < 0.2


def test_auc_and_decisions() -> None:
    scores, answered = np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True])
    assert frozen_heads.auc(scores, answered) == 0.875
    assert np.isnan(frozen_heads.auc(scores, np.ones(4, dtype=bool)))
    user = np.array([0, 0, 1, 1])
    assert np.isnan(frozen_heads.auc_within_users([scores], answered, user, np.arange(4)))
    assert frozen_heads.auc_within_users([scores], answered, np.array([0, 1, 0, 1]), np.arange(4)) == 1
    assert frozen_heads.decide_at_share(scores, 0.5).tolist() == [False, False, True, True]
    drawn = frozen_heads.draw_answered(np.array([True] * 90 + [False] * 10), 0.5, np.random.default_rng(0))
    assert (len(drawn), (drawn >= 90).sum()) == (20, 10)


def test_users_are_numbered_from_one() -> None:
    assert frozen_heads.number_users(["bob", "new", "ann"], ["ann", "bob", "ann"]).tolist() == [2, 0, 1]


def test_scores_of_replies_are_compared_with_ratings_of_dialogues() -> None:
    rng = np.random.default_rng(0)
    ratings = {f"d{i}": float(i % 5) for i in range(60)}
    dialogues = [name for i, name in enumerate(ratings) for _ in range(2 + i % 3)] + ["unrated"]
    scores = np.array([ratings.get(name, 9) + 0.1 * rng.normal() for name in dialogues])
    rated = frozen_heads.RatedDialogues.of([scores], dialogues, ratings)
    assert (len(rated.names), rated.lengths.max()) == (60, np.log(4))
    plain, equal = rated.findings("003/54", "made", "made", 20)
    assert (plain.verdict, equal.verdict) == ("holds", "holds")
    by_length = frozen_heads.RatedDialogues([*rated.names], [rated.lengths + 0.0], rated.lengths * 2, rated.lengths)
    assert by_length.r(np.arange(60)) == pytest.approx(1)


# ---- who answers -----------------------------------------------------------------------------------------------------


def make_tested(token_helps: float) -> dcp_frozen.Tested:
    """Return scores for 40 users, half of them with many training replies; a token helps only those."""
    rng = np.random.default_rng(0)
    users = [f"u{i:02}" for i in range(40) for _ in range(25)]
    labels = rng.random(len(users)) < 0.58
    sizes = {user: 2000 if user < "u20" else 200 for user in users}
    plain = labels + rng.normal(size=len(users))
    helped = np.array([sizes[user] > dcp_frozen.MANY for user in users])
    token = plain + token_helps * labels * helped
    dialogues = [f"{user}-{i // 5}" for i, user in enumerate(users)]
    scores = {dcp_frozen.DCP: [plain], dcp_frozen.TOKEN: [token]}
    return dcp_frozen.Tested(scores, labels, users, dialogues, sizes, 0.58, 1e-3)


def test_a_token_that_helps_users_with_many_replies_is_seen() -> None:
    findings = dcp_frozen.token_findings(make_tested(2), "made", 50, decides=True)
    assert [finding.decides for finding in findings] == [True, False, False, False, False]
    assert {finding.item for finding in findings} == {"003/52"}
    assert all(finding.verdict == "holds" for finding in findings)
    growth = dcp_frozen.growth_findings(make_tested(2), "made", 50, decides=True)
    assert [(finding.verdict, finding.decides) for finding in growth[:2]] == [("holds", True), ("holds", False)]
    assert (growth[2].value, growth[2].units) == (0, 20)
    rows = dcp_frozen.figure_3(make_tested(2), 20).rows
    assert sum(int(name.split()[0]) for name in rows) == 40


def test_a_token_that_does_nothing_does_not_help() -> None:
    findings = dcp_frozen.token_findings(make_tested(0), "made", 50, decides=True)
    assert findings[0].verdict == "does not hold"  # 0 in every resample is far below the published gain
    assert {finding.value for finding in findings} == {0}


def answered_once(n: int, first: int = 0) -> list[Sample]:
    """Return two replies per dialogue to four users; each answers the first and not the second."""
    samples = []
    for i in range(first, first + n):
        turns = [Turn("a", "bot"), Turn("b", f"u{i % 4}")]
        for k in (1, 2):
            ratings = [Rating(float(k == 1), f"u{i % 4}", "continued", "interlocutor")]
            samples.append(Sample(f"d{i}#{k}", turns[:k], "a" if k == 1 else "b", (), "", ratings, f"d{i}"))
    return samples


def test_folds_test_every_unanswered_reply() -> None:
    settings = HeadSettings(epochs=1, hidden=4)
    found, (scores,) = dcp_frozen.run_folds(answered_once(60), vectors_of("a", "b"), (0,), settings)
    assert scores.shape == (120,)
    assert (~found.labels).sum() == 60
    assert set(found.users) == {"u0", "u1", "u2", "u3"}


def test_users_with_many_replies_are_also_tested_with_few(capsys: pytest.CaptureFixture[str]) -> None:
    parts = {"train": answered_once(40), "dev": answered_once(8, 40), "test": answered_once(8, 48)}
    settings = HeadSettings(epochs=1, hidden=4)
    capped = dcp_frozen.run_capped(parts, vectors_of("a", "b"), (0,), settings, 5)
    assert capped.sizes == {f"u{i}": 20 for i in range(4)}  # what the users have, not what was learned from
    whole = make_tested(2)
    findings = dcp_frozen.cap_findings(whole, {100: make_tested(0), 400: whole}, 20)
    assert [finding.units for finding in findings] == [20, 20]
    assert (findings[0].verdict, findings[1].value) == ("holds", 0)
    assert "at most 100 training replies" in capsys.readouterr().out


def test_engagement_in_replies_of_people_and_of_systems() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=120)
    systems = ["Human", "Meena"] * 60
    samples = [Sample(str(i), [f"context {i // 2}"], "reply", system=name) for i, name in enumerate(systems)]
    is_human = np.array([name == "Human" for name in systems])
    scores = {
        "DCP": [np.where(is_human, ratings, rng.normal(size=120))],
        "NSP": [np.where(is_human, 0, ratings) + 0.1 * ratings],
    }
    rated = dcp_engagement.Rated(samples, np.zeros(120, dtype=np.int64), ratings, scores)
    findings = dcp_engagement.engagement_findings(rated, 50)
    assert [(finding.item, finding.verdict) for finding in findings if finding.decides] == [
        ("003/54", "holds"), ("003/55", "holds"), ("003/55", "holds"),
    ]  # fmt: skip
    assert {finding.units for finding in findings} == {60}
    people, systems_cell = dcp_engagement.table_5(rated, 20).rows["BERT-DCP (ours: frozen MiniLM)"]
    assert people.ours == pytest.approx(1)
    assert systems_cell.published == pytest.approx(0.2785)


# ---- profiles --------------------------------------------------------------------------------------------------------


def write_convai(folder: Path) -> None:
    turns = [{"speaker": "AB"[k % 2], "text": text} for k, text in enumerate(("hi", "hello", "tea ?", "no"))]
    rows = [
        {"id": "1", "turns": turns, "user_profile": ["i like tea"], "eval_score": 3},
        {"id": "2", "turns": turns[:1], "user_profile": ["i like tea"], "eval_score": 3},
        {"id": "3", "turns": turns, "user_profile": [], "eval_score": None},
    ]
    folder.mkdir(parents=True)
    with lzma.open(folder / dcp_profiles.FILE, "wt") as file:
        file.write("\n".join(map(json.dumps, rows)))


def test_dialogues_with_a_profile_are_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no convai_human_bot"):
        dcp_profiles.read_played(tmp_path)
    write_convai(tmp_path / "logs")
    (played,) = dcp_profiles.read_played(tmp_path)
    assert (played.dialogue.id, played.rating, list(played.profile)) == ("1", 3, ["i like tea"])
    assert [turn.speaker for turn in played.dialogue.turns] == ["person", "bot", "person", "bot"]


def test_only_replies_of_bots_are_tested() -> None:
    turns = [Turn(text, ("bot", "person")[i % 2]) for i, text in enumerate(("a", "b", "c", "d", "e", "f"))]
    played = []
    for i in range(40):
        dialogue = Dialogue(str(i), turns[: 3 + i % 4], {"bot": "bot"})
        played.append(dcp_profiles.Played(dialogue, ["i like tea"], None))
    vectors = vectors_of(*"abcdef", "i like tea")
    answers = dcp_profiles.predict_answers(played, vectors, HeadSettings(epochs=1, hidden=4), (0,))
    assert set(answers.scores) == {"DCP", "DCP + profile", "DCP + another profile"}
    assert 0 < (~answers.labels).sum() <= 40
    findings = dcp_profiles.answer_findings(answers, 20)
    assert [finding.decides for finding in findings] == [True, False, False, False]
    profile = dcp_profiles.profile_features([Sample("1", [Turn("a")], "b")], [["i like tea"]], vectors)
    assert profile.shape == (1, 8)
    assert np.allclose(profile[0, :4], vectors.of(["i like tea"])[0])


def test_profiles_of_new_raters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    profiles = {f"r{i:02}": "猫が好き" if i % 2 else "雨が嫌い" for i in range(40)}
    dialogues = []
    for i, name in enumerate(profiles):
        for k in range(5):
            ratings = [Rating(float(4 - i % 2), name, "satisfaction", "interlocutor")]
            dialogues.append(("human", Dialogue(f"{name}-{k}", [Turn("a", name)], {}, ratings)))
    monkeypatch.setattr(dcp_profiles, "locate", lambda *_: tmp_path)
    monkeypatch.setattr(dcp_profiles, "read_parts", lambda *_: dialogues)
    module = SimpleNamespace(profiles=lambda _: profiles)
    monkeypatch.setattr(dcp_profiles, "corpus", lambda _: SimpleNamespace(module=lambda: module))
    (finding,) = dcp_profiles.new_rater_findings(tmp_path, 20)
    assert (finding.item, finding.units, finding.decides) == ("003/53", 40, False)
    assert finding.value == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("recipe", [dcp_frozen, dcp_profiles, own_scores_english])
def test_missing_data_are_one_line(
    recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("INTERLOQ_DATA", raising=False)
    assert recipe.main(["--out", str(tmp_path)]) == 2
    assert "set INTERLOQ_DATA" in capsys.readouterr().err


# ---- own scores ------------------------------------------------------------------------------------------------------


def write_ji(folder: Path) -> None:
    ratings = dict.fromkeys(own_scores_english.QUESTIONS, 30)
    turns = [{"speaker": ("person", "bot")[k % 2], "text": f"turn {k}"} for k in range(12)]
    value: dict[str, Any] = {"worker": "w", "turns": turns, "ratings": ratings}
    rows = [value | {"id": "1", "system": "A"}, value | {"id": "2", "system": "QualityControl"}]
    with lzma.open(folder / own_scores_english.FILE, "wt") as file:
        file.write("\n".join(map(json.dumps, rows)))


def test_conversations_are_read_without_the_control(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no ji2022_part"):
        own_scores_english.read_conversations(tmp_path)
    write_ji(tmp_path)
    (conversation,) = own_scores_english.read_conversations(tmp_path)
    assert conversation.scores["robotic"] == 70
    assert conversation.scores["fun"] == 30
    assert conversation.score == pytest.approx((2 * 70 + 5 * 30) / 7)
    assert [sample.id for sample in conversation.samples()] == ["1#1", "1#5", "1#7", "1#11"]


def test_left_out_errors_are_exact() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    errors = []
    for i in range(30):
        rest = np.arange(30) != i
        weights, _ = own_scores_english.fit_ridge(x[rest], y[rest])
        errors.append((y[i] - x[i] @ weights) ** 2)
    assert own_scores_english.fit_ridge(x, y)[1] == pytest.approx(np.mean(errors))


def test_people_and_texts_are_both_learned() -> None:
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(30), 5)
    offsets, text = rng.normal(size=30) * 3, rng.normal(size=(150, 6))
    y = 50 + offsets[person] + text[:, 0] + 0.3 * rng.normal(size=150)
    conversations = [own_scores_english.Conversation(str(i), str(name), "A", [], {}) for i, name in enumerate(person)]
    known = own_scores_english.known_folds(conversations)
    assert [sorted(known[person == name]) for name in (0, 29)] == [[0, 1, 2, 3, 4]] * 2
    new = own_scores_english.new_folds(person)
    assert all(len(set(new[person == name])) == 1 for name in range(30))
    r = {}
    for title, design in {
        "text": own_scores_english.Design(text, None),
        "mean": own_scores_english.Design(None, person),
        "both": own_scores_english.Design(text, person),
    }.items():
        r[title] = float(np.corrcoef(own_scores_english.predict_held_out(design, y, known), y)[0, 1])
    assert r["text"] < r["mean"] < r["both"]
    assert r["both"] > 0.95


def test_levels_and_findings() -> None:
    rng = np.random.default_rng(0)
    worker, system = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
    score = rng.normal(size=40)[worker] + system + rng.normal(size=200)
    titles = (own_scores_english.OUTSIDERS, own_scores_english.OWN, own_scores_english.AWARE, own_scores_english.MEAN)
    noise = {title: score + 0.5 * k * rng.normal(size=200) for k, title in enumerate(titles)}
    predictions = own_scores_english.Predictions(noise, score, worker, system)
    levels, systems = predictions.dialogue_level(20), predictions.system_level(20)
    assert systems[own_scores_english.OUTSIDERS].value == pytest.approx(1)
    assert levels[own_scores_english.OWN]["overall"].value < 1
    findings = own_scores_english.make_findings(levels, levels, 40)
    assert [finding.item for finding in findings] == ["003/49", "003/49", "003/48", "003/48"]
    assert findings[-1].verdict == "does not hold"  # the made ratings of outsiders are far from useless
    assert not any(finding.decides for finding in findings)
    rows = own_scores_english.table_2(levels, levels, systems).rows
    assert rows[own_scores_english.AWARE][0].published == 0.496
    assert rows[own_scores_english.AWARE][1].ours is None
