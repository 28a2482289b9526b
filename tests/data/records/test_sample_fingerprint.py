"""Fingerprints of samples."""

from __future__ import annotations

from dataclasses import replace

from interloq import Rating, Reference, Sample, Turn, evaluate, evaluate_all
from interloq.data.records.sample_fingerprint import SampleFingerprint, read_print, sample_print


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


def test_scores_know_their_sample() -> None:
    sample = Sample("1", ["how are you?"], "fine", ["good"], "bot")
    known = sample_print(sample)
    for same in (
        replace(sample, id="2", system=""),
        replace(sample, ratings=(Rating(1.0),)),
        replace(sample, response=" fine\n"),
    ):
        assert sample_print(same) == known
    for part, changed in (
        ("reply", replace(sample, response="bad")),
        ("context", replace(sample, context=(Turn("and you?"),))),
        ("references", replace(sample, references=(Reference("good", 0.5),))),
    ):
        other = sample_print(changed)
        assert [name for name in known._fields if getattr(known, name) != getattr(other, name)] == [part]
    assert sample_print(Sample("1", (), "caf\u00e9")) == sample_print(Sample("1", (), "cafe\u0301"))
    assert sample_print(Sample("1", (), "a"))[1:] == ("", "")
    assert read_print(str(known)) == known
    assert read_print("something else") == ("", "", "")


def test_fingerprints_follow_the_order_of_the_scores() -> None:
    samples = [Sample(str(i), ["a"], f"reply {i}", ["b"], "xy"[i % 2]) for i in (3, 1, 2)]
    result = evaluate_all(["length"], samples, n_bootstrap=0, by_system=True)[0]
    for system in ("", "x", "y"):
        for score in result[system].scores():
            assert score.sample == str(sample_print(next(s for s in samples if s.key == score.key)))
