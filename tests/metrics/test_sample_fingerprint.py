"""Fingerprints of samples."""

from __future__ import annotations

from dataclasses import replace

from interloq import Reference, Sample, evaluate
from interloq.metrics.sample_fingerprint import SampleFingerprint


def test_the_signature_knows_the_samples(samples: list[Sample]) -> None:
    prints = set()
    changed = [replace(samples[0], references=(Reference("the food was delicious .", 0.9),)), *samples[1:]]
    for variant in (samples, samples[1:], changed, [replace(samples[0], response="x"), *samples[1:]]):
        fingerprint = SampleFingerprint()
        fingerprint.add(variant)
        prints.add(str(fingerprint))
    assert len(prints) == 4
    assert evaluate("bleu", samples).signature.parts["references"] == "2"
    assert evaluate("bleu", changed).signature.parts["references"] == "1-2"
