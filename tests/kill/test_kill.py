"""kill -9 at random moments: the next run ends in the very files of an undisturbed one. `make soak` runs many more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.kill.kill_server import Server
from tests.kill.kill_trials import rival_trial, run_undisturbed, trial
from tests.kill.kill_verbs import VERBS, Verb

TRIALS, MOST_TRIALS = 3, 12


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as started:
        yield started


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb.quick], ids=lambda verb: verb.name)
def test_a_killed_command_ends_as_if_it_had_not_been(server: Server, verb: Verb, tmp_path: Path) -> None:
    known = run_undisturbed(server, verb, tmp_path)
    rng = Random(verb.name)
    kills = [trial(server, verb, known, rng) for _ in range(TRIALS)]
    while not any(kills) and len(kills) < MOST_TRIALS:
        kills.append(trial(server, verb, known, rng))
    assert any(kills), "no kill came in time: the test proved nothing"


def test_two_trainings_in_one_folder_do_not_disturb_each_other(server: Server, tmp_path: Path) -> None:
    (verb,) = [verb for verb in VERBS if verb.name == "train vectors"]
    known = run_undisturbed(server, verb, tmp_path)
    rng, met = Random(verb.name), list[bool]()
    with Server(name="-rival") as rival:
        while len(met) < TRIALS or (not any(met) and len(met) < MOST_TRIALS):
            met.append(rival_trial(server, rival, verb, known, rng))
    assert any(met), "the second never met the first at work: the test proved nothing"


def test_every_verb_is_known_once() -> None:
    assert len({verb.name for verb in VERBS}) == len(VERBS)
