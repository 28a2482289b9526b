"""Logs written by the tools' own packages (`tests/golden/tool_logs`), and logs as users have them: damaged and mixed.

Covered are formats, log_files, import_logs, exchange, and all importers: openai_logs, anthropic_logs, sharegpt,
langfuse, langsmith, promptfoo, otel_spans, inspect_logs and help_desk.
"""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from interloq import Dialogue, InputError, Rating, load
from interloq.data.pseudonyms import Pseudonyms
from interloq.data.records.jsonl import Rejected, header
from interloq.data.tool_logs import anthropic_logs, help_desk, inspect_logs, log_files, openai_logs
from interloq.data.tool_logs.formats import NAMES, arrays, listing, log_format, recognise
from interloq.data.tool_logs.import_logs import LogOptions, import_logs

GOLDEN = Path(__file__).parents[2] / "golden" / "tool_logs"
ASKED, ANSWER = "When does the train to Leeds leave?", "At half past ten."
NEXT, LAST = "Is it late? My number is 555-123-4567.", "No, it is on time."
SAID = [ASKED, ANSWER, NEXT, LAST]
TOOLS = [("system", "Be kind."), ("tool_call", 'timetable {"to":"Leeds"}'), ("tool_result", '{"leaves":"10:30"}')]


def read(
    folder: Path, *files: str | Path, names: Pseudonyms | None = None, **options: Any
) -> tuple[list[Dialogue], dict[str, Any], list[Rejected]]:
    bad: list[Rejected] = []
    output = folder / "dialogues.jsonl"
    facts = import_logs(
        [GOLDEN / file for file in files], output, LogOptions(on_reject=bad.append, **options), names=names
    )
    return load(output, kind="dialogues"), facts, bad


def put(folder: Path, name: str, *values: Any) -> Path:
    path = folder / name
    path.write_text("".join((value if isinstance(value, str) else json.dumps(value)) + "\n" for value in values))
    return path


def texts(dialogue: Dialogue) -> list[str]:
    return [turn.text for turn in dialogue.turns]


def unspoken(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(turn.kind, turn.text) for _, turn in dialogue.unspoken]


def facts_of(dialogue: Dialogue) -> dict[str, Any]:
    return dict(dialogue.turns[-1].fields or {})


# ---- logs written by the tools' packages -----------------------------------------------------------------------------

CONVERSATIONS = {  # files → format, id, user, system and what nobody said
    ("openai_chat.jsonl",): ("openai", "c1", "ann@example.com", "gpt-4o-mini-2024-07-18", TOOLS),
    ("openai_responses.jsonl",): (
        "openai", "resp_1", "user", "gpt-5-2025-08-07",
        [TOOLS[0], ("reasoning", "Look it up."), ("tool_call", "timetable {}"), TOOLS[2]],
    ),
    ("langfuse_observations.jsonl", "langfuse_scores.json"): (
        "langfuse", "s1", "ann@example.com", "gpt-4o-mini-2024-07-18", TOOLS,
    ),
    ("langsmith_runs.jsonl", "langsmith_feedback.json"): ("langsmith", "c1", "u-7", "gpt-4o-mini", TOOLS[:1]),
    ("otel_spans.jsonl",): ("otel", "c1", "u-7", "gpt-4o-mini-2024-07-18", TOOLS),
}  # fmt: skip


@pytest.mark.parametrize("files", CONVERSATIONS, ids=lambda files: files[0])
def test_a_conversation_is_whole_and_nothing_is_repeated(tmp_path: Path, files: tuple[str, ...]) -> None:
    name, id, user, system, others = CONVERSATIONS[files]
    (dialogue,), facts, bad = read(tmp_path, *files)
    assert (facts["imported"], dialogue.id, dialogue.systems) == (name, id, {"assistant": system})
    assert texts(dialogue) == SAID
    assert [turn.speaker for turn in dialogue.turns] == [user, "assistant", user, "assistant"]
    assert unspoken(dialogue) == others
    assert all(turn.time for turn in dialogue.turns)
    assert not bad
    again, same, _ = read(tmp_path, *files, format=name)
    assert again == [dialogue]
    assert same == facts


def test_ratings_of_langfuse_are_of_replies_by_their_source(tmp_path: Path) -> None:
    (dialogue,), facts, _ = read(tmp_path, "langfuse_observations.jsonl", "langfuse_scores.json")
    assert dialogue.turns[1].ratings == (
        Rating(1.0, aspect="user-feedback", role="interlocutor", comment="quick, thanks! <key>"),
    )
    assert dialogue.turns[3].ratings == (Rating(None, "bob", "helpful", "outsider", comment="very"),)
    assert dialogue.ratings == (Rating(5.0, aspect="csat", role="interlocutor"),)
    known = dict(dialogue.turns[1].fields or {})
    assert known.pop("score.toxicity") == 0.01  # by a program: no rating
    assert known == {
        "model": "gpt-4o-mini-2024-07-18", "log_id": "g1", "trace_id": "t1", "latency": 0.85, "cost": 0.0002,
        "release": "v42", "version": "7", "tags": "trains",
    }  # fmt: skip
    assert facts["redacted"] == {"key": 1}
    assert facts["aspects"].keys() == {"user-feedback", "helpful", "csat"}
    assert "1 value about steps within a reply" in facts["notes"][0]


def test_traces_of_older_langfuse(tmp_path: Path) -> None:
    (first, alone), facts, _ = read(tmp_path, "langfuse_traces.json")
    assert (first.id, texts(first), first.systems) == ("s1", [ASKED, ANSWER], {"assistant": "gpt-4o-mini"})
    assert first.turns[1].ratings == (
        Rating(0.0, aspect="user-feedback", role="interlocutor", comment="wrong platform"),
    )
    assert facts_of(first)["prompt_version"] == 3
    assert (alone.id, alone.systems) == ("t2", {})
    assert facts["without_conversation"] == 1


def test_ratings_of_langsmith(tmp_path: Path) -> None:
    (dialogue,), _, _ = read(tmp_path, "langsmith_runs.jsonl", "langsmith_feedback.json")
    assert dialogue.turns[1].ratings == (Rating(1.0, aspect="thumbs", role="interlocutor", comment="quick"),)
    assert dialogue.turns[3].ratings == (Rating(0.0, "bob", "correctness", "outsider", comment="wrong"),)
    assert facts_of(dialogue)["score.toxicity"] == 0.01
    first = dialogue.turns[1].fields or {}
    assert (first["latency"], first["cost"], first["version"], first["tags"]) == (1.5, 0.0002, "v42", "trains")


def test_spans_keep_their_ids_and_evaluations(tmp_path: Path) -> None:
    (dialogue,), _, _ = read(tmp_path, "otel_spans.jsonl")
    known = facts_of(dialogue)
    assert (known["version"], known["input_tokens"], known["latency"], known["score.relevance"]) == (
        "v42",
        40,
        1.0,
        0.9,
    )
    assert (len(known["trace_id"]), len(known["log_id"])) == (32, 16)


def test_spans_of_earlier_instrumentations_and_structured_messages(tmp_path: Path) -> None:
    values = {
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi", "gen_ai.completion.0.content": "hello",
        "gen_ai.completion.0.role": "assistant", "gen_ai.request.model": "m",
    }  # fmt: skip
    flat = [{"key": name, "value": {"stringValue": value}} for name, value in values.items()]
    part = [{"key": "type", "value": {"stringValue": "text"}}, {"key": "content", "value": {"stringValue": "hey"}}]
    parts = {"arrayValue": {"values": [{"kvlistValue": {"values": part}}]}}
    message = [{"key": "role", "value": {"stringValue": "user"}}, {"key": "parts", "value": parts}]
    messages = {"arrayValue": {"values": [{"kvlistValue": {"values": message}}]}}
    structured = [{"key": "gen_ai.input.messages", "value": messages}]
    spans = [{"spanId": id, "attributes": each} for id, each in (("a", flat), ("b", structured))]
    log = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    (first, second), _, _ = read(tmp_path, put(tmp_path, "spans.json", log))
    assert (texts(first), first.systems) == (["hi", "hello"], {"assistant": "m"})
    assert texts(second) == ["hey"]


def test_batches_are_joined_with_their_inputs(tmp_path: Path) -> None:
    for files in (
        ("openai_batch_input.jsonl", "openai_batch_output.jsonl"),
        ("openai_batch_output.jsonl", "openai_batch_input.jsonl"),
    ):
        dialogues, _, _ = read(tmp_path, *files)
        first, failed = sorted(dialogues, key=lambda dialogue: dialogue.id)
        assert (first.id, texts(first), unspoken(first)) == ("r1", SAID, TOOLS)
        assert first.systems == {"assistant": "gpt-4o-mini-2024-07-18"}
        assert (failed.id, failed.failure) == ("r2", "This request could not be executed.")
    (first, failed), _, _ = read(tmp_path, "anthropic_batch.jsonl")
    assert (texts(first), first.systems) == ([ASKED, LAST], {"assistant": "claude-sonnet-4-5-20250929"})
    assert (texts(failed), failed.failure) == ([ASKED], "overloaded")


def test_stored_completions(tmp_path: Path) -> None:
    (dialogue,), _, _ = read(tmp_path, "openai_stored.json")
    assert (dialogue.id, texts(dialogue)) == ("t1", ["When?", ANSWER])
    messages = {"data": [{"id": "chatcmpl-3-0", "role": "user", "content": "When does it leave?"}]}
    stored = json.loads((GOLDEN / "openai_stored.json").read_text())["data"][0] | {"input_user": None, "metadata": {}}
    (whole,), _, _ = read(tmp_path, put(tmp_path, "m.json", messages), put(tmp_path, "s.jsonl", stored))
    assert (whole.id, texts(whole)) == ("chatcmpl-3", ["When does it leave?", ANSWER])


def test_anthropic_messages(tmp_path: Path) -> None:
    (dialogue,), _, _ = read(tmp_path, "anthropic_messages.jsonl")
    assert (dialogue.id, texts(dialogue)) == ("c1", [ASKED, ANSWER])
    assert [kind for kind, _ in unspoken(dialogue)] == ["system", "reasoning", "tool_call", "tool_result"]
    assert dialogue.turns[0].speaker == "u-7"


@pytest.mark.parametrize("file", ["promptfoo_results.json", "promptfoo_results.jsonl"])
def test_results_of_promptfoo(tmp_path: Path, file: str) -> None:
    dialogues, facts, _ = read(tmp_path, file)
    assert [dialogue.occasion for dialogue in dialogues] == ["test 0", "test 0", "test 1", "test 1"]
    assert all(dialogue.systems == {"assistant": "echo-1"} for dialogue in dialogues)
    assert unspoken(dialogues[0]) == [("system", "Be kind.")]
    assert texts(dialogues[1]) == ["Answer briefly: When does the train leave?"] * 2
    assert [facts_of(dialogue)["score.pass"] for dialogue in dialogues] == [1, 1, 0, 0]
    assert not any(dialogue.failure for dialogue in dialogues)
    assert facts["notes"] == []


def test_verdicts_of_people_in_promptfoo_are_ratings(tmp_path: Path) -> None:
    result = json.loads((GOLDEN / "promptfoo_results.jsonl").read_text().splitlines()[0])
    human = {"pass": False, "score": 0, "reason": "Manual", "assertion": {"type": "human"}}
    result["gradingResult"] = {**result["gradingResult"], "componentResults": [human], "comment": "rude"}
    (dialogue,), _, _ = read(tmp_path, put(tmp_path, "r.jsonl", result))
    assert dialogue.turns[-1].ratings == (Rating(0.0, role="outsider", comment="rude"),)


@pytest.mark.parametrize("file", ["inspect_new.eval", "inspect_new.json"])
def test_logs_of_inspect(tmp_path: Path, file: str) -> None:
    dialogues, _, _ = read(tmp_path, file)
    first = next(dialogue for dialogue in dialogues if dialogue.id == "q1/epoch-1")
    assert (first.occasion, texts(first)) == (first.id, ["What is 1+1?", "2"])
    assert unspoken(first) == [("system", "Be kind. " * 30)]
    assert first.systems == {"assistant": "mockllm/model"}
    known = facts_of(first)
    assert (known["target"], known["metadata.topic"], known["score.match"]) == ("2", "sums", 1.0)
    assert len(dialogues) == (24 if file.endswith(".eval") else 2)


# ---- formats without a package ---------------------------------------------------------------------------------------


def test_sharegpt(tmp_path: Path) -> None:
    messages = [
        {"from": "system", "value": "Be kind."},
        {"from": "human", "value": "hi"},
        {"from": "gpt", "value": "hello"},
    ]
    (dialogue,), _, _ = read(tmp_path, put(tmp_path, "s.json", [{"id": "7", "model": "m", "conversations": messages}]))
    assert (dialogue.id, texts(dialogue), dialogue.systems) == ("7", ["hi", "hello"], {"gpt": "m"})


DESK = """\
ticket_id,author,author_role,body,created_at,public,satisfaction,satisfaction_comment
7,Helper,bot,How can I help?,2026-01-01 10:00:05,true,good,"quick, kind"
7,Ann,end-user,My train is late.,2026-01-01 10:00,true,good,"quick, kind"
7,Bob,agent,"She is angry, careful",2026-01-01 10:01,false,good,"quick, kind"
7,Bob,agent,Sorry!,2026-01-01 10:02,true,good,"quick, kind"
8,Cy,end-user,Hello?,2026-01-02 10:00,true,,
8,Cy,end-user,Hello?,2026-01-02 10:05,true,,
"""


def test_a_help_desk(tmp_path: Path) -> None:
    path = tmp_path / "tickets.csv"
    path.write_text(DESK)
    (first, second), facts, _ = read(tmp_path, path)
    assert facts["imported"] == "helpdesk"
    assert [(turn.speaker, turn.text) for turn in first.turns] == [
        ("Ann", "My train is late."), ("Helper", "How can I help?"), ("Bob", "Sorry!"),
    ]  # fmt: skip
    assert unspoken(first) == [("note", "She is angry, careful")]
    assert first.systems == {"Helper": "Helper", "Bob": "agent"}
    assert first.ratings == (Rating(1.0, aspect="satisfaction", role="interlocutor", comment="quick, kind"),)
    assert texts(second) == ["Hello?", "Hello?"]
    (hidden, _), facts, _ = read(tmp_path, path, names=Pseudonyms("a key for user ids"))
    assert facts["users"] == header(tmp_path / "dialogues.jsonl")["users"] == "hashed"
    assert "Ann" not in repr(hidden)
    assert hidden.turns[1].speaker == "Helper"


def test_a_table_of_langfuse(tmp_path: Path) -> None:
    message = json.dumps([{"role": "user", "content": "hi"}]).replace('"', '""')
    rows = f'id,sessionId,userId,input,output,latency,public,totalCost\nt1,s1,u1,"{message}",hello,0.5,false,0.25\n'
    path = tmp_path / "traces.csv"
    path.write_text(rows)
    (dialogue,), facts, _ = read(tmp_path, path)
    assert (facts["imported"], dialogue.id, texts(dialogue)) == ("langfuse", "s1", ["hi", "hello"])
    assert (facts_of(dialogue)["cost"], facts_of(dialogue)["latency"]) == (0.25, 0.5)


# ---- what users have -------------------------------------------------------------------------------------------------


def exchange(id: str, *messages: str, reply: str = "ok", model: str = "m1", **request: Any) -> dict[str, Any]:
    sent = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(messages)]
    answer = {
        "object": "chat.completion",
        "id": id,
        "model": model,
        "choices": [{"message": {"role": "assistant", "content": reply}}],
    }
    return {"request": {"messages": sent, **request}, "response": answer}


def in_chat(chat: str) -> dict[str, Any]:
    return {"metadata": {"conversation_id": chat}}


def test_requests_without_a_conversation_are_never_joined(tmp_path: Path) -> None:
    path = put(tmp_path, "log.jsonl", exchange("a", "hi"), exchange("b", "hi", "ok", "more"))
    dialogues, facts, _ = read(tmp_path, path)
    assert [(dialogue.id, len(dialogue.turns)) for dialogue in dialogues] == [("a", 2), ("b", 4)]
    assert "2 of 2 requests name no conversation" in facts["notes"][0]
    assert "--map dialogue=" in facts["notes"][0]


def test_requests_without_any_id_are_never_joined(tmp_path: Path) -> None:
    nameless = exchange("", "hi")
    span = {"attributes": [{"key": "gen_ai.input.messages", "value": {"stringValue": '[{"role":"user","parts":[]}]'}}]}
    files = [put(tmp_path, f"{name}.jsonl", nameless, {"data": [nameless] * 2}, {"data": [nameless]}) for name in "ab"]
    dialogues, _, _ = read(tmp_path, *files)
    assert [dialogue.id for dialogue in dialogues] == [
        "1", "item-1", "item-2", "item-3", "2/1", "2/item-1", "2/item-2", "2/item-3",
    ]  # fmt: skip
    log = {"resourceSpans": [{"scopeSpans": [{"spans": [span, span]}]}]}
    dialogues, _, _ = read(tmp_path, put(tmp_path, "spans.json", log))
    assert [dialogue.id for dialogue in dialogues] == ["item-1", "item-1/1"]


def test_replies_generated_again_are_branches(tmp_path: Path) -> None:
    values = [
        exchange("a", "hi", **in_chat("c")),
        exchange("b", "hi", "ok", "more", reply="first", **in_chat("c")),
        exchange("c", "hi", "ok", "more", reply="second", **in_chat("c")),
        exchange("d", "hi", "ok", "more", "second", "bye", reply="end", **in_chat("c")),
        exchange("d", "hi", "ok", "more", "second", "bye", reply="end", **in_chat("c")),
    ]
    (main, branch), facts, _ = read(tmp_path, put(tmp_path, "log.jsonl", *values))
    assert (main.id, texts(main)) == ("c", ["hi", "ok", "more", "first"])
    assert (branch.id, texts(branch)) == ("c/branch-2", ["hi", "ok", "more", "second", "bye", "end"])
    assert (facts["branches"], facts["repeated"]) == (1, 1)


def test_logs_that_send_only_what_is_new(tmp_path: Path) -> None:
    values = [exchange(id, "yes", **in_chat("c")) for id in "abc"]
    (dialogue,), _, _ = read(tmp_path, put(tmp_path, "log.jsonl", *values))
    assert texts(dialogue) == ["yes", "ok"] * 3


def test_models_that_change_within_a_conversation_are_told_apart(tmp_path: Path) -> None:
    values = [exchange("a", "hi", **in_chat("c")), exchange("b", "hi", "ok", "more", model="m2", **in_chat("c"))]
    (dialogue,), _, _ = read(tmp_path, put(tmp_path, "log.jsonl", *values))
    assert dialogue.systems == {"m1": "m1", "m2": "m2"}
    assert [turn.speaker for turn in dialogue.turns] == ["user", "m1", "user", "m2"]


def test_further_choices_are_kept(tmp_path: Path) -> None:
    value = exchange("a", "hi", **in_chat("c"))
    value["response"]["choices"].append({"message": {"role": "assistant", "content": "other"}})
    dialogues, _, _ = read(tmp_path, put(tmp_path, "log.jsonl", value))
    assert [(dialogue.id, texts(dialogue)[-1]) for dialogue in dialogues] == [("c", "ok"), ("a/choice-2", "other")]


def test_fields_are_mapped(tmp_path: Path) -> None:
    run = {
        "id": "r1", "run_type": "chain", "inputs": {"who": "ann", "ask": {"text": "hi"}, "lang": "en"},
        "outputs": {"answer": {"text": "hello"}, "sources": []}, "extra": {"metadata": {"room": 7}}, "start_time": None,
    }  # fmt: skip
    path = put(tmp_path, "runs.jsonl", run)
    with pytest.raises(InputError, match=r"no request .*--map context="):
        read(tmp_path, path)
    columns = {
        "context": "inputs.ask.text", "response": "outputs.answer.text", "dialogue": "extra.metadata.room",
        "user": "inputs.who", "lang": "inputs.lang",
    }  # fmt: skip
    (dialogue,), _, _ = read(tmp_path, path, columns=columns)
    assert (dialogue.id, [(turn.speaker, turn.text) for turn in dialogue.turns]) == (
        "7",
        [("ann", "hi"), ("assistant", "hello")],
    )
    assert facts_of(dialogue)["lang"] == "en"
    with pytest.raises(InputError, match=r"no value has 'outputs.anwser', named by --map"):
        read(tmp_path, path, columns={**columns, "response": "outputs.anwser"})


def test_a_truncated_export_keeps_what_was_read(tmp_path: Path) -> None:
    whole = json.dumps([exchange(str(i), f"hi {i}") for i in range(9)])
    path = tmp_path / "cut.json"
    path.write_text(whole[: len(whole) // 2])
    dialogues, _, (bad,) = read(tmp_path, path)
    assert [dialogue.id for dialogue in dialogues] == ["0", "1", "2", "3"]
    assert bad.where == f"{path}:1"
    assert "the file ends here" in bad.what
    assert "byte" in bad.what


def test_bad_values_are_set_aside_without_their_secrets(tmp_path: Path) -> None:
    private = "sk-abcdefghijklmnop1234"
    broken = exchange("b", "hi")
    broken["request"]["messages"] = [{"role": "user", "content": {"key": private}}]
    path = put(tmp_path, "log.jsonl", exchange("a", "hi"), broken, f'{{"a": "{private}"', exchange("c", "hi"), {"x": 1})
    dialogues, _, bad = read(tmp_path, path)
    assert [dialogue.id for dialogue in dialogues] == ["a", "c"]
    assert [each.where for each in bad] == [f"{path}:{line}" for line in (2, 3, 5)]
    assert private not in repr(bad)
    assert b"<key>" in bad[0].line


def test_a_text_that_is_not_utf_8_costs_one_value(tmp_path: Path) -> None:
    path = put(tmp_path, "log.jsonl", *(exchange(id, "café") for id in "abc"))
    lines = [json.dumps(exchange(id, "café"), ensure_ascii=False).encode() for id in "abc"]
    path.write_bytes(b"\n".join([lines[0], lines[1].replace(b"\xc3\xa9", b"\xe9"), lines[2]]))
    dialogues, _, (bad,) = read(tmp_path, path)
    assert [dialogue.id for dialogue in dialogues] == ["a", "c"]
    assert (bad.where, "UTF-8" in bad.what) == (f"{path}:2", True)


def test_feedback_on_unknown_requests_is_set_aside(tmp_path: Path) -> None:
    score = {"id": "s", "name": "x", "value": 1, "source": "API", "traceId": "gone", "dataType": "NUMERIC"}
    _, _, (bad,) = read(tmp_path, "langfuse_traces.json", put(tmp_path, "scores.jsonl", score))
    assert "feedback on 'gone'" in bad.what


def test_private_texts_are_named_or_replaced(tmp_path: Path) -> None:
    _, facts, _ = read(tmp_path, "otel_spans.jsonl")
    assert any("1 like phone" in note and "--redact" in note for note in facts["notes"])
    (dialogue,), facts, _ = read(tmp_path, "openai_chat.jsonl", redact=True)
    assert facts["redacted"] == {"email": 1, "phone": 1}
    assert "<phone>" in dialogue.turns[2].text
    assert dialogue.turns[0].speaker == "<email>-1"


def test_hashed_users_stay_apart_and_roles_stay(tmp_path: Path) -> None:
    (dialogue,), _, _ = read(tmp_path, "openai_chat.jsonl", names=Pseudonyms("a key for user ids"))
    assert dialogue.turns[0].speaker.startswith("u")
    assert "ann" not in repr(dialogue)
    assert dialogue.turns[1].fields
    (plain,), _, _ = read(
        tmp_path, put(tmp_path, "a.jsonl", exchange("a", "hi")), names=Pseudonyms("a key for user ids")
    )
    assert plain.turns[0].speaker == "user"


@pytest.mark.parametrize("value", [{"x": 1}, {"messages": 7}, {"prompt": "hi", "completion": "ok"}])
def test_an_unknown_log_is_refused_with_the_ways_out(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InputError, match=r"not a log of a known tool: .*--from inspect.*--map"):
        read(tmp_path, put(tmp_path, "a.jsonl", value))


def test_nothing_to_import_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no request with its reply was found"):
        read(tmp_path, put(tmp_path, "a.jsonl"))
    with pytest.raises(InputError, match="from files, not from a pipe"):
        import_logs(["-"], tmp_path / "out.jsonl")
    with pytest.raises(InputError, match="unknown format 'langfuze'; did you mean 'langfuse'"):
        log_format("langfuze")


def test_an_input_is_never_replaced(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl", exchange("a", "hi"))
    with pytest.raises(InputError, match="also"):
        import_logs([path], path)


def test_a_damaged_sample_of_inspect_is_set_aside_and_bombs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytearray((GOLDEN / "inspect_old.eval").read_bytes())
    with zipfile.ZipFile(GOLDEN / "inspect_old.eval") as archive:
        place = archive.getinfo("samples/q3_epoch_1.json").header_offset
    name, extra = struct.unpack("<HH", data[place + 26 : place + 30])
    data[place + 30 + name + extra + 40] ^= 0xFF
    path = tmp_path / "bad.eval"
    path.write_bytes(data)
    dialogues, _, (bad,) = read(tmp_path, path)
    assert len(dialogues) == 23
    assert bad.where == f"{path}/samples/q3_epoch_1.json"
    path.write_bytes((GOLDEN / "inspect_old.eval").read_bytes()[:-200])
    with pytest.raises(InputError, match="cannot read the log"):
        read(tmp_path, path)
    monkeypatch.setattr(log_files, "RATIO", 0)
    monkeypatch.setattr(log_files, "FREE", 1_000)
    with pytest.raises(InputError, match="expand to more than"):
        read(tmp_path, "inspect_old.eval")


def test_a_member_that_claims_less_than_it_has_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/a_epoch_1.json", json.dumps({"x": "y" * 5_000}))
    monkeypatch.setattr(log_files, "MAX_LINE", 2_000)
    with pytest.raises(InputError, match=r"no request .*larger than"):
        read(tmp_path, path)


def test_every_format_says_what_it_keeps_and_is_recognised_as_itself() -> None:
    assert [name for name, _, _ in listing()] == list(NAMES)
    modules = {"anthropic": anthropic_logs, "helpdesk": help_desk, "inspect": inspect_logs, "openai": openai_logs}
    for name in NAMES:
        assert name == log_format(name).NAME
        assert log_format(name) is modules.get(name, log_format(name))
    for _, what, kept in listing():
        assert what
        assert kept
    assert ("resourceSpans",) in arrays("")
    with pytest.raises(InputError, match="not a log of a known tool"):
        recognise([1], "a.json")
