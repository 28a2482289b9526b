"""Settings of the relevance scorer."""

from __future__ import annotations

import pytest

from interloq.errors import InputError
from interloq.registry import full_spec
from interloq.scorers.interlocutor.settings import InterlocutorReading
from interloq.scorers.relevance.settings import RelevanceReading, RelevanceSettings


def test_settings_are_checked() -> None:
    for options in ({"negatives": "random,wrong"}, {"batch": 0}, {"other": -1.0}, {"written": 2.0}, {"seed": -1}):
        with pytest.raises(InputError):
            RelevanceSettings(**options)
    with pytest.raises(InputError):
        RelevanceReading(turns=0)


def test_stored_examples_and_jobs_keep_the_names_of_their_settings() -> None:
    for settings, name in (
        (RelevanceReading(), "Reading"),
        (RelevanceSettings(), "Relevance"),
        (InterlocutorReading(), "Reading"),
    ):
        assert full_spec(settings).startswith(f"{name}(")
