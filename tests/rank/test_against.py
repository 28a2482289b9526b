"""New systems among the reference systems of a partner set; made by the recipe, with a quick metric."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError, load, write
from interloq.cli.main import main
from interloq.data.records.jsonl import header
from interloq.play.partners import load_partners, save_partners
from interloq.play.self_contained import DIALOGUES, SCORES, hash_files
from interloq.rank.rank_file import rank_file
from interloq.rank.rank_options import RankOptions
from tests.recipes.test_partner_sets import METRIC
from tests.recipes.test_partner_sets import made as made
from tests.recipes.test_partner_sets import published as published

pytest.importorskip("numba")
HIGHER = RankOptions(against="set", n_bootstrap=20, lower_is_better=False)


def republish(folder: Path) -> None:
    """Store the hashes of the published files as they are now."""
    known = replace(load_partners(folder), published=hash_files(folder, published=True))
    save_partners(folder / "partners.json", known)


def test_a_new_system_is_placed_among_the_published_ones(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = load_partners(made)
    (ranking,) = rank_file(["mine.jsonl"], HIGHER).rankings
    placed = {standing.system: standing for standing in ranking.standings}
    assert len(placed) == 4
    assert placed["mine"].dialogues == placed["echo (en-v1)"].dialogues == 2 * len(known.partners)
    assert placed["mine"].score == pytest.approx(placed["eliza (en-v1)"].score, rel=0.3), "the same bot, other seeds"
    assert placed["mine"].ci
    assert ranking.pairing == "opening"
    assert ranking.metric == METRIC
    assert not [note for note in ranking.notes if "scored" in note]
    assert main(["rank", "mine.jsonl", "--against", "set", "--higher-is-better", "--bootstrap", "20", "--quiet"]) == 0
    assert "mine" in capsys.readouterr().out


def test_another_metric_or_judge_scores_the_published_dialogues_again(made: Path) -> None:
    (ranking,) = rank_file(["mine.jsonl"], replace(HIGHER, metric="length(tokenizer='char')")).rankings
    assert len(ranking.standings) == 4
    assert any("is not the metric of published scores of en-v1" in note for note in ranking.notes)
    scores, facts = load(made / SCORES, kind="scores"), header(made / SCORES)
    signature = {"name": facts["signature"]["name"], "parts": {**facts["signature"]["parts"], "tokenizer": "other"}}
    kept = {name: facts[name] for name in ("metric", "partners", "scheme", "openings", "exchanges")}
    halved = [replace(score, value=(score.value or 0) / 2) for score in scores]
    write(made / SCORES, halved, kind="scores", signature=signature, **kept)
    republish(made)
    (ranking,) = rank_file(["mine.jsonl"], HIGHER).rankings
    assert any("by another version of the metric" in note for note in ranking.notes)
    placed = {standing.system: standing for standing in ranking.standings}
    assert placed["mine"].score == pytest.approx(placed["eliza (en-v1)"].score, rel=0.3), "not the halved scores"
    older = {"name": facts["signature"]["name"], "parts": {**facts["signature"]["parts"], "version": "0.0.9"}}
    write(made / SCORES, scores, kind="scores", signature=older, **kept)
    republish(made)
    (ranking,) = rank_file(["mine.jsonl"], HIGHER).rankings
    assert any("scored with version 0.0.9 of Interloq" in note for note in ranking.notes)


def test_other_dialogues_are_refused(made: Path) -> None:
    other = ["play", "run", "--target", "mine=eliza", "--partner", "x=echo", "--limit", "2", "-o", "o.jsonl", "--quiet"]
    assert main(other) == 0
    with pytest.raises(InputError, match=r"o.jsonl: the dialogues are from the partner set \w+, but en-v1 is \w+"):
        rank_file(["o.jsonl"], HIGHER)
    with pytest.raises(InputError, match="takes dialogues, not scores"):
        rank_file(["mine.jsonl"], replace(HIGHER, dialogues=["mine.jsonl"]))
    with (made / SCORES).open("ab") as file:
        file.write(b" ")
    with pytest.raises(InputError, match=r"'scores.jsonl.zst' of the partner set was changed"):
        rank_file(["mine.jsonl"], HIGHER)
    (made / SCORES).unlink()
    republish(made)
    with pytest.raises(InputError, match="en-v1 has no published scores"):
        rank_file(["mine.jsonl"], HIGHER)
    (ranking,) = rank_file(["mine.jsonl"], replace(HIGHER, metric=METRIC)).rankings
    assert len(ranking.standings) == 4
    (made / DIALOGUES).unlink()
    republish(made)
    with pytest.raises(InputError, match="has no dialogues of reference systems"):
        rank_file(["mine.jsonl"], HIGHER)
