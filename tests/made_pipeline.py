"""An index, a rater and samples for one pipeline."""

from __future__ import annotations

import random

from interloq import Sample
from tests.made_rater import TOPICS, said

GRU, HUMAN = "gru(model='rater')", "human(ratings='ratings.jsonl')"


def made_samples() -> list[Sample]:
    drawn = random.Random(3)
    samples = []
    for i in range(24):
        topic = drawn.choice(TOPICS)
        context = [said(topic, drawn), f"{said(topic, drawn)} ?"]
        golds = [said(topic, drawn) for _ in range(1 + (i % 5 == 0))]
        samples += [Sample(f"c{i}/{bot}", context, said(topic, drawn), golds, bot) for bot in "ab"]
    samples.append(Sample("no context", (), "i like tea", ["i like tea so"], "a"))
    samples.append(Sample("no gold", ["tea ?"], "i like tea", (), "a"))
    samples.append(Sample("nothing", (), "tea", (), "b"))
    return samples
