# SPDX-License-Identifier: Apache-2.0
"""LLM judge: a language model rates the reply, or a speaker in a whole dialogue, on the scale of a rubric.

expected   score = Σ s · p(s | prompt) / Σ p(s | prompt),  s the possible scores, p of the answer's first token
sampled    score = mean over n answers; each is a JSON object with one whole number per dimension

The expectation over score tokens follows G-Eval (Liu et al., 2023); the prompts are our own, without its generated
evaluation steps. A local language model is never asked to write: only the probabilities of the possible scores are
read. Otherwise the model is behind a server with OpenAI's `/chat/completions`. A server that does not return
log-probabilities is refused in mode 'expected'; the mode never changes by itself. With `rubric='auto'`, the language of
the context determines the prompt, so all replies to a context are judged with the same prompt. An empty reply has the
lowest score and is not sent. With `of='dialogue'` each sample is a whole dialogue (see rubrics).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2
from statistics import fmean
from typing import Annotated, Any, Literal

import numpy as np

from interloq.data.text.language import supported_language
from interloq.errors import MissingDependencyError, SpecError, count
from interloq.metrics.likelihood.fed import SCORER, context
from interloq.metrics.llm_judge.judge_moments import COLUMNS, figures, format_figures, moments, rating_of
from interloq.metrics.llm_judge.rubrics import (
    LANGUAGES,
    Excerpt,
    Rubric,
    Schema,
    Unit,
    dialogue_json,
    join_judged_turns,
    read_choice,
    read_object,
    read_rubric,
    response_format,
    transcript,
    unjudgable,
)
from interloq.metrics.metric import Array, Metric
from interloq.models.loaded import load_model
from interloq.needs import LANGUAGE_MODEL, Needs
from interloq.play.bots.endpoint import DEFAULT_KEY, Endpoint, list_urls
from interloq.play.samples import JUDGED
from interloq.records import Sample
from interloq.servers.spending import Price, check_price
from interloq.signature import NETWORK, fingerprint
from interloq.trust import names_download

Mode = Literal["expected", "sampled"]
Values = tuple[float, ...]  # one number per possible answer or dimension
AUTO = "auto"
ATTEMPTS = 3  # at an answer that fits the schema
MOST = 20  # candidates for a token: servers return no more
CUT = ("cut_replies", "cut_contexts")  # counted in `details`
TOKENS = 8192  # that a local model reads, at most


@dataclass(frozen=True)
class LlmJudge(Metric, name="llm_judge"):
    """Rating of the reply or dialogue by a language model that is told what to look for."""

    papers = ("liu-etal-2023-g",)
    needs = Needs(
        fields={"model": f"{LANGUAGE_MODEL}; or, with endpoint='http://…/v1', the model's name there"},
        extra="endpoint|encoder",
    )
    places = ("model", "endpoint", "rubric")
    immaterial = ("key", "concurrency", "timeout", "retries", "rate", "price")
    model: Annotated[str, "a folder, a package, or `hub:org/name@revision`; with `endpoint`, the model's name there"]
    endpoint: Annotated[
        str | tuple[str, ...],
        "address of a chat server, up to `/v1`, or a tuple of those of several servers; empty: the model is local",
    ] = ""
    rubric: Annotated[str, "`auto` (by the context's script), `en`, `ja`, `zh`, or your own JSON file"] = AUTO
    of: Annotated[Unit, "what is rated: replies, or the judged system in whole dialogues"] = "reply"
    dimension: Annotated[str, "quality to rate, a dimension of the rubric"] = "overall"
    ask: Annotated[tuple[str, ...], "dimensions rated in one answer; empty: only `dimension`; for `'sampled'`"] = ()
    mode: Annotated[Mode, "expectation over the probabilities of scores, or mean of written answers"] = "expected"
    n: Annotated[int, "answers per reply, each with its own seed; above 1, their reliability is reported"] = 1
    seed: Annotated[int, "sent with each request, unless the model refuses it"] = 0
    temperature: Annotated[float, "sent with each request, unless the model refuses it"] = 1.0
    max_tokens: Annotated[int, "tokens per answer, at most; for `'sampled'`"] = 256
    reasoning_tokens: Annotated[
        int, "further tokens per answer, if the server counts reasoning (`max_completion_tokens`); for `'sampled'`"
    ] = 4096
    send_schema: Annotated[bool, "send the JSON schema of answers; some servers refuse it; for `'sampled'`"] = True
    layout: Annotated[Literal["chat", "lines"], "of a local model's prompt: its chat template, or plain text"] = "chat"
    longest: Annotated[
        int, "most bytes of context and reply, longer ones are shortened with a note; longer dialogues are unscored"
    ] = 8000
    key: Annotated[str, "environment variable that contains the server's key; `''`: none"] = DEFAULT_KEY
    concurrency: Annotated[int, "concurrent requests per server"] = 8
    timeout: Annotated[float, "seconds for one request"] = 60.0
    retries: Annotated[int, "further attempts after a failed request"] = 5
    rate: Annotated[float, "requests per minute and server; 0: no limit"] = 0.0
    price: Annotated[tuple[float, ...], "price per million tokens, input and output; empty: unknown"] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.endpoint and (self.mode, self.n) != ("expected", 1):
            raise SpecError("llm_judge: a local model has mode='expected' and n=1; for others, give an endpoint")
        if min(self.n, self.max_tokens, self.longest) < 1 or min(self.temperature, self.reasoning_tokens) < 0:
            raise SpecError(
                "llm_judge: n, max_tokens and longest must be at least 1, temperature and reasoning_tokens at least 0"
            )
        if not isinstance(self.ask, tuple) or not all(isinstance(name, str) for name in self.ask):
            raise SpecError(f"llm_judge: ask must be dimensions, such as ('overall','natural'), got {self.ask!r}")
        if self.ask and (self.mode == "expected" or self.dimension not in self.ask):
            raise SpecError(f"llm_judge: ask needs mode='sampled' and must contain the dimension {self.dimension!r}")
        check_price(self.price, "llm_judge")
        if self.endpoint:
            self._bot()

    @property
    def libraries(self) -> tuple[str, ...]:
        """Packages that run a local model."""
        return () if self.endpoint else NETWORK

    @property
    def side_effect(self) -> str:
        """Text that names the server it sends samples to, or the model it downloads."""
        if not self.endpoint:
            return names_download(self.model)
        key = f" with the key in {self.key}" if self.key else ""
        return f"sends samples to {self._bot().where}{key}"

    @property
    def key_variable(self) -> str:
        """The environment variable whose value it sends."""
        return self.key if self.endpoint else ""

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest score, for weights of references (see score/by.py)."""
        return self._rubrics[0].lowest, self._rubrics[0].highest

    def built_with(self) -> str:
        prompt = f"prompt-{fingerprint(*(rubric.fingerprint() for rubric in self._rubrics))},language-{self._language}"
        if self.endpoint:
            for name in self._left_out:
                prompt += f",without-{name}"
            return f"{self.model} at {','.join(sorted(list_urls(self.endpoint)))},weights-unknown,{prompt}"
        return f"{self._local.signature()},{prompt}"

    def unscorable(self, sample: Sample) -> str | None:
        if self.of == "reply":  # any reply can be judged
            return None
        return unjudgable(sample, self.longest)

    def stats(self, samples: Sequence[Sample]) -> Array:
        judgments = self._judge(samples, self._values)
        rows = [self._row(sample, values) for sample, values in zip(samples, judgments, strict=True)]
        return np.array(rows, dtype=np.float64).reshape(len(samples), self._width)

    def failures(self, samples: Sequence[Sample]) -> list[str]:
        """Return why samples have no score although they were sent to the server, "" for the others; send nothing."""
        judgments = self._judge(samples, lambda prompts: self._values(prompts, again=False))
        return [judgment if isinstance(judgment, str) else "" for judgment in judgments]

    def details(self, total: Array) -> dict[str, float]:
        """Return how far to trust the scores (see judge_moments.py), and the means of all requested dimensions."""
        numbers = figures(total[2 : 2 + COLUMNS])
        for name, n in zip(CUT, total[2 + COLUMNS :], strict=False):
            if n:
                numbers[name] = float(n)
        if self.ask:
            means = total[2 + COLUMNS + len(CUT) :] / total[1]
            numbers |= dict(zip(self._asked, means.tolist(), strict=True))
        return numbers

    def remark(self, total: Array) -> str:
        """Return the figures of `details` in words, what was shortened, and what the model does not accept."""
        text = format_figures(figures(total[2 : 2 + COLUMNS]), noun=self.of, deterministic=not self.endpoint)
        cut = [int(n) for n in total[2 + COLUMNS : 2 + COLUMNS + len(CUT)]]
        return "; ".join([text, *self.caveats(*cut)])

    def caveats(self, replies: int, contexts: int) -> list[str]:
        """Return what a reader must know beside the figures: shortened replies and contexts, omitted parameters."""
        caveats, shortened = [], []
        if replies:
            shortened.append(count(replies, "reply", "replies"))
        if contexts:
            shortened.append(count(contexts, "context"))
        if shortened:
            caveats.append(f"{' and '.join(shortened)} shortened: raise longest={self.longest} to judge them whole")
        if self.endpoint and self._left_out:
            caveats.append(f"the model does not accept {' and '.join(self._left_out)}, so a second run can differ")
        return caveats

    def choose(self, prompts: Sequence[str], choices: Sequence[str], *, again: bool = True) -> list[list[Values] | str]:
        """Return the probabilities of possible answers in each of n runs, or the reason why there are none.

        With `again=False` only answers that were already given are read.
        """
        if not self.endpoint:
            return [[tuple(row)] for row in self._probabilities(prompts, choices).tolist()]
        options = {"max_tokens": 1, "logprobs": True, "top_logprobs": MOST}
        return self._ask(prompts, options, lambda answer: self._read_choice(answer, choices), again, attempts=1)

    def write(self, prompts: Sequence[str], schema: Schema, *, again: bool = True) -> list[list[tuple[Any, ...]] | str]:
        """Return the values of each key of the schema, which lists those allowed, in each of n written answers."""
        options: dict[str, Any] = {"max_tokens": self.max_tokens}
        if self.send_schema:
            options["response_format"] = response_format(schema)
        return self._ask(prompts, options, lambda answer: read_object(answer.text, schema), again, attempts=ATTEMPTS)

    def rubric_for(self, sample: Sample) -> Rubric:
        """Return the rubric for the language of the sample's context, English without a context.

        The judged replies do not decide, so that all systems that answer a context get the same prompt.
        """
        if self.rubric != AUTO:
            return self._rubrics[0]
        turns = [turn.text for turn in sample.context if self.of == "reply" or turn.speaker != JUDGED]
        return self._rubrics[LANGUAGES.index(supported_language(" ".join(turns), LANGUAGES))]

    def excerpt(self, sample: Sample, replies: Mapping[str, str]) -> Excerpt:
        """Return context and replies as the judge reads them."""
        return dialogue_json(context(sample), replies, longest=self.longest)

    @property
    def _asked(self) -> tuple[str, ...]:
        return self.ask or (self.dimension,)

    @property
    def _width(self) -> int:
        return 2 + COLUMNS + len(CUT) + len(self._asked)

    @property
    def _language(self) -> str:
        """How the prompt's language is chosen, for the signature."""
        if self.rubric == AUTO:
            return "of-context"
        return self.rubric if self.rubric in LANGUAGES else "own"

    @property
    def _left_out(self) -> tuple[str, ...]:
        """Parameters that the model is known not to accept."""
        if "_server" not in vars(self):
            return ()
        return tuple(sorted(self._server.left_out))

    @cached_property
    def _rubrics(self) -> tuple[Rubric, ...]:
        names = LANGUAGES if self.rubric == AUTO else (self.rubric,)
        prompt = "single" if self.mode == "expected" else "several"
        rubrics = tuple(read_rubric(name, self.of) for name in names)
        for rubric in rubrics:
            rubric.check(prompt, self._asked)
        return rubrics

    def _judge(self, samples: Sequence[Sample], values: Callable[[list[str]], list[Any]]) -> list[Any]:
        """Return the values of each sample's prompt; None for an empty reply."""
        texts = [self._judged_text(sample).strip() for sample in samples]
        prompts = [self._prompt(sample) for sample, text in zip(samples, texts, strict=True) if text]
        judgments = iter(values(prompts))
        return [next(judgments) if text else None for text in texts]

    def _judged_text(self, sample: Sample) -> str:
        return join_judged_turns(sample) if self.of == "dialogue" else sample.response

    def _prompt(self, sample: Sample) -> str:
        rubric = self.rubric_for(sample)
        if self.of == "dialogue":
            dialogue = transcript(sample)
        else:
            dialogue = self.excerpt(sample, {"reply": sample.response}).text
        if self.mode == "expected":
            return rubric.single(self.dimension, dialogue)
        return rubric.several(self._asked, dialogue)

    def _values(self, prompts: list[str], *, again: bool = True) -> list[list[Values] | str]:
        rubric = self._rubrics[0]
        if self.mode == "expected":
            return self.choose(prompts, rubric.choices, again=again)
        allowed: list[Any] = list(range(rubric.lowest, rubric.highest + 1))
        return self.write(prompts, dict.fromkeys(self._asked, allowed), again=again)

    def _row(self, sample: Sample, runs: list[Values] | str | None) -> list[float]:
        """Return [score, 1, moments, what was cut, one column per dimension]; NaN for a failed request."""
        if isinstance(runs, str):
            return [math.nan] * self._width
        lowest = float(self.scale[0])
        if runs is None:
            return [lowest, 1.0, *[0.0] * (COLUMNS + len(CUT)), *[lowest] * len(self._asked)]
        mass = 1.0
        if self.mode == "expected":
            mass = fmean(map(sum, runs))
            runs = [(self._expectation(values),) for values in runs]
        means = list(map(fmean, zip(*runs, strict=True)))
        place = self._asked.index(self.dimension)
        return [
            means[place],
            1.0,
            *moments(
                log2(1 + len(self._judged_text(sample))),
                [values[place] for values in runs],
                rating_of(sample, self.dimension),
                mass,
            ),
            *self._cut(sample),
            *means,
        ]

    def _cut(self, sample: Sample) -> tuple[float, float]:
        """Return whether the reply and the context were shortened; dialogues never are."""
        if self.of == "dialogue":
            return 0.0, 0.0
        excerpt = self.excerpt(sample, {"reply": sample.response})
        return float(excerpt.replies_cut), float(excerpt.context_cut)

    def _expectation(self, probabilities: Values) -> float:
        low = int(self.scale[0])
        return sum((low + i) * p for i, p in enumerate(probabilities)) / sum(probabilities)

    @property
    def _local(self) -> Any:
        return load_model("metric 'llm_judge'", SCORER, self.model, longest=TOKENS)

    def _probabilities(self, prompts: Sequence[str], choices: Sequence[str]) -> Array:
        if not prompts:
            return np.zeros((0, len(choices)))
        model = self._local.model
        from interloq.models.lm.dialogue_scorer import choice_probabilities

        return choice_probabilities(model, prompts, choices, layout=self.layout)

    def _bot(self) -> Endpoint:
        return Endpoint(
            self.endpoint,
            self.model,
            key=self.key,
            concurrency=self.concurrency,
            timeout=self.timeout,
            retries=self.retries,
            rate=self.rate,
        )

    @cached_property
    def _server(self) -> Any:
        try:
            from interloq.metrics.llm_judge.judge_server import JudgeServer
        except ImportError as error:
            raise MissingDependencyError("llm_judge with an endpoint", error.name or "httpx", "endpoint") from error
        price: Price | None = (self.price[0], self.price[1]) if self.price else None
        reasoning_tokens = self.reasoning_tokens if self.mode == "sampled" else 0
        return JudgeServer(self._bot(), price, reasoning_tokens=reasoning_tokens)

    def _ask(
        self,
        prompts: Sequence[str],
        options: dict[str, Any],
        read: Callable[[Any], tuple[Any, ...] | str],
        again: bool,
        *,
        attempts: int,
    ) -> list[Any]:
        """Return what `read` makes of the n answers to each prompt, or the first reason why there is none."""
        bodies = [self._body(prompt, run) | options for prompt in prompts for run in range(self.n)]

        def refusal(answer: Any) -> str:
            content = read(answer)
            return content if isinstance(content, str) else ""

        server = self._server
        answers = server.answers(bodies, refusal, attempts=attempts) if again else server.known_answers(bodies)
        contents = [answer if isinstance(answer, str) else read(answer) for answer in answers]
        judgments: list[Any] = []
        for start in range(0, len(contents), self.n):
            runs = contents[start : start + self.n]
            failures = [content for content in runs if isinstance(content, str)]
            judgments.append(failures[0] if failures else runs)
        return judgments

    def _body(self, prompt: str, run: int) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt}]
        seed = (self.seed + run) % 2**31
        return {"model": self.model, "messages": messages, "temperature": self.temperature, "seed": seed}

    def _read_choice(self, answer: Any, choices: Sequence[str]) -> Values | str:
        if not answer.candidates:
            if not self._server.works:
                from interloq.metrics.llm_judge.judge_server import no_log_probabilities

                raise no_log_probabilities(self._bot().where)
            return "the answer has no log-probabilities"
        return read_choice(answer.candidates, choices)
