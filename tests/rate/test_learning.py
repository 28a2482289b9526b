"""What the training of all raters shares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from interloq.rate.gru_model import RaterNetwork, RaterTask
from interloq.rate.learning import dev_logits
from tests.made_rater import SMALL_BATCHES, TINY, made_examples


def test_logits_of_the_dev_part_are_those_of_first_triplets(tmp_path: Path) -> None:
    pairs, _ = made_examples(tmp_path, 40)
    task = RaterTask(RaterNetwork(pairs.facts["vocabulary"], TINY), pairs, SMALL_BATCHES, seed=5)
    logits, labels = dev_logits(task)
    assert len(logits) == len(labels) == len(pairs.labels["dev"])
    assert set(labels.tolist()) <= {0, 1}
    expected = []
    for examples in task.batches("dev", 0):
        for example in examples:
            batch = task.prepare("dev", np.array([example]))
            with torch.inference_mode():
                negative, positive = task.logits(batch)[0].double().tolist()
            expected.append(positive - negative)
    assert np.allclose(logits, expected, atol=1e-5)
    assert not task.network.training
