"""Exchanges of logs that a bot learns from."""

from __future__ import annotations

import json
from pathlib import Path

from interloq import Reference, Sample, Turn, write
from interloq.play.networks.reply_log import ReplyLog, context_texts, join_turns
from interloq.retrieve.training_log import TrainingLog
from tests.play.networks.made_copies import write_log


def test_consecutive_turns_of_one_speaker_are_joined() -> None:
    turns = [Turn("a", "x"), Turn("b", "x"), Turn(" ", "y"), Turn("c", "y"), Turn("d", "x")]
    assert [turn.text for turn in join_turns(turns)] == ["a b", "c", "d"]
    assert [turn.text for turn in join_turns([Turn("a"), Turn("b")])] == ["a", "b"]
    assert context_texts(turns, 2) == ["c", "d"]
    assert context_texts([Turn("a", "x"), Turn("b", "x"), Turn("c", "y")], 5) == ["a b", "c"]


def test_samples_give_their_original_references_or_their_response(tmp_path: Path) -> None:
    context = (Turn("how are you", "a"), Turn("fine", "b"), Turn("good", "a"))
    references = [Reference("indeed"), Reference("yes"), Reference("found", source="retrieved:7")]
    samples = [Sample("1", context, "no", references), Sample("2", context[:1], "well"), Sample("3", (), "nothing")]
    write(tmp_path / "samples.jsonl", samples, kind="samples")
    log = ReplyLog(TrainingLog([str(tmp_path / "samples.jsonl")]), turns=2)
    found = [(exchange.context, exchange.reply) for exchange in log.exchanges()]
    assert found == [(("fine", "good"), "indeed"), (("fine", "good"), "yes"), (("how are you",), "well")]


def test_what_overlaps_test_samples_is_excluded(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", n=60)
    first = json.loads(log.read_text().splitlines()[0])["turns"]
    sample = Sample("t", (Turn(first[0]["text"]),), "x", [Reference(first[1]["text"])])
    write(tmp_path / "test.jsonl", [sample], kind="samples")
    every = ReplyLog(TrainingLog([str(log)]), turns=6)
    kept = ReplyLog(TrainingLog([str(log)], [str(tmp_path / "test.jsonl")]), turns=6)
    left = list(kept.exchanges())
    texts = {text for exchange in left for text in (*exchange.context, exchange.reply)}
    assert len(left) < len(list(every.exchanges()))
    assert first[0]["text"] not in texts
    assert kept.log.excluded > 0
