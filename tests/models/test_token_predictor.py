"""Networks that predict tokens, ready to be trained."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from interloq import InputError
from interloq.models.pretrained import load_tokenizer
from interloq.models.token_predictor import (
    SpecialTokens,
    goal_of,
    load_predictor,
    room,
    special_tokens_of,
)
from interloq.models.token_rows import TokenRows
from tests.made_language_models import tiny_model
from tests.made_lm import tiny_lm


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {"mlm": tiny_model(root / "mlm"), "lm": tiny_lm(root / "lm")}


def test_logits_at_places_are_those_of_the_whole_network(folders: dict[str, Path]) -> None:
    predictor = load_predictor(folders["mlm"], "mlm", seed=0).eval()
    ids = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 0]])
    mask, places = (ids > 0).long(), torch.zeros(2, 4, dtype=torch.bool)
    places[0, 2] = places[1, 0] = True
    with torch.inference_mode():
        found = predictor(TokenRows(ids, mask, torch.zeros_like(ids)), places)
        whole = predictor.model(input_ids=ids, attention_mask=mask).logits
    assert torch.allclose(found, whole[places], atol=1e-5)


def test_shared_weights_are_stored_once_and_loaded_everywhere(folders: dict[str, Path]) -> None:
    predictor = load_predictor(folders["mlm"], "mlm", seed=0)
    state = {name: tensor.clone() for name, tensor in predictor.state_dict().items()}
    assert predictor.find_tied()
    assert not predictor.find_tied().keys() & state.keys()
    other = load_predictor(folders["mlm"], "mlm", seed=1)
    other.load_state_dict({name: tensor + 1 for name, tensor in state.items()})
    for name, tensor in other.state_dict().items():
        assert torch.equal(tensor, state[name] + 1)


def test_the_goal_follows_from_the_model(folders: dict[str, Path]) -> None:
    assert {goal: goal_of(folder, "auto") for goal, folder in folders.items()} == {"mlm": "mlm", "lm": "lm"}
    with pytest.raises(InputError, match="cannot be trained with mlm"):
        goal_of(folders["lm"], "mlm")


def test_special_tokens_and_the_room_they_leave(folders: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(folders["mlm"])
    special = special_tokens_of(tokenizer, "mlm", folders["mlm"])
    assert (special.start, special.end, special.mask) == (
        tokenizer.cls_token_id,
        tokenizer.sep_token_id,
        tokenizer.mask_token_id,
    )
    assert special.extra == 3
    assert room(load_predictor(folders["mlm"], "mlm", seed=0).model.config, special) > 0
    assert SpecialTokens(None, 1, 0, (0, 1)).extra == 2
    with pytest.raises(InputError, match="the tokenizer has no"):
        special_tokens_of(load_tokenizer(folders["lm"]), "mlm", folders["lm"])
