"""`Signature` as a value: parts in their order, two compared, read from files old and new."""

from __future__ import annotations

import orjson
import pytest

from interloq import InputError, Sample, Signature, evaluate
from interloq.version import __version__

SAMPLES = [Sample("1", ["hi"], "hello there", ["hello you"])]
MADE = Signature("made(order=2)", {"samples": "abc", "version": "1"})


def test_the_line_tells_all_parts_in_their_order() -> None:
    found = evaluate("bleu", SAMPLES, n_bootstrap=5).signature
    assert list(found.parts) == ["tokenizer", "references", "samples", "resamples", "seed", "version"]
    assert str(found).startswith("bleu(order=4,")
    assert str(found).endswith(f"|resamples:5|seed:0|version:{__version__}")


def test_parts_are_added_before_the_version_and_empty_ones_are_not_told() -> None:
    more = MADE.with_parts({"seed": 3, "fitted": ""})
    assert more.parts == {"samples": "abc", "seed": "3", "version": "1"}
    assert str(more) == "made(order=2)|samples:abc|seed:3|version:1"
    assert str(more.without("version", "samples")) == "made(order=2)|seed:3"


def test_equal_signatures_have_one_short_form() -> None:
    other = Signature(MADE.name, dict(reversed(list(MADE.parts.items()))))
    assert (other, other.short, hash(other)) == (MADE, MADE.short, hash(MADE))
    assert len(MADE.short) == 12
    assert MADE.short != MADE.without("samples").short


def test_a_value_may_hold_anything() -> None:
    odd = Signature("made(mark='|version:9')", {"note": "a|b:c", "version": "1"})
    assert Signature.from_json(orjson.loads(orjson.dumps(odd))) == odd
    assert odd.with_parts({"seed": 1}).parts == {"note": "a|b:c", "seed": "1", "version": "1"}


def test_differences_name_the_parts() -> None:
    other = Signature("made(order=3)", {"samples": "abd", "version": "1", "seed": "0"})
    assert list(MADE.differences(other)) == [
        ("name", "made(order=2)", "made(order=3)"),
        ("samples", "abc", "abd"),
        ("seed", None, "0"),
    ]
    assert list(MADE.differences(MADE)) == []


def test_a_line_of_earlier_versions_is_kept_whole() -> None:
    line = "bleu(order=4)|samples:abc|version:0.1.0"
    found = Signature.from_json(line)
    assert (found.is_text, found.parts, str(found)) == (True, {}, line)
    assert not evaluate("bleu", SAMPLES).signature.is_text


@pytest.mark.parametrize("value", [None, 5, [], {}, {"name": 1, "parts": {}}, {"name": "a", "parts": []}])
def test_what_is_not_a_signature_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="a signature is an object with a name and parts, got"):
        Signature.from_json(value)
