"""Systems reply to fixed contexts; what is kept, left out, resumed and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from interloq import InputError, Sample, load, write
from interloq.compare.compare_file import compare_file
from interloq.compare.compare_options import CompareOptions
from interloq.data.records.jsonl import header
from interloq.play.journal import journal_path
from interloq.play.play_options import ReplyOptions
from interloq.play.reply import reply_file
from interloq.play.schedule import seed_of
from interloq.records import Turn
from interloq.servers.replies import Reply
from tests.made_bots import Teller

PROMPTS = [
    Sample("1", [Turn("hi", "ann"), Turn("hello", "bob")], references=["good"], fields={"topic": "sea"}),
    Sample("2", ["how are you?"], "fine", ["well", "ok"], "old", [4], dialogue="d2"),
]


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    write(path, PROMPTS, kind="samples", extended=[{"signature": "s"}], partners="p", bots={"old": "v1", "x": "y"})
    return path


@dataclass
class Flaky:
    """Answers only while it is well; `stop` is raised at the n-th reply."""

    well: bool = False
    stop: int = 0
    asked: list[str] = field(default_factory=list)

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:  # noqa: ARG002
        replies = []
        for turns in dialogues:
            self.asked.append(turns[-1].text)
            if self.stop and len(self.asked) >= self.stop:
                raise KeyboardInterrupt
            is_well = self.well or turns[-1].text == "hello"
            replies.append(Reply(f"re {turns[-1].text}") if is_well else Reply("", "HTTP 500: broken"))
        return replies

    def signature(self) -> str:
        return "flaky"


def test_rows_are_the_prompts_with_the_replies_of_each_system(prompts: Path, tmp_path: Path) -> None:
    path, new = tmp_path / "out.jsonl", Teller("t")
    replied = reply_file(prompts, path, {"new": new, "b": Flaky(well=True)}, ReplyOptions(seed=3))
    rows = load(path)
    assert [row.key for row in rows] == [("1", "new"), ("1", "b"), ("2", "new"), ("2", "b")]
    for row, prompt in zip(rows, [PROMPTS[0]] * 2 + [PROMPTS[1]] * 2, strict=True):
        assert (row.context, row.references) == (prompt.context, prompt.references)
        assert (row.dialogue, row.fields, row.ratings) == (prompt.dialogue, prompt.fields, ())
    seed = seed_of(seed_of(3, "1"), "2")  # of the id, then of the turn
    assert rows[0].response == new.replies([PROMPTS[0].context], [seed])[0].text
    assert rows[1].response == "re hello"
    assert (replied.prompts, replied.rows, replied.kept, replied.missing) == (2, 4, 0, {})
    facts = header(path)
    assert facts["bots"] == {"b": "flaky", "new": "teller-t"}
    assert (facts["seed"], facts["n"]) == (3, 1)
    assert facts["extended"] == [{"signature": "s"}]
    assert "partners" not in facts
    assert not journal_path(path).exists()


def test_kept_replies_have_their_systems_and_ratings(prompts: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write(tmp_path / "unnamed.jsonl", [Sample("1", ["a"], "x")], kind="samples")
    replied = reply_file(prompts, path, {"new": Teller("t")}, ReplyOptions(keep=True))
    rows = load(path)
    assert [row.key for row in rows] == [("1", "new"), ("2", "old"), ("2", "new")]
    assert rows[1] == PROMPTS[1]
    assert (replied.rows, replied.kept) == (3, 1)
    assert header(path)["bots"] == {"new": "teller-t", "old": "v1"}
    again = reply_file(prompts, path, {"new": Teller("t")}, ReplyOptions(keep=True))
    assert (again.rows, again.tally.resumed) == (3, 2)
    with pytest.raises(InputError, match="already has replies of 'old'"):
        reply_file(prompts, tmp_path / "o.jsonl", {"old": Teller("t")}, ReplyOptions(keep=True))
    reply_file(tmp_path / "unnamed.jsonl", tmp_path / "u.jsonl", {"new": Teller("t")}, ReplyOptions(keep=True))
    assert [row.system for row in load(tmp_path / "u.jsonl")] == ["given", "new"]


def test_missing_replies_are_counted_and_asked_for_again(prompts: Path, tmp_path: Path) -> None:
    path, bot = tmp_path / "out.jsonl", Flaky()
    replied = reply_file(prompts, path, {"f": bot, "t": Teller("t")})
    assert replied.missing == {"f": 1}
    assert replied.tally.failures == {("f", "HTTP 500"): 1}
    assert [row.key for row in load(path)] == [("1", "f"), ("1", "t"), ("2", "t")]
    bot.well, bot.asked = True, []
    again = reply_file(prompts, path, {"f": bot, "t": Teller("t")})
    assert bot.asked == ["how are you?"]
    assert (again.missing, again.rows, again.tally.resumed) == ({}, 4, 3)
    assert [row.response for row in load(path) if row.system == "f"] == ["re hello", "re how are you?"]


def test_an_interrupted_run_keeps_what_it_has(tmp_path: Path) -> None:
    prompts, path = tmp_path / "p.jsonl", tmp_path / "out.jsonl"
    write(prompts, [Sample(str(i), [f"{i}"]) for i in range(9)], kind="samples")
    bot = Flaky(well=True, stop=8)
    with pytest.raises(KeyboardInterrupt):
        reply_file(prompts, path, {"f": bot}, ReplyOptions(batch=3))
    assert not path.exists()
    assert len(journal_path(path).read_text().splitlines()) == 1 + 6
    bot.stop, bot.asked = 0, []
    assert reply_file(prompts, path, {"f": bot}, ReplyOptions(batch=3)).tally.resumed == 6
    assert bot.asked == ["6", "7", "8"]
    assert [row.response for row in load(path)] == [f"re {i}" for i in range(9)]


def test_without_any_reply_nothing_is_written(prompts: Path, tmp_path: Path) -> None:
    write(prompts, [PROMPTS[1]], kind="samples")
    replied = reply_file(prompts, tmp_path / "out.jsonl", {"f": Flaky()})
    assert (replied.rows, replied.missing) == (0, {"f": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["prompts.jsonl"]


def test_more_repeats_extend_a_file_and_other_inputs_are_refused(prompts: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    reply_file(prompts, path, {"t": Teller("t")})
    one = {row.key: row.response for row in load(path)}
    replied = reply_file(prompts, path, {"t": Teller("t")}, ReplyOptions(n=3))
    rows = {row.key: row.response for row in load(path)}
    assert replied.tally.resumed == 2
    assert len(rows) == len(set(rows.values())) == 6
    assert one.items() <= rows.items()
    assert reply_file(prompts, path, {"t": Teller("t")}).rows == 6, "paid replies are not thrown away"
    for systems, options, what in (
        ({"u": Teller("t")}, ReplyOptions(), "bots was"),
        ({"t": Teller("u")}, ReplyOptions(), "bots was"),
        ({"t": Teller("t")}, ReplyOptions(seed=1), "seed was 0, is 1"),
    ):
        with pytest.raises(InputError, match=what):
            reply_file(prompts, path, systems, options)
    write(prompts, PROMPTS[:1], kind="samples")
    with pytest.raises(InputError, match="prompts was"):
        reply_file(prompts, path, {"t": Teller("t")})
    with pytest.raises(InputError, match="was not written by `interloq reply`"):
        reply_file(prompts, write_other(tmp_path / "other.jsonl"), {"t": Teller("t")})
    with pytest.raises(InputError, match="also an input"):
        reply_file(prompts, prompts, {"t": Teller("t")})
    with pytest.raises(InputError, match="no system is given"):
        reply_file(prompts, path, {})


def write_other(path: Path) -> Path:
    write(path, PROMPTS, kind="samples")
    return path


def test_replies_do_not_depend_on_batches_order_or_other_systems(tmp_path: Path) -> None:
    samples = [Sample(f"p{i}", [f"hi {i}"]) for i in range(20)]
    replies = []
    for i, (given, systems) in enumerate([(samples, "a"), (samples[::-1], "ab")]):
        write(tmp_path / f"{i}.jsonl", given, kind="samples")
        out = tmp_path / f"out{i}.jsonl"
        bots = {name: Teller("same") for name in systems}
        reply_file(tmp_path / f"{i}.jsonl", out, bots, ReplyOptions(n=2, batch=7 - 3 * i))
        replies.append({row.id: row.response for row in load(out) if row.system == "a"})
    assert replies[0] == replies[1]


def test_compare_takes_repeats_of_a_context_for_one_cluster(tmp_path: Path) -> None:
    write(tmp_path / "p.jsonl", [Sample(f"p{i}", [f"hi {i}"]) for i in range(12)], kind="samples")
    out = tmp_path / "out.jsonl"
    bots = {"a": Teller("long name indeed"), "b": Teller("b")}
    reply_file(tmp_path / "p.jsonl", out, bots, ReplyOptions(n=4))
    options = CompareOptions(metrics=("length",), old_system="a", new_system="b", lower_is_better=True)
    found = compare_file(out, out, options)
    (change,) = found.overall()
    assert (found.pairing, change.old.n, change.new.n, change.clusters) == ("id", 48, 48, 12)
    assert change.difference < 0
