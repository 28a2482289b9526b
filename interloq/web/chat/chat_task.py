# SPDX-License-Identifier: Apache-2.0
"""Tasks of kind chat: the bots to talk to, topics, and the questions after a conversation.

`options` of the settings: {"bots": {"a": "eliza", "b": "echo"}, "topics": ["Travel"], "first": "Hi!", "replies":
[questions about each reply], "costs": {"a": 0.01}, "limits": {"person": {"calls": 60, "cost": 1}}}, and the guesses of
`studies/questions.py`. Each bot is an item, or each bot with each topic, so `per_item` is the number of conversations.
The `questions` of the settings are asked about the whole conversation and, without `replies`, also about each reply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import product

from interloq.errors import InputError, nearest, short_repr
from interloq.play.schedule import check_name
from interloq.signature import fingerprint
from interloq.web.studies.items import StudyItem
from interloq.web.studies.questions import (
    LONGEST,
    OPTIONS,
    Question,
    StudyTask,
    guesses,
    is_number,
    questions_from_json,
    questions_to_chatter,
)

LIMITED = ("person", "task")  # who has limits of calls and costs
WHOLE = 0  # unit of answers about the whole conversation; other units are places of the bot's turns


@dataclass(frozen=True)
class Limit:
    """The most that may be spent on bots; without a number, there is no limit."""

    calls: float = math.inf
    cost: float = math.inf


NO_LIMIT = Limit()


@dataclass(frozen=True)
class ChatOptions:
    """Options of a chat, checked."""

    bots: Mapping[str, str]  # name of the system → spec
    topics: tuple[str, ...] = ()
    first: str = ""  # the person's first message, if it is given
    replies: tuple[Question, ...] = ()  # asked about each reply
    costs: Mapping[str, float] = field(default_factory=dict)  # of one call, at most, by the name of the bot
    limits: Mapping[str, Limit] = field(default_factory=dict)  # of each person, of the task


def chat_options(task: StudyTask) -> ChatOptions:
    """Return the options of a task of kind chat; unknown or unsuitable options are refused."""
    known = [*(option.name for option in fields(ChatOptions)), *OPTIONS]
    for name in task.options:
        if name not in known:
            raise InputError(f"a chat has no option {short_repr(name)}{nearest(str(name), known)}")
    replies, bots = task.options.get("replies"), _read_bots(task.options.get("bots"))
    asked = task.questions
    if replies is not None:
        asked = questions_from_json(replies)
    for question in asked:
        if question.control == "choice":
            raise InputError(f"{question.aspect!r} must be a likert scale or a slider in a chat")
    for questions in ([*task.questions, *questions_to_chatter(task)], asked):
        if len({question.aspect for question in questions}) < len(questions):
            raise InputError(f"two questions have the same aspect in the chat {task.name!r}")
    names = guesses(task).names
    if names is not None and names.keys() != bots.keys():
        what = f"which_bot must describe each bot, {', '.join(bots)}; it describes {', '.join(names)}"
        raise InputError(what)
    costs = _read_costs(task.options.get("costs", {}), bots)
    limits = _read_limits(task.options.get("limits", {}), has_costs=costs.keys() == bots.keys())
    topics, first = _read_topics(task.options.get("topics", [])), _read_first(task.options.get("first", ""))
    return ChatOptions(bots, topics, first, asked, costs, limits)


def _read_bots(bots: object) -> Mapping[str, str]:
    if not isinstance(bots, Mapping) or not bots or not all(isinstance(spec, str) for spec in bots.values()):
        hint = 'add "options": {"bots": {"a": "eliza", "b": "echo"}}'
        raise InputError(f"a chat needs bots, got {short_repr(bots)}", hint=hint)
    for name in bots:
        check_name(str(name))
    return {str(name): spec for name, spec in bots.items()}


def _read_topics(topics: object) -> tuple[str, ...]:
    if not isinstance(topics, list | tuple) or not all(isinstance(topic, str) and topic.strip() for topic in topics):
        raise InputError(f"topics must be a list of texts, got {short_repr(topics)}")
    if any(len(topic) > LONGEST for topic in topics):
        raise InputError(f"a topic has more than {LONGEST:,} characters")
    if len(set(topics)) < len(topics):
        raise InputError("two topics are the same")
    return tuple(topics)


def _read_first(first: object) -> str:
    if not isinstance(first, str) or len(first) > LONGEST or first != first.strip():
        what = f"first must be a text of at most {LONGEST:,} characters without white space around it"
        raise InputError(f"{what}, got {short_repr(first)}")
    return first


def _read_costs(costs: object, bots: Mapping[str, str]) -> Mapping[str, float]:
    if not isinstance(costs, Mapping) or not all(is_number(cost) and cost >= 0 for cost in costs.values()):
        raise InputError(f"costs must give each bot a number of at least 0, got {short_repr(costs)}")
    for name in costs:
        if name not in bots:
            raise InputError(f"costs name a bot that the chat does not have: {short_repr(name)}{nearest(name, bots)}")
    return {str(name): float(cost) for name, cost in costs.items()}


def _read_limits(settings: object, *, has_costs: bool) -> Mapping[str, Limit]:
    """Read the limits of each person and of the task."""
    if not isinstance(settings, Mapping) or not settings.keys() <= set(LIMITED):
        raise InputError(f"limits must be an object with person or task, got {short_repr(settings)}")
    limits = {}
    for name, limit in settings.items():
        numbers = limit.values() if isinstance(limit, Mapping) else ()
        if not numbers or not limit.keys() <= {"calls", "cost"} or not all(is_number(n) and n > 0 for n in numbers):
            what = f"the limit of {name} must have calls or cost, as numbers above 0, got {short_repr(limit)}"
            raise InputError(what, hint='such as {"calls": 100}')
        if "cost" in limit and not has_costs:
            raise InputError("a limit of cost needs the costs of all bots", hint='add "costs": {"bot": 0.01}')
        limits[str(name)] = Limit(**limit)
    return limits


def chat_items(task: StudyTask) -> list[StudyItem]:
    """Return one item per bot, or per bot and topic. Nobody talks twice with a bot about a topic."""
    options = chat_options(task)
    items = []
    for topic, (name, spec) in product(options.topics or ("",), options.bots.items()):
        shown = {"context": [], "units": [{}], "topic": topic}
        hidden = {"kind": "chat", "spec": spec, "units": [{"id": topic or name, "system": name, "record": {}}]}
        items.append(StudyItem(fingerprint("chat", name, topic), shown, hidden))
    return items


def questions_after(task: StudyTask, places: Iterable[int]) -> list[tuple[int, Question]]:
    """Return the questions after a conversation: about the replies at these places, then about the whole."""
    options = chat_options(task)
    about_replies = product(places, options.replies)
    about_whole = product([WHOLE], [*task.questions, *questions_to_chatter(task)])
    return [*about_replies, *about_whole]
