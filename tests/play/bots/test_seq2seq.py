"""The bot of trained sequence-to-sequence networks; what it has learned is tested in play/networks."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, create, spec
from interloq.learn.job import train
from interloq.play.bot import ask_bot
from interloq.play.bots.mmi import Mmi
from interloq.play.bots.seq2seq import Seq2Seq
from interloq.records import Turn
from tests.play.networks.made_copies import make_job, open_dialogues, write_log

DIALOGUES, _ = open_dialogues(8)
SEEDS = list(range(8))
OPTIONS: tuple[dict[str, object], ...] = (
    {},
    {"temperature": 0.0},
    {"top_k": 3},
    {"beams": 4},
    {"beams": 4, "groups": 2, "diversity": 0.5},
)


@pytest.fixture(scope="module", params=["transformer", "vhred"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp(request.param)
    log = write_log(root / "log.jsonl", n=60)
    train(make_job(log, kind=request.param, epochs=2), root / "bot", device="cpu")
    train(make_job(log, kind=request.param, epochs=2, reverse=True), root / "back", device="cpu")
    return root


def bot_of(folder: Path, **options: object) -> Seq2Seq:
    return Seq2Seq(str(folder / "bot"), device="cpu", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", OPTIONS)
def test_replies_depend_only_on_turns_and_seed(folder: Path, options: dict[str, object]) -> None:
    bot = bot_of(folder, **options)
    replies = bot.replies(DIALOGUES, SEEDS)
    assert [bot.replies([turns], [seed])[0] for turns, seed in zip(DIALOGUES, SEEDS, strict=True)] == replies
    assert bot_of(folder, **options, batch=3).replies(DIALOGUES[::-1], SEEDS[::-1]) == replies[::-1]
    assert {reply.failure for reply in ask_bot(bot, DIALOGUES, SEEDS)} <= {"", "empty"}


def test_seeds_change_samples(folder: Path) -> None:
    bot = bot_of(folder)
    assert len({bot.replies(DIALOGUES[:1], [seed])[0].text for seed in range(12)}) > 4


def test_candidates_come_with_their_log_probabilities(folder: Path) -> None:
    bot = bot_of(folder, beams=4)
    for found in bot.candidates(DIALOGUES, SEEDS, 3):
        assert not isinstance(found, Exception)
        assert len({candidate.text for candidate in found}) == 3
        chances = [candidate.log_probability for candidate in found]
        assert chances[0] < 0


def test_mutual_information_chooses_among_its_candidates(folder: Path) -> None:
    forward = bot_of(folder)
    bot = Mmi(forward, str(folder / "back"), candidates=4)
    for turns, seed, reply in zip(DIALOGUES, SEEDS, bot.replies(DIALOGUES, SEEDS), strict=True):
        (found,) = forward.candidates([turns], [seed], 4)
        assert not isinstance(found, Exception)
        assert reply.text in {candidate.text for candidate in found}


def test_nothing_is_said_to_an_empty_dialogue(folder: Path) -> None:
    first, second = ask_bot(bot_of(folder), [[Turn(" ", "a")], DIALOGUES[0]], [1, 2])
    assert (first.text, first.failure) == ("", "nothing to answer")
    assert second == ask_bot(bot_of(folder), DIALOGUES[:1], [2])[0]


def test_a_long_dialogue_is_cut_as_in_training(folder: Path) -> None:
    bot = bot_of(folder)
    long = [Turn(" ".join(["tea"] * 300), "ab"[i % 2]) for i in range(9)]
    (prompt,) = bot.network.prompts([long], [1])
    assert len(prompt.tokens) == bot.network.reading.context
    assert bot.replies([long], [1])[0].text


def test_the_signature_names_weights_and_decoding_but_no_place(folder: Path, tmp_path: Path) -> None:
    bot = bot_of(folder, temperature=0.5, batch=3)
    text = str(bot.signature())
    assert bot.network.fingerprint in text
    assert "temperature=0.5" in text
    assert str(folder) not in text
    (tmp_path / "elsewhere").symlink_to(folder / "bot")
    assert Seq2Seq(str(tmp_path / "elsewhere"), temperature=0.5).signature() == bot.signature()
    assert create(spec(bot), kind="bot") == bot


def test_wrong_folders_and_settings_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="predicts last turns, not replies"):
        Seq2Seq(str(folder / "back")).signature()
    with pytest.raises(InputError, match="no model in the folder"):
        Seq2Seq(str(tmp_path)).signature()
    with pytest.raises(InputError, match="5 beams cannot be divided into 2 equal groups"):
        bot_of(folder, beams=5, groups=2)
    with pytest.raises(InputError, match="beams are more than the model's"):
        bot_of(folder, beams=5_000).signature()  # before a run, not as a crash in each dialogue
