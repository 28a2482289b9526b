"""Which files may be compared."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from interloq import InputError, Signature
from interloq.play.dialogue_origin import common_origin, origin

PLAYED = {"kind": "dialogues", "partners": "abc", "scheme": "bipartite", "openings": "o", "exchanges": 3}


def judged(**parts: str) -> dict[str, Any]:
    signature = Signature.of("relevance", parts)
    return {"kind": "scores", "results": [{"metric": "relevance", "signature": asdict(signature)}]}


def test_what_all_say_is_common() -> None:
    found = common_origin({"a": PLAYED, "b": PLAYED | {"bots": {"x": "1"}}, "s": {"kind": "scores"}})
    assert found == {"partners": "abc", "scheme": "bipartite", "openings": "o", "exchanges": "3"}
    assert origin({"partners": "", "exchanges": 0, "seed": 1}) == {"exchanges": "0"}


@pytest.mark.parametrize("change", [{"partners": "xyz"}, {"scheme": "self-play"}, {"openings": "p"}, {"exchanges": 4}])
def test_files_that_differ_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="a and b come from different"):
        common_origin({"a": PLAYED, "b": PLAYED | change})


def test_a_file_without_a_partner_set_is_not_compared_with_one_that_has() -> None:
    with pytest.raises(InputError, match="a was played against partner set abc, b names no"):
        common_origin({"a": PLAYED, "b": {"kind": "dialogues"}})


def test_one_name_is_one_system() -> None:
    with pytest.raises(InputError, match="have different systems named 'x'"):
        common_origin({"a": PLAYED | {"bots": {"x": "1"}}, "b": PLAYED | {"bots": {"x": "2"}}})


def test_one_metric_is_one_judge() -> None:
    common_origin({"a": judged(model="m", samples="1"), "b": judged(model="m", samples="2", seed="9")})
    with pytest.raises(InputError, match="different versions of relevance: model:m and model:n"):
        common_origin({"a": judged(model="m"), "b": judged(model="n")})


def test_signatures_without_parts_cannot_be_compared() -> None:
    old = {"kind": "scores", "results": [{"metric": "relevance", "signature": "relevance|model:m"}]}
    with pytest.raises(InputError, match=r"b .*interloq score SAMPLES -m relevance -o b"):
        common_origin({"a": judged(model="m"), "b": old})
