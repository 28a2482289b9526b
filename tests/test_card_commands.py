"""The commands of the metric cards run."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
from itertools import islice
from pathlib import Path

import pytest
import torch

from interloq import write
from interloq.cli.main import main
from interloq.data.embedded import embedded_log_path, embedded_path
from interloq.data.records.jsonl import read
from interloq.records import Pair
from tests.made_pages import page_commands
from tests.scorers.interlocutor.made_logs import log
from tests.scorers.interlocutor.made_models import judged

CARDS = Path(__file__).parents[1] / "docs" / "metrics"


@pytest.fixture(scope="module")
def some_pairs() -> list[Pair]:
    """Pairs of the embedded log that were not composed from patterns, few enough to train on them quickly."""
    return list(islice(read(embedded_log_path("en"), kind="pairs"), 400))


@pytest.fixture(scope="module")
def trained() -> dict[str, Path]:
    """Output of each `train` command: several cards show the same one, which is run once."""
    return {}


def run(command: str, trained: dict[str, Path]) -> int:
    words = shlex.split(command)[1:]
    output = Path(words[words.index("-o") + 1]) if words[0] == "train" else None
    if output is None or command not in trained:
        status = main(words)
        if output is not None:
            trained[command] = output.resolve()
        return status
    (shutil.copytree if trained[command].is_dir() else shutil.copyfile)(trained[command], output)
    return 0


@pytest.mark.parametrize("card", sorted(path.name for path in CARDS.glob("*.md")))
def test_the_commands_of_a_card_run(
    card: str,
    folder: Path,
    some_pairs: list[Pair],
    trained: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for language, name in (("en", "samples"), ("ja", "samples-ja")):
        few = islice(read(embedded_path(language), kind="samples"), 48)  # exit codes are all that is checked
        write(folder / f"{name}.jsonl", few, kind="samples")
    write(folder / "pairs.jsonl", some_pairs, kind="pairs", source="the first pairs of interloq/embedded/log_en")
    write(folder / "dialogues.jsonl", log(60), kind="dialogues")
    rated = [dataclasses.replace(sample, id=f"d{i % 5}#{i}") for i, sample in enumerate(judged(60, aspect="overall"))]
    write(folder / "rated.jsonl", rated, kind="samples")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))  # for the key that hashes ids of users
    torch.set_num_threads(1)  # for networks this small, threads do little but wait for each other
    for command in page_commands(f"metrics/{card}"):
        assert run(command, trained) == 0, f"{command}: {capsys.readouterr().err}"
    assert page_commands(f"metrics/{card}") or card == "rouge_l.md"
