"""The view of a run."""

from __future__ import annotations

import pytest

from interloq.cli.play.view import _View, watching
from interloq.play.talk import PlayTally
from interloq.records import Dialogue


def test_the_view_counts_what_is_done_and_what_will_not_come(capsys: pytest.CaptureFixture[str]) -> None:
    tally = PlayTally()
    with watching(tally, 4, 10) as progress:
        tally.add(Dialogue("1", ["u"] * 12, given=2), 5, resumed=True)
        tally.add(Dialogue("2", ["u"] * 4, {"a": "a"}, given=2, failure="a: crashed: [b]x[/b] at turn 5"), 5)
        progress(2)
        view = _View(tally, 4, 10)
        view.hear(2)
        assert view.share() == pytest.approx(10 / 30)  # 2 utterances, and 8 that one dialogue lacks, of 3 dialogues'
        assert view.left() > 0
    said = capsys.readouterr().err
    assert said.startswith("2 of 4 dialogues (1 from earlier runs), 6.0 utterances each")
    assert said.endswith("; a: crashed 1\n")
    tally.failures.update({("a", f"lost {i}"): 1 for i in range(9)})
    assert view.failures() == ["a: crashed 1, lost 0 1, lost 1 1, lost 2 1, lost 3 1, others 5"]
    with watching(tally, 4, 10, quiet=True) as progress:
        progress(2)
    assert capsys.readouterr().err == ""
