"""`make soak`: many trials of every verb, and the counts; every second trial of a training runs it twice in one folder.

TRIALS=1000 make soak runs more; SEED=… runs others.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from tests.kill.kill_server import Server
from tests.kill.kill_trials import Reference, TrialError, rival_trial, run_undisturbed, trial
from tests.kill.kill_verbs import VERBS


def main() -> int:
    trials, seed = int(os.environ.get("TRIALS", "200")), int(os.environ.get("SEED", "0"))
    folder = Path(tempfile.mkdtemp(prefix="interloq-soak-"))
    wanted = [verb for verb in VERBS if os.environ.get("ONLY", "") in verb.name]
    known: dict[str, Reference] = {}
    done, killed, failed = Counter[str](), Counter[str](), Counter[str]()
    with Server() as server, Server(name="-rival") as rival:
        for number in range(trials):
            verb = wanted[number % len(wanted)]
            place = folder / verb.name.replace(" ", "-")
            if failed[verb.name] and verb.name not in known:
                continue  # not even an undisturbed run went well
            done[verb.name] += 1
            try:
                if verb.name not in known:
                    known[verb.name] = run_undisturbed(server, verb, place)
                rng = Random(f"{seed} {number}")
                if verb.name.startswith("train ") and number // len(wanted) % 2:
                    rival_trial(server, rival, verb, known[verb.name], rng)
                else:
                    killed[verb.name] += trial(server, verb, known[verb.name], rng)
            except TrialError as error:
                failed[verb.name] += 1
                print(f"{verb.name}, trial {number}: {error}", flush=True)
            if number % len(wanted) == len(wanted) - 1:
                print(f"{number + 1} of {trials} trials, {failed.total()} failures", flush=True)
    print(f"{'verb':<24}{'trials':>8}{'kills':>8}{'failures':>10}")
    for verb in wanted:
        print(f"{verb.name:<24}{done[verb.name]:>8}{killed[verb.name]:>8}{failed[verb.name]:>10}")
    print(f"{'all':<24}{done.total():>8}{killed.total():>8}{failed.total():>10}   seed {seed}, {folder}")
    return int(failed.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
