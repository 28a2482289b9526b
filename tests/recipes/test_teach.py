"""From rated replies and a pool of replies to teachers, a student and a packaged judge, with tiny networks."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import install_judges
import judge_figures
import judge_sets
import numpy as np
import pytest
import reply_pool
import teach
import torch
from judge_network import HEADS, DevicePairs, JudgeNetwork, NetworkSpec
from judge_sets import ASPECTS, RatedReply
from ready_logs import write_objects
from safetensors.torch import load_file, save_file

from interloq import Sample
from interloq.learn.low_rank import attach, select_stored_tensors
from interloq.learn.settings import LowRank
from interloq.models.cross_encoder import CrossEncoder, rows
from interloq.scorers.judge.model import load_judge
from tests.made_lm import tiny_lm
from tests.made_relevance import exchanges, talks, tiny_encoder

HELD_OUT, LEARNED = "GRADE ConvAI2", "FED turn"  # in the folds a and d
RATED_SETS = (HELD_OUT, LEARNED, "DSTC7")
RANK = 2


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_judges, "RESAMPLES", 20)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool, rated replies, an encoder, and tensors to start from."""
    folder = tmp_path_factory.mktemp("teach")
    tiny_encoder(folder / "encoder")
    made = exchanges(talks(12))
    write_objects(folder / "pool.jsonl", reply_pool.pool(made))
    judge_sets.write_replies(rated_replies(), folder / "rated.jsonl")
    write_start(folder / "start.safetensors", folder / "encoder")
    return folder


def rated_replies(signs: dict[str, float] | None = None) -> list[RatedReply]:
    """Six rated exchanges of each set; all aspects of a reply have the same rating."""
    replies = []
    for number, name in enumerate(RATED_SETS):
        for item, exchange in enumerate(exchanges(talks(2, seed=50 + number))):
            rating = float(item) * (signs or {}).get(name, 1.0)
            replies.append(
                RatedReply(name, item, list(exchange.context), exchange.reply, dict.fromkeys(ASPECTS, rating))
            )
    return replies


def write_start(path: Path, encoder: Path) -> None:
    """Write updates of rank 1 with a head for relevance alone, as a relevance scorer stores them."""
    scorer = CrossEncoder.pretrained(encoder, 1)
    attach(scorer, LowRank(low_rank=1), seed=0)
    save_file(select_stored_tensors(scorer), path)


def spec(work: Path, name: str, encoder: str = "encoder") -> str:
    return f"{name},{work / encoder},{RANK},{work / 'start.safetensors'}"


def network(work: Path) -> JudgeNetwork:
    made = JudgeNetwork(NetworkSpec.parse(spec(work, "teacher")), "cpu")
    made.reset()
    return made


def run_stage(
    work: Path, stage: str, name: str, out: str, *more: str, folds: Sequence[str] = ("a", "d", "all")
) -> None:
    own = [
        stage,
        "--device",
        "cpu",
        "--network",
        spec(work, name),
        "--pool",
        str(work / "pool.jsonl"),
        "-o",
        str(work / out),
    ]
    assert teach.main([*own, *more, "--folds", *folds]) == 0


@pytest.fixture(scope="module")
def judges(work: Path) -> Path:
    """The folder of taught judges."""
    rated = ("--rated", str(work / "rated.jsonl"))
    run_stage(work, "tune", "teacher", "judges", *rated, "--steps", "2", "--seeds", "0", "1")
    run_stage(work, "label", "teacher", "judges")
    run_stage(work, "student", "student", "judges", *rated, "--teachers", "teacher", "--epochs", "1", "--seeds", "0")
    return work / "judges"


def test_rows_joined_on_the_device_are_those_of_the_package(work: Path) -> None:
    made, rated = network(work), rated_replies()
    pairs = made.read([r.context for r in rated], [r.reply for r in rated], np.arange(len(rated)))
    which = np.array([3, 0, 7])
    on_device = DevicePairs(pairs, made.subwords, torch.device("cpu")).rows(which)
    joined = rows([(pairs.contexts[i], pairs.replies[i]) for i in which], made.subwords)
    for name in ("ids", "mask", "kinds"):
        assert torch.equal(getattr(on_device, name), getattr(joined, name)), name


def test_replies_that_share_a_context_have_the_states_of_rows_of_their_own(tmp_path: Path) -> None:
    tiny_lm(tmp_path / "lm", "llama")
    write_start(tmp_path / "start.safetensors", tmp_path / "lm")
    made = JudgeNetwork(NetworkSpec.parse(spec(tmp_path, "lm", "lm")), "cpu")
    pairs = made.read([["hello there"], ["so", "what now"]], ["yes", "no way", "well", "ok"], np.array([0, 0, 1, 1]))
    shared, alone = made.score(pairs), made.score(pairs.take(np.arange(4)))
    np.testing.assert_allclose(shared, alone, atol=1e-5)
    assert np.abs(shared - shared[0]).max() > 1e-3


def test_a_network_starts_from_updates_of_lower_rank_and_one_head(work: Path) -> None:
    made, start = network(work), load_file(work / "start.safetensors")
    stored = made.stored()
    assert stored["head.weight"].shape[0] == len(HEADS)
    torch.testing.assert_close(stored["head.weight"], start["head.weight"].expand(len(HEADS), -1))
    name = next(name for name in start if name.endswith(".a"))
    torch.testing.assert_close(stored[name][:1], start[name])


def test_ratings_of_held_out_sets_change_nothing(work: Path, judges: Path) -> None:
    judge_sets.write_replies(rated_replies({HELD_OUT: -1.0}), work / "other.jsonl")
    rated = ("--rated", str(work / "other.jsonl"), "--steps", "2", "--seeds", "0", "1")
    run_stage(work, "tune", "teacher", "others", *rated, folds=("a", "d"))
    for fold, same in (("a", True), ("d", False)):
        before, after = (np.load(folder / f"teacher-{fold}-soup.npy") for folder in (judges, work / "others"))
        assert np.array_equal(before, after) is same


def test_replies_to_tested_contexts_are_not_learned() -> None:
    replies = rated_replies()
    replies.append(replace(replies[0], set=LEARNED, item=99, context=[text.upper() for text in replies[0].context]))
    learned = [replies[i] for i in teach.find_learned(replies, "a")]
    assert {reply.set for reply in learned} == {LEARNED, "DSTC7"}
    assert all(reply.item != 99 for reply in learned)
    assert len(teach.find_learned(replies, "all")) == len(replies)


def test_the_mean_of_seeds_is_kept(judges: Path) -> None:
    tensors = [load_file(judges / f"teacher-a-{seed}.safetensors") for seed in ("0", "1", "soup")]
    for name, mean in tensors[2].items():
        wanted = (tensors[0][name].float() + tensors[1][name].float()) / 2
        torch.testing.assert_close(mean.float(), wanted, atol=2e-3, rtol=2e-3)


def test_attacks_do_not_gain_in_what_students_learn(work: Path) -> None:
    pool = teach.Pool(work / "pool.jsonl", None)
    labels = np.random.default_rng(0).normal(size=(len(pool.replies), len(HEADS)))
    targets = teach.teach_targets(pool, [labels], [labels[:3]])
    attacks = [i for i, base in enumerate(pool.bases) if base >= 0]
    assert attacks
    assert len(targets) == len(pool.replies) + 3
    for i in attacks:
        assert (targets[i] < targets[pool.bases[i]]).all()


def test_stages_skip_what_is_there(work: Path, judges: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (judges / "student-a-0.npy").stat().st_mtime_ns
    capsys.readouterr()
    rated = ("--rated", str(work / "rated.jsonl"), "--teachers", "teacher", "--epochs", "1", "--seeds", "0")
    run_stage(work, "student", "student", "judges", *rated)
    assert (judges / "student-a-0.npy").stat().st_mtime_ns == before
    assert "step" not in capsys.readouterr().err


def test_a_taught_judge_in_a_folder_scores_as_it_did_when_taught(work: Path, judges: Path) -> None:
    ratings = install_judges.Ratings(judge_sets.read_replies(work / "rated.jsonl"))
    student = install_judges.Taught("student", "0", str(work / "encoder"), RANK)
    outputs = install_judges.Outputs(judges, ratings, [student])
    install_judges.write_judge(work / "installed", student, outputs, ratings)
    judge = load_judge(work / "installed", device="cpu")
    samples = [Sample(str(i), list(reply.context), reply.reply) for i, reply in enumerate(ratings.replies)]
    assert judge.trained_on(samples) == len(samples)
    taught = outputs.read(student, "all", "engaging")
    scores = judge.unlimited_scores(samples, "engaging")
    slope = outputs.slope("engaging") / taught.std()
    np.testing.assert_allclose(scores - scores.mean(), slope * (taught - taught.mean()), atol=2e-3)
    errors = judge.errors(samples)
    assert errors is not None
    assert errors.mean() == pytest.approx(outputs.errors().mean(), abs=1e-4)
    text = install_judges.write_card("ready", "Updates.", outputs, ratings)
    assert "| DSTC7 | O-UDA 1.0 | 6 |" in text
    assert "| FED turn | " in text


def test_an_ensemble_adds_the_members_standardised_outputs(work: Path, judges: Path) -> None:
    ratings = install_judges.Ratings(judge_sets.read_replies(work / "rated.jsonl"))
    teacher = install_judges.Taught("teacher", "soup", str(work / "encoder"), RANK)
    student = install_judges.Taught("student", "0", str(work / "encoder"), RANK)
    single = {member.name: install_judges.Outputs(judges, ratings, [member]) for member in (teacher, student)}
    both = install_judges.Outputs(judges, ratings, [teacher, student])
    for name, member in ((teacher.name, teacher), (student.name, student)):
        install_judges.write_judge(work / "both" / name, member, single[name], ratings)
    install_judges.write_ensemble(work / "both", single, both)
    samples = [Sample(str(i), list(reply.context), reply.reply) for i, reply in enumerate(ratings.replies)]
    total = np.zeros(len(samples))
    for name, member in ((teacher.name, teacher), (student.name, student)):
        values = single[name].read(member, "all", "overall")
        total += (values - values.mean()) / values.std()
    scores = load_judge(work / "both", device="cpu").unlimited_scores(samples, "overall")
    assert np.corrcoef(scores, total)[0, 1] > 0.999


def test_conversations_with_bots_become_rated_replies(tmp_path: Path) -> None:
    turns = [{"speaker": "user", "text": "hi"}, {"speaker": "bot", "text": "hello"}, {"speaker": "user", "text": " "}]
    turns += [{"speaker": "user", "text": "how are you"}, {"speaker": "bot", "text": "fine"}]
    ratings = {"robotic": 5.0, "interesting": 80.0, "fun": 60.0, "consistent": 1.0, "fluent": 90.0, "topic": 9.0}
    talk = {"turns": turns, "ratings": ratings, "system": "a"}
    with lzma.open(tmp_path / "ji2022_part.jsonl.xz", "wt") as file:
        file.write(json.dumps(talk) + "\n")
    replies = list(judge_sets.ji_2022(tmp_path))
    assert [(reply.context, reply.reply) for reply in replies] == [
        (["hi"], "hello"),
        (["hi", "hello", "how are you"], "fine"),
    ]
    assert replies[0].ratings == {"dialogue": 48.0, "natural": 90.0, "engaging": 70.0}


def test_replies_of_people_to_a_topic_are_left_out(tmp_path: Path) -> None:
    replies = [
        {"system": "Human", "response": "ok", "ratings": [["x", 5, 5]]},
        {"system": "a", "response": "so so", "ratings": [["x", 1, 2], ["y", 3, 4]]},
    ]
    with lzma.open(tmp_path / "dstc7_part.jsonl.xz", "wt") as file:
        file.write(json.dumps({"grounding": "a text", "replies": replies}) + "\n")
    (reply,) = judge_sets.dstc7(tmp_path)
    assert reply.reply == "so so"
    assert reply.ratings == {"overall": 2.5, "relevant": 2.0, "engaging": 3.0}


def test_the_pool_has_replies_of_every_kind() -> None:
    lines = list(reply_pool.pool(exchanges(talks(30))))
    kinds = set()
    for line in lines:
        replies = line["replies"]
        assert isinstance(replies, list)
        for kind, text, *base in replies:
            kinds.add(kind)
            if base:
                assert base[0] in text
    assert kinds >= {"true", "random", "retrieved", "elsewhere", "parrot", "dull", "corrupted", "attack"}


def test_figures_name_judges_and_sets(
    work: Path, judges: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judge_figures, "RESAMPLES", 20)
    monkeypatch.setattr(judge_figures, "TESTED", (HELD_OUT, LEARNED))
    made = {
        name: [install_judges.Taught(name, seed, "", RANK)] for name, seed in (("teacher", "soup"), ("student", "0"))
    }
    monkeypatch.setattr(judge_figures, "JUDGES", made)
    monkeypatch.setattr(judge_figures, "COMPARED", (("student", "teacher"),))
    assert judge_figures.main(["--judges", str(judges), "--rated", str(work / "rated.jsonl")]) == 0
    printed = capsys.readouterr().out
    assert "teacher − student: [" in printed
    ratings = install_judges.Ratings(judge_sets.read_replies(work / "rated.jsonl"))
    scores = judge_figures.scores_by_set(install_judges.Outputs(judges, ratings, made["student"]))
    assert f"{judge_figures.mean_correlation(scores):.3f}" in printed
    assert judge_figures.main(["--judges", "nowhere", "--rated", str(work / "rated.jsonl")]) == 2
