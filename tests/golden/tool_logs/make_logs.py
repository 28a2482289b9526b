"""Write the golden logs beside this file, each by its tool's own package.

    python -m venv /tmp/tools
    /tmp/tools/bin/pip install anthropic inspect_ai langfuse langsmith openai opentelemetry-sdk
    /tmp/tools/bin/pip install opentelemetry-exporter-otlp-proto-common
    pip install --no-deps --target /tmp/langfuse3 'langfuse>=3,<4'
    npm install --prefix /tmp/tools promptfoo
    PATH=/tmp/tools/node_modules/.bin:$PATH
    /tmp/tools/bin/python tests/golden/tool_logs/make_logs.py --langfuse3 /tmp/langfuse3

No server is asked: models are mocks, and what a server would answer is validated by the packages' types.
`origin.json` says which versions wrote the files, and when.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

HERE = Path(__file__).parent
TOOLS = [{"type": "function", "function": {"name": "timetable", "parameters": {"type": "object", "properties": {}}}}]
CALL = {"id": "call_1", "type": "function", "function": {"name": "timetable", "arguments": '{"to":"Leeds"}'}}
ASKED: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "When does the train to Leeds leave?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": '{"leaves":"10:30"}'},
]
ANSWER = "At half past ten."
NEXT = "Is it late? My number is 555-123-4567."
LAST = "No, it is on time."


def write_lines(name: str, values: list[Any]) -> None:
    lines = [json.dumps(value, ensure_ascii=False, default=str) for value in values]
    (HERE / name).write_text("".join(f"{line}\n" for line in lines))


def write_json(name: str, value: Any) -> None:
    (HERE / name).write_text(json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")


def dump(model: Any) -> Any:
    return json.loads(model.model_dump_json(by_alias=True))


def make_openai() -> None:
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    def completion(id: str, text: str, created: int, **further: Any) -> Any:
        message = {"role": "assistant", "content": text, "refusal": None}
        value = {
            "id": id, "object": "chat.completion", "created": created, "model": "gpt-4o-mini-2024-07-18",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}],
            "usage": {"prompt_tokens": 40, "completion_tokens": 6, "total_tokens": 46}, **further,
        }  # fmt: skip
        return dump(ChatCompletion.model_validate(value))

    metadata = {"conversation_id": "c1", "version": "7"}
    first = {"model": "gpt-4o-mini", "user": "ann@example.com", "tools": TOOLS, "metadata": metadata, "messages": ASKED}
    history = [*ASKED, {"role": "assistant", "content": ANSWER}, {"role": "user", "content": NEXT}]
    second = {**first, "messages": history}
    one, two = completion("chatcmpl-1", ANSWER, 1763560800), completion("chatcmpl-2", LAST, 1763560860)
    pairs = [{"request": first, "response": one, "latency_ms": 850}, {"request": second, "response": two}]
    write_lines("openai_chat.jsonl", pairs)
    body = {"model": "gpt-4o-mini", "messages": history}
    write_lines("openai_batch_input.jsonl",
                [{"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions", "body": body}])  # fmt: skip
    answer = {"status_code": 200, "request_id": "req_1", "body": two}
    failed = {"code": "batch_expired", "message": "This request could not be executed."}
    write_lines("openai_batch_output.jsonl", [
        {"id": "batch_req_1", "custom_id": "r1", "response": answer, "error": None},
        {"id": "batch_req_2", "custom_id": "r2", "response": None, "error": failed},
    ])  # fmt: skip
    stored = completion("chatcmpl-3", ANSWER, 1763560800, metadata={"thread_id": "t1"}, input_user="When?")
    write_json("openai_stored.json", {"object": "list", "data": [stored], "has_more": False})

    def response(id: str, output: list[Any], created: int, previous: str | None = None) -> Any:
        value = {
            "id": id, "object": "response", "created_at": created, "model": "gpt-5-2025-08-07", "status": "completed",
            "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
            "previous_response_id": previous, "metadata": {},
            "usage": {"input_tokens": 30, "output_tokens": 9, "total_tokens": 39,
                      "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                      "output_tokens_details": {"reasoning_tokens": 3}},
        }  # fmt: skip
        return dump(Response.model_validate(value))

    def said(text: str) -> Any:
        part = {"type": "output_text", "text": text, "annotations": []}
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}

    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look it up."}]}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "timetable", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "call_1", "output": '{"leaves":"10:30"}'}
    write_lines("openai_responses.jsonl", [
        {"request": {"model": "gpt-5", "instructions": "Be kind.", "input": ASKED[1]["content"]},
         "response": response("resp_1", [reasoning, call], 1763560800)},
        {"request": {"model": "gpt-5", "input": [result]},
         "response": response("resp_2", [said(ANSWER)], 1763560801, "resp_1")},
        {"request": {"model": "gpt-5", "input": NEXT},
         "response": response("resp_3", [said(LAST)], 1763560860, "resp_2")},
    ])  # fmt: skip


def make_anthropic() -> None:
    from anthropic.types import Message
    from anthropic.types.messages import MessageBatchIndividualResponse

    def message(id: str, content: list[Any], stop: str = "end_turn") -> Any:
        value = {
            "id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
            "content": content, "stop_reason": stop, "stop_sequence": None,
            "usage": {"input_tokens": 30, "output_tokens": 9},
        }  # fmt: skip
        return dump(Message.model_validate(value))

    use = {"type": "tool_use", "id": "toolu_1", "name": "timetable", "input": {"to": "Leeds"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "10:30"}]}
    thinking = {"type": "thinking", "thinking": "Look it up.", "signature": "x"}
    first = [{"role": "user", "content": ASKED[1]["content"]}]
    called = message("msg_1", [thinking, use], "tool_use")
    second = [*first, {"role": "assistant", "content": called["content"]}, {"role": "user", "content": [result]}]
    metadata = {"user_id": "u-7"}
    common = {"model": "claude-sonnet-4-5", "system": "Be kind.", "metadata": metadata, "max_tokens": 99}
    write_lines("anthropic_messages.jsonl", [
        {"conversation_id": "c1", "timestamp": "2026-11-19T10:00:00Z",
         "request": {**common, "messages": first}, "response": called},
        {"conversation_id": "c1", "timestamp": "2026-11-19T10:00:01Z", "request": {**common, "messages": second},
         "response": message("msg_2", [{"type": "text", "text": ANSWER}])},
    ])  # fmt: skip
    succeeded = {"type": "succeeded", "message": message("msg_3", [{"type": "text", "text": LAST}])}
    errored = {"type": "errored", "error": {"type": "error", "error": {"type": "api_error", "message": "overloaded"}}}
    results = [{"custom_id": f"r{i}", "result": each} for i, each in enumerate((succeeded, errored), start=1)]
    batch = [dump(MessageBatchIndividualResponse.model_validate(each)) for each in results]
    requests = [{"custom_id": f"r{i}", "params": {**common, "messages": first}} for i in (1, 2)]
    write_lines("anthropic_batch.jsonl", [*requests, *batch])


def make_langfuse() -> None:
    """The types of today's API: observations and scores."""
    from langfuse.api import ObservationV2
    from langfuse.api.core.pydantic_utilities import parse_obj_as
    from langfuse.api.scores.types import GetScoresV3Response

    times: dict[str, Any] = {"createdAt": "2026-11-19T10:00:05Z", "updatedAt": "2026-11-19T10:00:05Z"}
    common = {
        **times, "projectId": "p1", "environment": "default", "sessionId": "s1", "userId": "ann@example.com",
        "release": "v42", "version": "7", "tags": ["trains"], "level": "DEFAULT", "isRootObservation": False,
        "model": "gpt-4o-mini-2024-07-18", "usageDetails": {"input": 40, "output": 6}, "latency": 0.85,
    }  # fmt: skip
    answered = {"role": "assistant", "content": ANSWER}
    history = [*ASKED, answered, {"role": "user", "content": NEXT}]
    rows: list[dict[str, Any]] = [
        {"id": "g1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-11-19T10:00:00Z", "input": ASKED,
         "endTime": "2026-11-19T10:00:01Z", "output": answered, "totalCost": 0.0002, "costDetails": {"total": 0.0002}},
        {"id": "o1", "traceId": "t1", "type": "SPAN", "startTime": "2026-11-19T10:00:00Z", "name": "search"},
        {"id": "g2", "traceId": "t2", "type": "GENERATION", "startTime": "2026-11-19T10:01:00Z", "input": history,
         "endTime": "2026-11-19T10:01:01Z", "output": {"role": "assistant", "content": LAST}},
    ]  # fmt: skip
    observations = [json.loads(parse_obj_as(ObservationV2, {**common, **row}).json()) for row in rows]
    write_lines("langfuse_observations.jsonl", observations)
    score = {**times, "projectId": "p1", "environment": "default", "timestamp": "2026-11-19T10:02:00Z"}
    trace = {"kind": "trace", "id": "t1"}
    scores: list[dict[str, Any]] = [
        {"id": "s1", "name": "user-feedback", "source": "API", "dataType": "NUMERIC", "value": 1, "subject": trace,
         "comment": "quick, thanks! sk-lf-12345678-abcd-1234"},
        {"id": "s2", "name": "helpful", "source": "ANNOTATION", "dataType": "CATEGORICAL", "value": "very",
         "subject": {"kind": "observation", "id": "g2", "traceId": "t2"}, "authorUserId": "bob"},
        {"id": "s3", "name": "toxicity", "source": "EVAL", "dataType": "NUMERIC", "value": 0.01, "subject": trace},
        {"id": "s4", "name": "csat", "source": "API", "dataType": "NUMERIC", "value": 5,
         "subject": {"kind": "session", "id": "s1"}},
    ]  # fmt: skip
    answer = {"data": [{**score, **each} for each in scores], "meta": {"limit": 50}}
    write_json("langfuse_scores.json", json.loads(parse_obj_as(GetScoresV3Response, answer).json()))


def make_langfuse_traces() -> None:
    """The types of version 3, of installations that are not updated: traces with observations and scores in them."""
    from langfuse.api.resources.commons.types import TraceWithFullDetails

    times: dict[str, Any] = {
        "createdAt": "2026-11-19T10:00:05Z",
        "updatedAt": "2026-11-19T10:00:05Z",
        "environment": "default",
    }
    generation = {
        "id": "g1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-11-19T10:00:00Z", "model": "gpt-4o-mini",
        "modelParameters": {}, "input": ASKED, "output": ANSWER, "metadata": {}, "level": "DEFAULT", "usageDetails": {},
        "usage": {"input": 40, "output": 6, "total": 46}, "costDetails": {}, "environment": "default",
        "promptVersion": 3,
    }  # fmt: skip
    score = {
        **times, "id": "s1", "traceId": "t1", "name": "user-feedback", "value": 0, "source": "API",
        "dataType": "NUMERIC", "timestamp": "2026-11-19T10:02:00Z", "comment": "wrong platform", "metadata": {},
    }  # fmt: skip
    trace = {
        "id": "t1", "timestamp": "2026-11-19T10:00:00Z", "name": "chat", "input": {"question": ASKED[1]["content"]},
        "output": ANSWER, "sessionId": "s1", "userId": "u-7", "tags": ["trains"], "public": False, "release": "v41",
        "environment": "default", "htmlPath": "/t1", "latency": 0.9, "totalCost": 0.0001, "observations": [generation],
        "scores": [score], "metadata": {"area": "north"},
    }  # fmt: skip
    alone = {**trace, "id": "t2", "sessionId": None, "userId": None, "scores": [], "observations": []}
    values = [json.loads(TraceWithFullDetails.parse_obj(each).json(by_alias=True)) for each in (trace, alone)]
    write_json("langfuse_traces.json", values)


def make_langsmith() -> None:
    from langsmith.schemas import Feedback, Run

    def identify(n: int) -> UUID:
        return UUID(int=n)

    project = identify(99)
    extra = {"metadata": {"thread_id": "c1", "user_id": "u-7", "ls_model_name": "gpt-4o-mini", "revision_id": "v42"}}
    first = {"messages": ASKED[:2]}
    later = {"messages": [*ASKED[:2], {"role": "assistant", "content": ANSWER}, {"role": "user", "content": NEXT}]}
    runs = [
        Run(id=identify(1), trace_id=identify(1), name="chat", run_type="chain", session_id=project, inputs=first,
            start_time=datetime(2026, 11, 19, 10, 0, 0), end_time=datetime(2026, 11, 19, 10, 0, 1, 500000), extra=extra,
            outputs={"output": {"role": "assistant", "content": ANSWER}}, tags=["trains"], total_cost="0.0002",
            prompt_tokens=40, completion_tokens=6),
        Run(id=identify(2), trace_id=identify(1), parent_run_id=identify(1), name="timetable", run_type="tool",
            start_time=datetime(2026, 11, 19, 10, 0, 0), inputs={"to": "Leeds"}, outputs={"leaves": "10:30"}),
        Run(id=identify(3), trace_id=identify(3), name="chat", run_type="chain", session_id=project, inputs=later,
            start_time=datetime(2026, 11, 19, 10, 1, 0), end_time=datetime(2026, 11, 19, 10, 1, 1), extra=extra,
            outputs={"output": {"role": "assistant", "content": LAST}}),
    ]  # fmt: skip
    write_lines("langsmith_runs.jsonl", [dump(run) for run in runs])
    given = datetime(2026, 11, 19, 10, 2, 0)
    common = {"created_at": given, "modified_at": given}
    feedback = [
        Feedback(id=identify(11), run_id=identify(1), trace_id=identify(1), key="thumbs", score=1, comment="quick",
                 feedback_source={"type": "api"}, **common),
        Feedback(id=identify(12), run_id=identify(3), trace_id=identify(3), key="correctness", score=0,
                 value="wrong", feedback_source={"type": "app", "user_id": "bob"}, **common),
        Feedback(id=identify(13), run_id=identify(3), trace_id=identify(3), key="toxicity", score=0.01,
                 feedback_source={"type": "model"}, **common),
    ]  # fmt: skip
    write_json("langsmith_feedback.json", [dump(each) for each in feedback])


def make_otel() -> None:
    """Spans of the SDK as the OTLP exporter encodes them, one request per line as the file exporter does."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names

    def part(text: str) -> dict[str, Any]:
        return {"type": "text", "content": text}

    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "trains", "service.version": "v42"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("trains")
    call = {"type": "tool_call", "id": "call_1", "name": "timetable", "arguments": {"to": "Leeds"}}
    result = {"type": "tool_call_response", "id": "call_1", "response": {"leaves": "10:30"}}
    first = [
        {"role": "user", "parts": [part(str(ASKED[1]["content"]))]},
        {"role": "assistant", "parts": [call]},
        {"role": "tool", "parts": [result]},
    ]
    history = [*first, {"role": "assistant", "parts": [part(ANSWER)]}, {"role": "user", "parts": [part(NEXT)]}]
    for sent, reply, start in ((first, ANSWER, 1763560800), (history, LAST, 1763560860)):
        span = tracer.start_span("chat gpt-4o-mini", start_time=start * 10**9)
        span.set_attributes({
            names.GEN_AI_OPERATION_NAME: "chat", "gen_ai.provider.name": "openai", "user.id": "u-7",
            names.GEN_AI_REQUEST_MODEL: "gpt-4o-mini", names.GEN_AI_RESPONSE_MODEL: "gpt-4o-mini-2024-07-18",
            names.GEN_AI_CONVERSATION_ID: "c1", names.GEN_AI_USAGE_INPUT_TOKENS: 40,
            names.GEN_AI_USAGE_OUTPUT_TOKENS: 6,
            names.GEN_AI_SYSTEM_INSTRUCTIONS: json.dumps([part("Be kind.")]),
            names.GEN_AI_INPUT_MESSAGES: json.dumps(sent),
            names.GEN_AI_OUTPUT_MESSAGES: json.dumps(
                [{"role": "assistant", "parts": [part(reply)], "finish_reason": "stop"}]
            ),
        })  # fmt: skip
        scored = {names.GEN_AI_EVALUATION_NAME: "relevance", names.GEN_AI_EVALUATION_SCORE_VALUE: 0.9}
        span.add_event("gen_ai.evaluation.result", scored, timestamp=(start + 1) * 10**9)
        span.end((start + 1) * 10**9)
    tool = tracer.start_span("execute_tool timetable", start_time=1763560800 * 10**9)
    tool.set_attribute(names.GEN_AI_OPERATION_NAME, "execute_tool")
    tool.end(1763560801 * 10**9)
    requests = [MessageToDict(encode_spans([span])) for span in exporter.get_finished_spans()]
    for request in requests:  # OTLP JSON writes ids in hexadecimal, protobuf's JSON in base64
        for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            import base64

            for name in ("traceId", "spanId"):
                span[name] = base64.b64decode(span[name]).hex()
    write_lines("otel_spans.jsonl", requests)


def make_inspect() -> None:
    import inspect_ai
    import tiktoken
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import includes, match
    from inspect_ai.solver import generate, system_message

    ranks = {bytes([i]): i for i in range(256)}
    encoding = tiktoken.Encoding("bytes", pat_str=".", mergeable_ranks=ranks, special_tokens={})
    tiktoken.get_encoding = lambda _: encoding  # the mock model's tokens are counted; the usual table is downloaded
    long = "Be kind. " * 30  # kept as an attachment
    samples = [
        Sample(id=f"q{i}", input=f"What is {i}+{i}?", target=str(2 * i), metadata={"topic": "sums"}) for i in range(12)
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, wrong in (("old", 3), ("new", 2)):
            answers = [str(2 * i if i % wrong else 99) for _ in (1, 2) for i in range(12)]
            outputs = [ModelOutput.from_content("mockllm/model", answer) for answer in answers]
            task = inspect_ai.Task(
                dataset=samples, solver=[system_message(long), generate()], scorer=[includes(), match()], epochs=2
            )
            model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
            (log,) = inspect_ai.eval(
                task, model=model, log_dir=folder, display="none", max_samples=1, max_connections=1, log_model_api=False
            )
            assert log.status == "success", log.error
            kept = read_eval_log(log.location, resolve_attachments=False)
            for sample in kept.samples or []:
                sample.events = []  # most of the size, and not read
            kept.eval.model_args = {}
            write_eval_log(kept, str(HERE / f"inspect_{name}.eval"))
    kept.samples = (kept.samples or [])[:2]
    write_eval_log(kept, str(HERE / "inspect_new.json"))


def make_promptfoo() -> str:
    config = {
        "prompts": ["file://chat.json", "Answer briefly: {{question}}"],
        "providers": [{"id": "echo", "label": "echo-1"}],
        "tests": [
            {"vars": {"question": "When does the train leave?"}, "assert": [{"type": "contains", "value": "train"}]},
            {"vars": {"question": "Is it late?"}, "assert": [{"type": "contains", "value": "nothing"}]},
        ],
    }
    chat = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "{{question}}"}]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "promptfooconfig.json").write_text(json.dumps(config))
        Path(folder, "chat.json").write_text(json.dumps(chat))
        quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": folder}
        program = shutil.which("promptfoo") or "promptfoo"
        command = [
            program,
            "eval",
            "-c",
            "promptfooconfig.json",
            "--no-cache",
            "-o",
            "results.json",
            "-o",
            "results.jsonl",
        ]
        subprocess.run(command, cwd=folder, env={**os.environ, **quiet}, check=False, capture_output=True)
        for suffix in ("json", "jsonl"):
            text = Path(folder, f"results.{suffix}").read_text().replace(folder, ".")
            (HERE / f"promptfoo_results.{suffix}").write_text(text)
        done = subprocess.run(
            [program, "--version"], env={**os.environ, **quiet}, check=True, capture_output=True, text=True
        )
    return done.stdout.split()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--langfuse3", help="folder with version 3 of langfuse")
    arguments = parser.parse_args()
    if arguments.langfuse3 and "LANGFUSE3" not in os.environ:  # two versions cannot be loaded in one process
        again = [sys.executable, __file__, "--langfuse3", arguments.langfuse3]
        subprocess.run(again, env={**os.environ, "LANGFUSE3": "1", "PYTHONPATH": arguments.langfuse3}, check=True)
    elif "LANGFUSE3" in os.environ:
        make_langfuse_traces()
        return
    packages = ("openai", "anthropic", "langfuse", "langsmith", "opentelemetry-sdk", "inspect_ai")
    for make in (make_openai, make_anthropic, make_langfuse, make_langsmith, make_otel, make_inspect):
        make()
    versions = {name: version(name) for name in packages} | {"promptfoo": make_promptfoo()}
    if arguments.langfuse3:
        (found,) = Path(arguments.langfuse3).glob("langfuse-*.dist-info")
        versions["langfuse (traces)"] = found.name.removeprefix("langfuse-").removesuffix(".dist-info")
    command = "python tests/golden/tool_logs/make_logs.py --langfuse3 FOLDER"
    write_json("origin.json", {"command": command, "date": f"{datetime.now(UTC):%Y-%m-%d}", "versions": versions})


if __name__ == "__main__":
    main()
