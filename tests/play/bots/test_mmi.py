"""Re-ranking by mutual information, computed here candidate by candidate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq import InterloqError, create
from interloq.play.bot import ask_bot
from interloq.play.bots.hugging_face import HuggingFace
from interloq.play.bots.mmi import Mmi
from interloq.records import Turn
from tests.play.made_writers import DIALOGUES, SEEDS, hf

FORWARD: list[dict[str, Any]] = [{"temperature": 1.0}, {"beams": 6}, {"beams": 6, "groups": 3, "diversity": 1.0}]


def _backward(folder: Path) -> HuggingFace:
    return HuggingFace(str(folder), device="cpu")


@pytest.mark.parametrize("options", FORWARD)
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_the_best_candidate_of_both_models_is_chosen(
    folders: dict[str, Path], options: dict[str, Any], weight: float
) -> None:
    forward = hf(folders["gpt2"], **options)
    bot = Mmi(forward, str(folders["llama"]), candidates=5, weight=weight)
    replies = bot.replies(DIALOGUES, SEEDS)
    changed = 0
    for turns, seed, reply in zip(DIALOGUES, SEEDS, replies, strict=True):
        (candidates,) = forward.candidates([turns], [seed], 5)
        assert not isinstance(candidates, Exception)
        scores = {}
        for text, ahead in candidates:
            (back,) = _backward(folders["llama"]).log_probabilities([[Turn(text or " ")]], [turns[-1].text])
            scores[text] = (1 - weight) * ahead + weight * back if text else -1e9
        assert scores[reply.text] == pytest.approx(max(scores.values()), abs=1e-3)
        changed += reply.text != max(candidates, key=lambda candidate: candidate.log_probability).text
    assert changed > 0 or weight < 1
    assert replies == [bot.replies([turns], [seed])[0] for turns, seed in zip(DIALOGUES, SEEDS, strict=True)]


def test_a_dialogue_without_turns_has_nothing_to_answer(folders: dict[str, Path]) -> None:
    bot = Mmi(hf(folders["gpt2"]), str(folders["llama"]), candidates=3)
    first, second = ask_bot(bot, [[], DIALOGUES[0]], [1, 2])
    assert (first.text, first.failure) == ("", "nothing to answer")
    assert second == ask_bot(bot, [DIALOGUES[0]], [2])[0]


def test_the_signature_names_both_models(folders: dict[str, Path]) -> None:
    signature = Mmi(hf(folders["gpt2"]), str(folders["llama"])).signature()
    assert signature.name == "mmi(candidates=16,weight=0.5)"
    assert signature.parts["forward"] == str(hf(folders["gpt2"]).signature())
    others = [
        Mmi(hf(folders["gpt2"], top_k=3), str(folders["llama"])),
        Mmi(hf(folders["gpt2"]), str(folders["chat"])),
        Mmi(hf(folders["gpt2"]), str(folders["llama"]), weight=0.4),
    ]
    assert len({str(signature), *(str(other.signature()) for other in others)}) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mmi(forward=echo,backward='b')", "echo cannot give several replies"),
        ("mmi(forward=hf(model='a'))", "mmi needs backward"),
        ("mmi(forward=hf(model='a',beams=4),backward='b',candidates=5)", "5 candidates cannot come from 4 beams"),
        ("mmi(forward=hf(model='a',temperature=0.0),backward='b')", "most likely tokens alone"),
        ("mmi(forward=hf(model='a'),backward='b',candidates=1)", "candidates"),
    ],
)
def test_what_cannot_be_ranked_is_refused(text: str, message: str) -> None:
    with pytest.raises(InterloqError, match=message):
        create(text, kind="bot")
