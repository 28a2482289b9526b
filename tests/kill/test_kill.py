"""kill -9 at random moments: the next run ends in the very files of an undisturbed one. `make soak` runs many more."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from interloq.cli.main import VERBS as MAIN_VERBS
from interloq.cli.main import verb_parser
from tests.kill.kill_server import Server
from tests.kill.kill_trials import rival_trial, run_undisturbed, trial
from tests.kill.kill_verbs import VERBS, Verb

TRIALS, MOST_TRIALS = 3, 12
NOT_KILLED = {
    "corpus import": "reads published corpora, which are not made here; it writes as `corpus build` does",
    "demo": "runs verbs that are killed one by one, in a folder of its own",
    "reliability annotate": "asks a person after each decision",
    "serve export": "notes the time of the export in the study, so two runs always differ",
}


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


def test_every_verb_that_writes_is_killed() -> None:
    killed = {verb.name.partition(" (")[0] for verb in VERBS}
    writing = set()
    for verb in MAIN_VERBS:
        writing |= set(names_of_writers(verb, verb_parser(verb)))
    assert writing - killed == set(NOT_KILLED)


def names_of_writers(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the verb, or those of its actions, that have the option --output."""
    for item in parser._actions:
        if isinstance(item, argparse._SubParsersAction):
            for action, actor in item.choices.items():
                yield from names_of_writers(f"{name} {action}", actor)
        elif "--output" in item.option_strings:
            yield name
