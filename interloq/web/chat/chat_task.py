# SPDX-License-Identifier: Apache-2.0
"""Tasks of kind chat: the bots to talk to, topics, and the questions after a conversation.

`options` of the settings: {"bots": {"a": "eliza", "b": "echo"}, "topics": ["Travel"], "replies": [questions about each
reply], "costs": {"a": 0.01}, "limits": {"person": {"calls": 60, "cost": 1}}}, and the guesses of
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
    replies: tuple[Question, ...] = ()  # asked about each reply
    costs: Mapping[str, float] = field(default_factory=dict)  # of one call, at most, by the name of the bot
    limits: Mapping[str, Limit] = field(default_factory=dict)  # of each person, of the task


def chat_options(task: StudyTask) -> ChatOptions:
    """Return the options of a task of kind chat; unknown or unsuitable ones are refused."""
    known = [*(one.name for one in fields(ChatOptions)), *OPTIONS]
    for name in task.options:
        if name not in known:
            raise InputError(f"a chat has no option {short_repr(name)}{nearest(str(name), known)}")
    replies, bots = task.options.get("replies"), _bots(task.options.get("bots"))
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
    costs = _costs(task.options.get("costs", {}), bots)
    limits = _limits(task.options.get("limits", {}), has_costs=costs.keys() == bots.keys())
    return ChatOptions(bots, _topics(task.options.get("topics", [])), asked, costs, limits)


def _bots(given: object) -> Mapping[str, str]:
    if not isinstance(given, Mapping) or not given or not all(isinstance(one, str) for one in given.values()):
        hint = 'add "options": {"bots": {"a": "eliza", "b": "echo"}}'
        raise InputError(f"a chat needs bots, got {short_repr(given)}", hint=hint)
    for name in given:
        check_name(str(name))
    return {str(name): spec for name, spec in given.items()}


def _topics(given: object) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) and one.strip() for one in given):
        raise InputError(f"topics must be a list of texts, got {short_repr(given)}")
    if any(len(one) > LONGEST for one in given):
        raise InputError(f"a topic has more than {LONGEST:,} characters")
    if len(set(given)) < len(given):
        raise InputError("two topics are the same")
    return tuple(given)


def _costs(given: object, bots: Mapping[str, str]) -> Mapping[str, float]:
    if not isinstance(given, Mapping) or not all(is_number(cost) and cost >= 0 for cost in given.values()):
        raise InputError(f"costs must give each bot a number of at least 0, got {short_repr(given)}")
    for name in given:
        if name not in bots:
            raise InputError(f"costs name a bot that the chat does not have: {short_repr(name)}{nearest(name, bots)}")
    return {str(name): float(cost) for name, cost in given.items()}


def _limits(given: object, *, has_costs: bool) -> Mapping[str, Limit]:
    """Read the limits of each person and of the task."""
    if not isinstance(given, Mapping) or not given.keys() <= set(LIMITED):
        raise InputError(f"limits must be an object with person or task, got {short_repr(given)}")
    limits = {}
    for name, limit in given.items():
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
