"""Pairs of an earlier turn and a reply, made from permissive logs: some of the replies contradict the earlier turn.

A statement of a log is changed by the rules of contradiction_sentences.py, and hand-written statements about people are
joined as contradiction_facts.py says. For each way to make a contradiction there are pairs that look the same and do
not contradict: both turns negated, the other person's statement, a statement about something else, the same in other
words, another value where both may be true. So no word alone tells the answer. True pairs of the logs contradict
nothing.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contradiction_facts import HELD_OUT_TOPICS, TOPICS, Topic, sentences_of
from contradiction_sentences import (
    JOBS,
    NO,
    NUMBERS,
    RELATIVES,
    RELATIVES_SHORT,
    YES,
    ask,
    emphasise,
    is_about_self,
    is_negative,
    is_statement,
    negate,
    oppose,
    reword,
    sentences,
    swap,
    turn_person,
)

from interloq.data.files.opening import lines
from interloq.scorers.contradiction.turn_pairs import TurnPair

LOGS = (
    *("self_dialogue", "byu_chitchat", "personachat", "synthetic_persona_chat", "topical_chat", "casino"),
    "persuasion",
)
SELF_DIALOGUE, THINNING = "self_dialogue", 3  # one person wrote both sides, and it is half of all: every third is used
PARTS = 50  # one in PARTS dialogues is for dev, another one for testing
FACT_PAIRS = {"train": 60_000, "dev": 1_000, "test": 4_000}
PERSONA_PAIRS = 6_000
TRUE_PAIRS = 5  # per dialogue
MANY = 8  # attempts at a pair that fits
BOTH_TRUE = re.compile(r"\b(like|love|enjoy|have a|play|eat|ate|went|watch|saw|visit|bought)\b", re.I)
# with one of these, another value may or may not contradict
DOUBTFUL = re.compile(rf"\d|\bonly\b|\b({'|'.join([*JOBS, *RELATIVES, *RELATIVES_SHORT, *NUMBERS])})\b", re.I)
PREFIXES = (
    *("", "", "", "well , ", "yeah , ", "oh , ", "actually , ", "to be honest , ", "you know , ", "no , ", "and "),
    *("as i said , ", "i told you , ", "i think ", "hmm , ", "lol , ", "sorry , ", "yes , ", "nice . "),
)
HELD_OUT_PREFIXES = (
    "the truth is that ",
    "i must admit that ",
    "for what it's worth , ",
    "by the way , ",
    "honestly , ",
)
CLAIMS = ("so ", "you said ", "wait , ", "", "oh , so ", "i heard that ", "cool that ", "right , ")
HELD_OUT_CLAIMS = ("if i got it right , ", "didn't you say that ", "i remember that ")
SUFFIXES = ("", "", "", "", " what about you ?", " and you ?", " how about you ?", " do you ?", " haha", " :)")


@dataclass(frozen=True, slots=True)
class MadePair:
    """A pair with its label: 1 if the reply contradicts the earlier turn. `kind` says how it was made."""

    pair: TurnPair
    label: int
    kind: str
    part: str


@dataclass(frozen=True, slots=True)
class Talk:
    """A dialogue of a log: texts, and whether each is of the first speaker; what is known about the second one."""

    id: str
    log: str
    texts: tuple[str, ...]
    first: tuple[bool, ...]
    personas: tuple[str, ...]

    @property
    def part(self) -> str:
        """The part that all of its pairs belong to."""
        place = zlib.crc32(self.id.encode()) % PARTS
        return {0: "dev", 1: "test"}.get(place, "train")


def read_talks(data: Path, excluded: frozenset[str]) -> Iterator[Talk]:
    """Yield the dialogues of the logs that share no longer turn with a test set."""
    for log in LOGS:
        for _, line in lines(data / "logs" / f"{log}.jsonl.xz"):
            talk = json.loads(line)
            name = f"{log}/{talk['id']}"
            if log == SELF_DIALOGUE and zlib.crc32(name.encode()) // PARTS % THINNING:
                continue
            turns = [turn for turn in talk["turns"] if turn["text"].strip()]
            texts = tuple(" ".join(turn["text"].split()) for turn in turns)
            if len(texts) < 4 or any(normalise(text) in excluded for text in texts):
                continue
            first = tuple(turn["speaker"] == turns[0]["speaker"] for turn in turns)
            yield Talk(name, log, texts, first, tuple(_personas(talk)))


def normalise(text: str) -> str:
    """Return the letters of a text of six words or more; empty for shorter texts, which anyone may write."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return "".join(words) if len(words) >= 6 else "-"


def _personas(talk: dict[str, object]) -> Iterator[str]:
    for name in ("persona_a", "persona_b"):
        facts = talk.get(name, ())
        for fact in re.split(r"(?<=\.)\s+", facts) if isinstance(facts, str) else facts:  # type: ignore[attr-defined]
            if fact.strip():
                yield fact.strip()


def make_pairs(talks: Sequence[Talk], seed: int) -> Iterator[MadePair]:
    """Yield all pairs, those of the logs first."""
    for talk in talks:
        rng = random.Random(f"{seed}/{talk.id}")  # noqa: S311
        yield from true_pairs(talk, rng)
        yield from _changed_statements(talk, rng)
    rng = random.Random(seed)  # noqa: S311
    for part, number in FACT_PAIRS.items():
        own = [talk for talk in talks if talk.part == part]
        for _ in range(number):
            yield fact_pair(part, own, rng)
    yield from _persona_pairs(talks, rng)


# ---- pairs of the logs as they are -----------------------------------------------------------------------------------


def true_pairs(talk: Talk, rng: random.Random) -> Iterator[MadePair]:
    """Yield a few true pairs; replies with negations are preferred, because made contradictions have them."""
    places = list(range(1, len(talk.texts)))
    negative = [place for place in places if is_negative(talk.texts[place])]
    for number in range(TRUE_PAIRS):
        place = rng.choice(negative if number % 2 and negative else places)
        same = [i for i in range(place) if talk.first[i] == talk.first[place]]
        other = [i for i in range(place) if talk.first[i] != talk.first[place]]
        earlier = rng.choice(same if same and (rng.random() < 0.65 or not other) else other or same)
        yield MadePair(_real_pair(talk, earlier, place), 0, "true", talk.part)


def _real_pair(talk: Talk, earlier: int, reply: int) -> TurnPair:
    return TurnPair(
        talk.texts[earlier],
        talk.texts[reply],
        talk.first[earlier] == talk.first[reply],
        talk.texts[earlier - 1] if earlier else "",
        talk.texts[reply - 1] if earlier < reply - 1 else "",
    )


# ---- changed statements ----------------------------------------------------------------------------------------------


class _Statement:
    """A statement in a turn of a dialogue, and ways to put it or its opposite into a pair."""

    def __init__(self, talk: Talk, place: int, sentence: str, turn: str, rng: random.Random) -> None:
        self.talk, self.place, self.sentence, self.turn, self.rng = talk, place, sentence, turn, rng

    def earlier(self, sentence: str) -> str:
        """Return the earlier turn with this sentence in place of the statement, or the sentence alone."""
        if self.rng.random() < 0.3:
            return sentence
        return self.turn.replace(self.sentence, sentence, 1)

    def reply(self, sentence: str) -> str:
        """Return a reply with this sentence."""
        form = self.rng.random()
        if form < 0.25:
            return self.turn.replace(self.sentence, sentence, 1)
        if form < 0.55:
            return sentence
        if form < 0.8:
            prefixes = HELD_OUT_PREFIXES if self.talk.part == "test" else PREFIXES
            return self.rng.choice(prefixes) + sentence + self.rng.choice(SUFFIXES)
        later = self.rng.choice(sentences(self.other_turn()) or [""])
        parts = [sentence.rstrip(" .") + " .", later]
        if form < 0.9:
            parts.reverse()
        return " ".join(parts).strip()

    def other_turn(self) -> str:
        """Return another turn of the same speaker."""
        talk = self.talk
        same = [i for i in range(len(talk.texts)) if talk.first[i] == talk.first[self.place] and i != self.place]
        return talk.texts[self.rng.choice(same)] if same else ""

    def utterance(self) -> str:
        """Return a turn of the other speaker."""
        talk = self.talk
        others = [i for i in range(len(talk.texts)) if talk.first[i] != talk.first[self.place]]
        after = [i for i in others if i > self.place]
        places = after or others
        return talk.texts[self.rng.choice(places)] if places else ""

    def pair(self, earlier: str, reply: str, label: int, kind: str, *, same: bool = True) -> MadePair:
        """Return a pair in which the reply is some turns after the earlier turn."""
        before = self.talk.texts[self.place - 1] if self.place else ""
        utterance = self.utterance() if same or self.rng.random() < 0.4 else ""
        return MadePair(TurnPair(earlier, reply, same, before, utterance), label, kind, self.talk.part)


def _changed_statements(talk: Talk, rng: random.Random) -> Iterator[MadePair]:
    for statement in _choose_statements(talk, rng):
        opposite = negate(statement.sentence, rng)
        if opposite is None or opposite == statement.sentence:
            continue
        yield from _negated(statement, opposite, rng)
        yield from _other_words(statement, rng)
        yield from _between_people(statement, opposite, rng)
        yield from _answered(statement, opposite, rng)


def _choose_statements(talk: Talk, rng: random.Random) -> Iterator[_Statement]:
    """Yield one or two statements of a dialogue, preferably about the speaker, and one of a persona."""
    places = [
        (place, sentence)
        for place, text in enumerate(talk.texts)
        for sentence in sentences(text)
        if is_statement(sentence) and len(text.split()) <= 45
    ]
    about_self = [found for found in places if is_about_self(found[1])]
    chosen = []
    if about_self:
        chosen.append(rng.choice(about_self))
    if places and rng.random() < 0.6:
        chosen.append(rng.choice(places))
    for place, sentence in chosen:
        yield _Statement(talk, place, sentence, talk.texts[place], rng)
    facts = [fact for fact in talk.personas if is_statement(fact)]
    if facts:
        fact = rng.choice(facts)
        yield _Statement(talk, rng.randrange(len(talk.texts)), fact, fact, rng)


def _negated(statement: _Statement, opposite: str, rng: random.Random) -> Iterator[MadePair]:
    """Yield contradictions by negation, agreements with the same negations, and negations of something else."""
    sentence = statement.sentence
    again = negate(sentence, rng) or opposite
    emphasised = emphasise(sentence, rng) or reword(sentence, rng)
    yield statement.pair(statement.earlier(sentence), statement.reply(opposite), 1, "negated")
    yield statement.pair(statement.earlier(opposite), statement.reply(sentence), 1, "negated")
    yield statement.pair(statement.earlier(opposite), statement.reply(reword(again, rng)), 0, "both negated")
    same = rng.choice((emphasised, reword(sentence, rng), sentence))
    yield statement.pair(statement.earlier(sentence), statement.reply(same), 0, "repeated")
    if other := statement.other_turn():
        reply = rng.choice((opposite, again, sentence))
        yield statement.pair(other, statement.reply(reply), 0, "something else")
        earlier = opposite if is_negative(opposite) or rng.random() < 0.3 else sentence
        yield statement.pair(statement.earlier(earlier), other, 0, "something else")


def _other_words(statement: _Statement, rng: random.Random) -> Iterator[MadePair]:
    """Yield contradictions by an antonym or another value, and pairs where both values may be true."""
    sentence = statement.sentence
    if other := oppose(sentence, rng):
        earlier, reply = (sentence, other) if rng.random() < 0.5 else (other, sentence)
        yield statement.pair(statement.earlier(earlier), statement.reply(reply), 1, "antonym")
        if rng.random() < 0.5:
            yield statement.pair(statement.earlier(other), statement.reply(reword(other, rng)), 0, "repeated")
        if not is_negative(other) and (double := negate(other, rng)):
            yield statement.pair(statement.earlier(sentence), statement.reply(double), 0, "double negation")
    if swapped := swap(sentence, rng):
        other, exclusive = swapped
        if exclusive:
            yield statement.pair(statement.earlier(sentence), statement.reply(other), 1, "other value")
            yield statement.pair(statement.earlier(other), statement.reply(reword(other, rng)), 0, "repeated")
        elif BOTH_TRUE.search(sentence) and not DOUBTFUL.search(sentence) and not is_negative(sentence):
            yield statement.pair(statement.earlier(sentence), statement.reply(other), 0, "both may be true")


def _between_people(statement: _Statement, opposite: str, rng: random.Random) -> Iterator[MadePair]:
    """Yield pairs of two speakers: each speaks about themselves, or one tells the other what the other said."""
    sentence = statement.sentence
    if not is_about_self(sentence):
        return
    if rng.random() < 0.4:
        earlier, reply = rng.choice(((sentence, opposite), (opposite, sentence)))
        yield statement.pair(statement.earlier(earlier), statement.reply(reply), 0, "other person", same=False)
    if rng.random() < 0.4:
        claims = HELD_OUT_CLAIMS if statement.talk.part == "test" else CLAIMS
        for claimed, label in ((opposite, 1), (sentence, 0)):
            reply = rng.choice(claims) + turn_person(claimed).rstrip(" .!") + rng.choice((" .", " ?", " !", ""))
            kind = "claim about the other" if label else "agrees with the other"
            yield statement.pair(statement.earlier(sentence), reply, label, kind, same=False)


def _answered(statement: _Statement, opposite: str, rng: random.Random) -> Iterator[MadePair]:
    """Yield answers to a question whose answer is known from an earlier turn."""
    question = ask(statement.sentence)
    if question is None or rng.random() > 0.6:
        return
    holds = rng.random() < 0.5
    known = statement.sentence if holds else opposite
    yes = rng.random() < 0.5
    answer = rng.choice(YES if yes else NO)
    if rng.random() < 0.3:
        answer = f"{answer} . {rng.choice(sentences(statement.other_turn()) or [''])}".strip()
    base = statement.pair(statement.earlier(known), answer, int(yes != holds), "answer")
    yield replace(base, pair=replace(base.pair, utterance=question))
    if other := statement.other_turn():
        base = statement.pair(other, answer, 0, "other answer")
        yield replace(base, pair=replace(base.pair, utterance=question))
    yes = rng.random() < 0.5
    claim, agrees = rng.choice(((statement.sentence, yes), (opposite, not yes)))
    base = statement.pair(rng.choice(YES if yes else NO), statement.reply(claim), int(not agrees), "earlier answer")
    yield replace(base, pair=replace(base.pair, before=question))


# ---- statements written by hand --------------------------------------------------------------------------------------


def fact_pair(part: str, talks: Sequence[Talk], rng: random.Random) -> MadePair:
    """Return a pair of two statements about a topic, or about two topics."""
    held_out = part == "test"
    kind = rng.random()
    for _ in range(MANY):
        topic = _choose_topic(rng, held_out)
        first, second = rng.sample(list(topic.values), 2)
        if topic.clash(first, second) or kind >= 0.8:
            break
    if 0.45 <= kind < 0.65:
        second = first
    label, same, what = int(topic.clash(first, second)), True, "fact"
    reply_topic = topic
    if 0.65 <= kind < 0.78:
        same, label, what = False, 0, "fact of the other person"
    elif 0.78 <= kind < 0.9:
        while reply_topic.name == topic.name or _related(topic, reply_topic):
            reply_topic = _choose_topic(rng, held_out)
        second, label, what = rng.choice(list(reply_topic.values)), 0, "fact about something else"
    elif kind >= 0.9:
        same, what = False, "fact about the other person"
        if rng.random() < 0.5:
            second, label = first, 0
    earlier = rng.choice(sentences_of(topic, first, held_out=held_out))
    reply = rng.choice(sentences_of(reply_topic, second, held_out=held_out))
    if what == "fact about the other person":
        reply = rng.choice(HELD_OUT_CLAIMS if held_out else CLAIMS) + turn_person(reply)
    talk = rng.choice(talks)
    utterance = rng.choice(talk.texts) if same or rng.random() < 0.5 else ""
    pair = TurnPair(
        _decorate(earlier, talks, rng, held_out=held_out),
        _decorate(reply, talks, rng, held_out=held_out),
        same,
        rng.choice(talk.texts) if rng.random() < 0.5 else "",
        utterance,
    )
    return MadePair(pair, label, what, part)


_TRAINED = [topic for topic in TOPICS if topic.name not in HELD_OUT_TOPICS]
RELATED = (
    frozenset(("home", "origin", "travel", "place", "weather here")),
    frozenset(("pets", "dogs", "cats", "favorite animal", "company at home")),
    frozenset(("siblings", "number of siblings")),
    frozenset(("children", "number of kids", "age group", "age", "school", "work", "marriage", "parents", "today")),
    frozenset(("birthday", "age", "age group")),
    frozenset(
        ("favorite sport", "exercise", "running", "hiking", "swimming", "surfing", "health", "character", "water")
    ),
    frozenset(("favorite food", "meat", "vegetables", "sweets", "spicy foods", "coffee", "peanuts")),
    frozenset(("work", "today", "school", "army", "money")),
    frozenset(("day", "sleep", "today", "health")),
    frozenset(("favorite season", "cold winters", "weather here")),
    frozenset(("car", "driving", "age group")),
    frozenset(("company at home", "parents", "marriage", "children", "number of kids")),
    frozenset(("favorite music", "favorite instrument", "music made", "singing", "musicals")),
    frozenset(("travel", "traveling", "camping", "the mountains", "hiking", "money", "religion")),
    frozenset(("name", "origin", "languages", "home")),
    frozenset(("parties", "crowds", "character", "dancing", "alcohol", "smoking")),
    frozenset(("reading", "comic books", "video games", "television", "horror movies", "seen")),
)


def _related(first: Topic, second: Topic) -> bool:
    return any(first.name in group and second.name in group for group in RELATED)


def _choose_topic(rng: random.Random, held_out: bool) -> Topic:
    return rng.choice(TOPICS if held_out else _TRAINED)


def _decorate(sentence: str, talks: Sequence[Talk], rng: random.Random, *, held_out: bool) -> str:
    """Return the sentence alone, after a phrase, or next to a sentence of a log."""
    form = rng.random()
    if form < 0.4:
        return sentence
    if form < 0.7:
        prefix = rng.choice(HELD_OUT_PREFIXES if held_out else PREFIXES)
        return prefix + sentence + rng.choice(SUFFIXES)
    others = [text for text in sentences(rng.choice(rng.choice(talks).texts)) if len(text.split()) <= 12]
    if not others:
        return sentence
    other = rng.choice(others)
    return f"{other} {sentence}" if form < 0.85 else f"{sentence} {other}"


# ---- profiles --------------------------------------------------------------------------------------------------------

_ATTRIBUTES = (
    re.compile(r"^(my fav\w+ \w+(?: \w+)? (?:is|are)) (.+)$"),
    re.compile(rf"^(i (?:am|work as) an? )({'|'.join(JOBS)})\b"),
    re.compile(r"^(i (?:have|own) )(\w+) (dogs|cats|kids|children|sisters|brothers|siblings)\b"),
    re.compile(r"^(i live in )(.+)$"),
    re.compile(r"^(i work (?:at|for|in|as) )(.+)$"),
    re.compile(r"^(my (?:mom|dad|mother|father|wife|husband) (?:is|was|works as) an? )(.+)$"),
    re.compile(r"^(i drive an? )(.+)$"),
    re.compile(r"^(my hair is )(.+)$"),
    re.compile(r"^(i(?: a|')m )(\d+) years old"),
)


def _persona_pairs(talks: Sequence[Talk], rng: random.Random) -> Iterator[MadePair]:
    """Yield facts of profiles with another person's fact on the same attribute, and with turns of their own speaker."""
    facts: dict[str, dict[str, tuple[str, Talk]]] = defaultdict(dict)
    for talk in talks:
        for fact in talk.personas:
            text = fact.lower().rstrip(" .")
            for pattern in _ATTRIBUTES:
                if match := pattern.match(text):
                    groups = match.groups()
                    facts["".join((groups[0], *groups[2:]))].setdefault(groups[1], (fact, talk))
    usable = [key for key, values in facts.items() if len(values) > 1]
    weights = [min(len(facts[key]), 40) for key in usable]
    for _ in range(PERSONA_PAIRS if usable else 0):
        key = rng.choices(usable, weights)[0]
        first, second = rng.sample(list(facts[key].values()), 2)
        if first[1].part != second[1].part:
            continue
        same = rng.random() < 0.65
        utterance = rng.choice(first[1].texts) if same or rng.random() < 0.5 else ""
        own = [first[1]]
        reply = _decorate(second[0], own, rng, held_out=first[1].part == "test")
        pair = TurnPair(_decorate(first[0], own, rng, held_out=False), reply, same, "", utterance)
        yield MadePair(pair, int(same), "profile" if same else "profile of the other person", first[1].part)
