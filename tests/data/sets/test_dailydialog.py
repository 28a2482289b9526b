"""The corpus DailyDialog."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.data.sets.registry import read_dataset, read_parts
from interloq.errors import InputError
from interloq.records import Turn
from tests.data.sets.made_sets import both, write_text


def test_dailydialog(tmp_path: Path) -> None:
    folder = tmp_path / "dailydialog"
    for theirs in ("train", "validation", "test"):
        write_text(folder / theirs / f"dialogues_{theirs}.txt", f" Hi {theirs} . __eou__ Hello ! __eou__ Bye __eou__\n")
    found = both(folder, "dailydialog")
    assert sorted(part for part, _ in found) == ["dev", "test", "train"]
    dialogue = dict(found)["dev"]
    assert list(read_dataset("dailydialog", folder, subset="dev")) == [dialogue]
    assert dialogue.id == "dailydialog/dev/0"
    assert dialogue.turns == (Turn("Hi validation .", "A"), Turn("Hello !", "B"), Turn("Bye", "A"))
    write_text(folder / "train" / "dialogues_train.txt", "no mark at all\n")
    with pytest.raises(InputError, match=r"dialogues_train\.txt:1: not a dialogue: 'no mark at all'"):
        list(read_parts("dailydialog", folder))
