# SPDX-License-Identifier: Apache-2.0
"""Judged turns in train, dev and test: limits per user, and splits by time, by user or along each dialogue.

`time` puts the latest dialogues of all users into test, as the paper does; `own-time` does so for each user, so that
every user is tested; `user` holds out users, so that no user of test is in train. No dialogue is in two parts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

from interloq.data.corpus.clean import NO_TIME
from interloq.data.corpus.split import PARTS
from interloq.data.corpus.times import microseconds
from interloq.data.records.dialogue_names import name_dialogues
from interloq.errors import InputError
from interloq.records import Dialogue, Sample
from interloq.scorers.interlocutor.continuity_labels import JudgedTurn, SampleSelection, end, start
from interloq.signature import fingerprint

CROSSING, WITHOUT_TIME = "turns_crossing_parts", "turns_without_time"  # of no part


def select_parts(
    judged: Sequence[JudgedTurn], selection: SampleSelection, dropped: Counter[str]
) -> dict[str, list[JudgedTurn]]:
    """Apply the limits per user, split into train, dev and test, and draw to the wanted share of answered replies."""
    if selection.counts_training():
        parts = _limit_in_training(judged, selection, dropped)
    else:
        parts = split(limit_conversations(judged, selection, dropped), selection, dropped)
    for part, turns in parts.items():
        if selection.balance and turns and (part != PARTS[0] or selection.balanced == "all"):
            parts[part] = balance(turns, selection, part)
            dropped["turns_over_the_balance"] += len(turns) - len(parts[part])
    return parts


def limit_conversations(
    judged: Sequence[JudgedTurn], selection: SampleSelection, dropped: Counter[str]
) -> list[JudgedTurn]:
    """Return the turns judged by users with enough conversations, from at most `max_conversations` each.

    Turns with an unknown judge are kept: a model without users can learn from them.
    """
    allowed = _choose_users(conversations_by_user(judged), selection, dropped)
    within_limits = [each for each in judged if not each.user or each.dialogue.id in allowed.get(each.user, ())]
    dropped["turns_over_the_limits"] += len(judged) - len(within_limits)
    return within_limits


def _limit_in_training(
    judged: Sequence[JudgedTurn], selection: SampleSelection, dropped: Counter[str]
) -> dict[str, list[JudgedTurn]]:
    """Return parts in which every user has enough conversations in train, where at most `max_conversations` are used.

    Users who have too few in all parts together are dropped first, so that they do not move the borders.
    """
    conversations = conversations_by_user(judged)
    few = {user for user, ids in conversations.items() if len(ids) < selection.min_conversations}
    parts = split([each for each in judged if each.user not in few], selection, dropped)
    trained = conversations_by_user(parts["train"])
    counted = {user: trained.get(user, set()) for user in conversations}
    allowed = _choose_users(counted, selection, dropped)
    within_limits: dict[str, list[JudgedTurn]] = {part: [] for part in PARTS}
    for part, turns in parts.items():
        for each in turns:
            is_used = each.user in allowed and (part != "train" or each.dialogue.id in allowed[each.user])
            if is_used or not each.user:
                within_limits[part].append(each)
    before = sum(each.user in few for each in judged) + sum(map(len, parts.values()))
    dropped["turns_over_the_limits"] += before - sum(map(len, within_limits.values()))
    return within_limits


def _choose_users(
    conversations: Mapping[str, set[str]], selection: SampleSelection, dropped: Counter[str]
) -> dict[str, frozenset[str]]:
    """Return the users with enough conversations, or as many as are drawn of them, with those that are used."""
    enough = [user for user, ids in conversations.items() if len(ids) >= selection.min_conversations]
    dropped["users_with_few_conversations"] += len(conversations) - len(enough)
    if len(enough) < selection.draw_users:
        what = f"{selection.draw_users:,} users were asked for, but only {len(enough):,} have enough conversations"
        raise InputError(what, hint="draw fewer users (--draw-users), or lower --min-conversations")
    if selection.draw_users:
        dropped["users_not_drawn"] += len(enough) - selection.draw_users
        enough.sort(key=lambda user: (_random(selection.seed, *sorted(conversations[user])), user))
        enough = enough[: selection.draw_users]
    return {user: _draw(conversations[user], selection) for user in enough}


def balance(turns: Sequence[JudgedTurn], selection: SampleSelection, part: str = "all") -> list[JudgedTurn]:
    """Return turns of which the wanted share was answered: all of one class, and some of the other drawn at random."""
    by_label: dict[bool, list[JudgedTurn]] = {True: [], False: []}
    for each in turns:
        by_label[each.replied is True].append(each)
    answered, last = len(by_label[True]), len(by_label[False])
    if not (answered and last):
        what = f"no reply in {part} was left unanswered" if answered else f"no reply in {part} was answered"
        raise InputError(f"{what}, so {part} cannot be balanced", hint="omit --balance, or change the parts")
    wanted = selection.balance / (1 - selection.balance)  # answered replies per unanswered one
    sizes = {True: min(answered, round(last * wanted)), False: last}
    if answered < round(last * wanted):
        sizes[False] = round(answered / wanted)
    kept = set[tuple[str, int]]()
    for label, size in sizes.items():
        ordered = sorted(by_label[label], key=lambda each: _draw_order(each, selection.seed))
        kept |= {(each.dialogue.id, each.turn) for each in ordered[:size]}
    return [each for each in turns if (each.dialogue.id, each.turn) in kept]


def _draw_order(each: JudgedTurn, seed: int) -> tuple[str, ...]:
    id = f"{each.dialogue.id}#{each.turn}"
    names = (str(seed), id) if seed else (id,)  # seed 0 draws the samples of the measured figures
    return fingerprint(*names), id


def conversations_by_user(judged: Iterable[JudgedTurn]) -> dict[str, set[str]]:
    """Return, for each user, the ids of the dialogues that they had with somebody else."""
    conversations = defaultdict[str, set[str]](set)
    for dialogue in _dialogues(judged):
        speakers = {turn.speaker for turn in dialogue.turns}
        if len(speakers) > 1:
            for user in speakers - dialogue.systems.keys():
                conversations[user].add(dialogue.id)
    return dict(conversations)


def _dialogues(judged: Iterable[JudgedTurn]) -> Iterable[Dialogue]:
    return {each.dialogue.id: each.dialogue for each in judged}.values()


def _draw(ids: set[str], selection: SampleSelection) -> frozenset[str]:
    """Draw at most `max_conversations` at random; neither their order nor names of users matter."""
    if not selection.max_conversations:
        return frozenset(ids)
    ordered = sorted(ids, key=lambda dialogue: (_random(selection.seed, dialogue), dialogue))
    return frozenset(ordered[: selection.max_conversations])


def _random(seed: int, *names: str) -> float:
    """Return a number from 0 to 1 that depends only on the seed and the names."""
    data = "\0".join((str(seed), *names)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest()) / 2**64


def split(
    judged: Sequence[JudgedTurn], selection: SampleSelection, dropped: Counter[str]
) -> dict[str, list[JudgedTurn]]:
    """Split into train, dev and test. Turns that fit no part are dropped and counted."""
    if not judged:
        return {part: [] for part in PARTS}
    part_of = {"time": _by_time, "own-time": _by_own_time, "user": _by_user}[selection.by](judged, selection)
    parts: dict[str, list[JudgedTurn]] = {part: [] for part in PARTS}
    for each in judged:
        part = part_of(each)
        if part in parts:
            parts[part].append(each)
        else:
            dropped[part] += 1
    return parts


def _by_time(judged: Sequence[JudgedTurn], selection: SampleSelection) -> Callable[[JudgedTurn], str]:
    """Put the latest dialogues in test; a dialogue that starts in one part and ends in another fits none."""
    borders = [microseconds(date) for date in (selection.dev_from, selection.test_from) if date]
    starts = sorted(_start_times(judged).values())
    for share in () if borders else (1 - selection.dev - selection.test, 1 - selection.test):
        n = round(share * len(starts))
        borders.append(starts[n] if n < len(starts) else starts[-1] + 1)

    def part(each: JudgedTurn) -> str:
        first, last = start(each.dialogue), end(each.dialogue)
        if first == NO_TIME:
            return WITHOUT_TIME
        place = bisect_right(borders, first)
        if place != bisect_right(borders, last):
            return CROSSING
        return PARTS[place]

    return part


def _by_own_time(judged: Sequence[JudgedTurn], selection: SampleSelection) -> Callable[[JudgedTurn], str]:
    """Put the latest dialogues of each judge in test; a dialogue of two judges belongs to the later part of the two."""
    timed, by_user = _start_times(judged), defaultdict[str, set[str]](set)
    for each in judged:
        if each.dialogue.id in timed:
            by_user[each.user].add(each.dialogue.id)
    latest: dict[str, int] = {}
    for ids in by_user.values():
        for i, id in enumerate(sorted(ids, key=lambda id_: (timed[id_], id_))):
            latest[id] = max(latest.get(id, 0), _place(i, len(ids), selection))
    return lambda each: PARTS[latest[each.dialogue.id]] if each.dialogue.id in latest else WITHOUT_TIME


def _start_times(judged: Sequence[JudgedTurn]) -> dict[str, int]:
    """Return when each dialogue started, for those with times."""
    starts: dict[str, int] = {}
    for dialogue in _dialogues(judged):
        time = start(dialogue)
        if time != NO_TIME:
            starts[dialogue.id] = time
    if judged and not starts:
        raise InputError("no dialogue has times", hint="split by user instead (by='user', --by user)")
    return starts


def _by_user(judged: Sequence[JudgedTurn], selection: SampleSelection) -> Callable[[JudgedTurn], str]:
    """Split by judge. A dialogue of two judges belongs to the later part; turns judged by the other belong to none."""
    conversations = conversations_by_user(judged)
    judges = {each.user for each in judged} - {""}
    order = sorted(judges, key=lambda user: (_random(selection.seed, *sorted(conversations[user])), user))
    place = {user: _place(i, len(order), selection) for i, user in enumerate(order)}

    def part(each: JudgedTurn) -> str:
        latest = 0
        for turn in each.dialogue.turns:
            latest = max(latest, place.get(turn.speaker, 0))
        if place.get(each.user, latest) != latest:
            return CROSSING
        return PARTS[latest]

    return part


def along(samples: Iterable[Sample], selection: SampleSelection) -> dict[str, list[Sample]]:
    """Cut each dialogue along its course: its first turns in train, the next in dev, the last in test.

    Samples whose dialogue is unknown are cut together.
    """
    courses = defaultdict[str, list[Sample]](list)
    for sample in name_dialogues(list(samples)):
        courses[sample.dialogue].append(sample)
    parts: dict[str, list[Sample]] = {part: [] for part in PARTS}
    for course in courses.values():
        ordered = sorted(course, key=lambda sample: len(sample.context))
        for i, sample in enumerate(ordered):
            parts[PARTS[_place(i, len(ordered), selection)]].append(sample)
    return parts


def _place(i: int, n: int, selection: SampleSelection) -> int:
    """Return the number of the part of the i-th of n."""
    first_dev, first_test = round((1 - selection.dev - selection.test) * n), round((1 - selection.test) * n)
    return (i >= first_dev) + (i >= first_test)
