"""What the scorer of contradictions is tested on: held-out pairs, published damage, and true replies.

- The robustness test (GPL-3.0, only for tests): replies and their damaged versions. Half of the damaged replies repeat
  an earlier turn of the same speaker with a negation; in most others a name was exchanged, often without a clash with
  any turn.
- DailyDialog++ (test part): good replies against adversarial and random ones.
- True replies of held-out dialogues of the logs: every alarm is counted as a false one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ready_logs import test_samples

from interloq import InputError, Sample
from interloq.data.files.archives import read_files, text

ROBUSTNESS, PREFIX = "robustness", "turn_level_robust_data/rel/"
SPEAKERS = ("A", "B")


def robustness_samples(data: Path, name: str) -> list[Sample]:
    """Return the replies in a file of the robustness test; a reply without an earlier turn has no context."""
    path = next((p for p in (data / ROBUSTNESS, data / f"{ROBUSTNESS}.tar.gz") if p.exists()), None)
    if path is None:
        raise InputError(f"no {ROBUSTNESS} in {str(data)!r}", hint=f"put {ROBUSTNESS}.tar.gz there")
    (file,) = read_files(path, (f"*{PREFIX}{name}_text.txt",))
    samples = []
    for line in text(file).splitlines():
        key, *turns = line.split("\t")
        samples.append(Sample(key, turns[:-1], turns[-1]))
    return samples


def test_texts(data: Path) -> Iterator[str]:
    """Yield every turn and reply of the test sets."""
    samples = list(test_samples(data))
    for name in ("contradiction-original", "contradiction-perturbed", "entailment", "nonentailment"):
        samples += robustness_samples(data, name)
    for sample in samples:
        yield from (turn.text for turn in sample.context)
        yield sample.response
        yield from (reference.text for reference in sample.references)
