"""What causal bots learn: replies, who says what, and the last turn of a reply."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from interloq import Dialogue, Turn, create, write
from interloq.cli.main import main
from interloq.errors import InputError
from interloq.learn.settings import LowRank
from interloq.play.bots.hugging_face import HuggingFace
from interloq.play.bots.mmi import Mmi
from tests.made_lm import tiny_lm
from tests.play.made_causal import ANSWERS, QUESTIONS, make_job, talks, trained

CONTEXTS = [[Turn(f"{question} 900{i}", "x")] for i, question in enumerate(QUESTIONS)]


def _reply(folder: Path, user: str = "") -> list[str]:
    bot = HuggingFace(str(folder), temperature=0.0, max_tokens=8, device="cpu", user=user)
    return [reply.text for reply in bot.replies(CONTEXTS, [0] * len(CONTEXTS))]


@pytest.mark.parametrize(("low_rank", "epochs"), [(0, 12), (8, 30)])
def test_each_user_speaks_like_the_user(tmp_path: Path, low_rank: int, epochs: int) -> None:
    """Users answer in their own way; a user who is not known has one of these ways, by the shared token."""
    model = tiny_lm(tmp_path / "lm", "llama")
    folder, facts = trained(tmp_path, model, speaker_token=True, low_rank=low_rank, epochs=epochs)
    for user, answer in ANSWERS.items():
        assert _reply(folder, user) == [answer] * len(CONTEXTS)
    unknown = _reply(folder, "nobody")
    assert unknown == _reply(folder)
    assert set(unknown) <= set(ANSWERS.values())
    assert facts["users"] == 3
    assert facts["perplexity"]["token"] < (60 if low_rank else 1.5)  # a frozen output layer is never sure
    bots = [HuggingFace(str(folder), max_tokens=8, device="cpu", user=user) for user in ("", "ann")]
    assert str(bots[0].signature()) != str(bots[1].signature())


def test_without_tokens_it_cannot_know_who_speaks(tmp_path: Path) -> None:
    """Three equally likely answers of one word: at best, a perplexity of √3 per token and its end."""
    folder, facts = trained(tmp_path, tiny_lm(tmp_path / "lm", "llama"), epochs=8)
    assert facts["perplexity"]["word"] == pytest.approx(math.sqrt(3), abs=0.15)
    assert set(_reply(folder)) <= set(ANSWERS.values())
    with pytest.raises(InputError, match="the model has no speaker tokens"):
        _reply(folder, "ann")


def test_its_perplexity_is_that_of_the_bot(tmp_path: Path) -> None:
    """Replies of the dev part, given to the bot as dialogues."""
    model = tiny_lm(tmp_path / "lm", "llama")
    folder, facts = trained(tmp_path, model, epochs=2)
    bot = HuggingFace(str(folder), max_tokens=8, device="cpu")
    dialogues = {" ".join(turn.text for turn in talk.turns): talk for talk in talks(240)}
    sums = bot.log_probabilities([talk.turns[:1] for talk in dialogues.values()], [t.turns[1].text for t in talks(240)])
    job = make_job(tmp_path, model)
    rows = job._read(lambda _: None)
    dev = set()
    for i in range(rows.facts["dev"]):
        dev.add(job.tokenizer.decode(rows.texts[i].tolist()).replace("<|endoftext|>", " ").strip())
    chosen = [value for text, value in zip(dialogues, sums, strict=True) if text in dev]
    assert len(chosen) == facts["dev_counts"]["replies"]
    assert math.exp(-sum(chosen) / facts["dev_counts"]["tokens"]) == pytest.approx(
        facts["perplexity"]["token"], rel=1e-2
    )


def test_random_weights_have_the_models_shape(tmp_path: Path) -> None:
    model = tiny_lm(tmp_path / "lm", "llama")
    folder, facts = trained(tmp_path, model, reinitialise=True, layers=1, epochs=1)
    whole, _ = trained(tmp_path, model, name="whole", reinitialise=True, epochs=1)
    configs = [HuggingFace(str(place), device="cpu")._writer.network.config for place in (folder, whole)]
    assert [config.num_hidden_layers for config in configs] == [1, 2]
    assert "reinitialise=True" in facts["signature"]
    assert "model:random" in facts["signature"]


def test_a_reverse_model_ranks_replies(tmp_path: Path) -> None:
    model = tiny_lm(tmp_path / "lm", "llama", positions=160)
    forward, _ = trained(tmp_path, model, name="forward", epochs=2)
    backward, facts = trained(tmp_path, model, name="backward", epochs=2, reverse=True)
    assert facts["reverse"]
    bot = Mmi(HuggingFace(str(forward), max_tokens=6, device="cpu"), str(backward), candidates=4)
    assert all(reply.text and not reply.failure for reply in bot.replies(CONTEXTS, [1, 2, 3, 4]))
    with pytest.raises(InputError, match="the model predicts replies, not last turns; train it with --reverse"):
        Mmi(bot.forward, str(forward)).signature()


def test_what_cannot_be_learned_from_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tiny_lm(tmp_path / "lm")
    alone = [Dialogue(f"d{i}", (Turn("a", "x"), Turn("b", "x"))) for i in range(9)]
    write(tmp_path / "alone.jsonl", alone, kind="dialogues")
    command = ["train", "bot", str(tmp_path / "alone.jsonl"), "-o", str(tmp_path / "bot"), "--model", str(model)]
    for options, message in (
        (["--context", "30"], "lower --context or --reply"),
        (["--context", "20", "--reply", "8"], "in 9 dialogues only one speaker has a turn"),
        (["--reinitialise", "--low-rank", "2"], "random weights have no low-rank updates"),
        (["--kind", "lstm"], "--kind is not used with --model"),
    ):
        assert main([*command, *options]) == 2
        assert message in capsys.readouterr().err
    assert main([*command[:-2], "--speaker-token"]) == 2
    assert "--speaker-token is used with --model only" in capsys.readouterr().err
    with pytest.raises(InputError, match="nothing to train on"):
        from_empty_log(model)


def from_empty_log(model: Path) -> None:
    from interloq.play.causal.job import from_log
    from interloq.play.causal.settings import READING, TRAINING, CausalSettings, CausalSource
    from interloq.retrieve.training_log import TrainingLog

    from_log(TrainingLog([]), CausalSource(str(model)), READING, CausalSettings(), LowRank(), TRAINING)


def test_a_user_is_part_of_the_spec() -> None:
    bot = create("hf(model='folder',user='ann')", kind="bot")
    assert bot.user == "ann"
