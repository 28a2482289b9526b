"""Components describe themselves."""

from __future__ import annotations

import pytest

from interloq.describe import REQUIRED, Description, describe, describe_all
from interloq.errors import SpecError


@pytest.mark.parametrize("found", describe_all(), ids=lambda found: found.name)
def test_every_component_and_every_field_has_help(found: Description) -> None:
    assert found.summary.endswith((".", "?", "…"))
    for setting in found.settings:
        assert setting.help, f"{found.name}: say what {setting.name} is, with Annotated[type, help]"
        assert "\n" not in setting.help
        assert not setting.help.endswith(".")
    assert found.example.split("(")[0] == found.name


def test_a_spec_or_another_spelling_names_a_component() -> None:
    assert describe("BLEU(order=2)") == describe("bleu")
    with pytest.raises(SpecError, match="'bertscor'; did you mean 'bertscore'"):
        describe("bertscor")


def test_settings_are_a_table() -> None:
    found = describe("length")
    assert found.table().splitlines()[0] == "| field | type | default | meaning |"
    assert len(found.table().splitlines()) == 2 + len(found.settings)
    required = [setting.name for setting in describe("bertscore").settings if setting.default == REQUIRED]
    assert required == ["model"]
    assert describe("bertscore").example == "bertscore(model=…)"
