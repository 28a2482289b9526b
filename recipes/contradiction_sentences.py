"""English sentences and their opposites, by rules: negation, antonyms, other values, questions, and the other person.

Each function returns None if no rule applies. The rules need no parser: they look for an auxiliary, a pronoun before a
verb, or a verb that begins an order, so they are wrong now and then (about one sentence in twenty reads oddly).
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

QUESTION = "?"
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NEGATIVE = re.compile(
    r"\b(not|no|never|none|nothing|nobody|cannot|dont|doesnt|didnt|cant|wont|isnt|arent|wasnt|havent|hasnt|\w+n't)\b",
    re.I,
)
_NO_STATEMENT = re.compile(
    r"^(?:(?:and|so|but|oh|well|hi|hello|hey|wow),? )*"
    r"(?:what|why|how|who|where|when|which|do|did|does|are|is|can|could|would|have|has|see you|bye|ha|haha|lol)\b"
    r"|\bthanks?\b|\bwelcome\b",
    re.I,
)
_SELF = re.compile(r"\b(i|my|me|mine|myself|im|ive|we|our|us)\b", re.I)
_OTHER = re.compile(r"\b(you|your|yours|u|ur)\b", re.I)
_SIDES = re.compile(
    r"^(.*?)\b(i|you|we|they|people) (?:(?:really|also|just|usually|often|still|always) )?(\w+)\b", re.I
)
AUXILIARIES = "am is are was were can could will would should must has have had"
# have, has and had are auxiliaries only before a participle
_AUXILIARY = re.compile(
    r"\b(?:(am|is|are|was|were|can|could|will|would|should|must)|(have|has|had) (?=been|got|\w+ed\b))", re.I
)
_CONTRACTED = re.compile(r"\b(i|you|we|they|he|she|it|that|there|this)\s?'(m|re|s|ll|ve|d)\b", re.I)
_THIRD = re.compile(
    r"\b(he|she|it|this|that|my (?:\w+)) (?:really |also |always |just )?"
    r"(?!was|is|has|does|this|his|its|as|us|always|also|sometimes|perhaps)([a-z]{2,}s)\b",
    re.I,
)
_ORDER = re.compile(
    r"^(take|go|come|let|tell|try|call|send|give|put|wait|stop|turn|bring|keep|make|sit|open|close|leave|look|buy|use|"
    r"check|ask|read|write|watch|eat|drink|stay|walk|drive)\b",
    re.I,
)
FULL = {
    **{word: f"{word} not" for word in ("am", "is", "are", "was", "were", "could", "will", "would", "should", "must")},
    "can": "cannot",
    "have": "have not",
    "has": "has not",
    "had": "had not",
}
SHORT = {
    **{word: f"{word}n't" for word in ("is", "are", "was", "were", "could", "would", "should", "have", "has", "had")},
    "can": "can't",
    "will": "won't",
    "am": "am not",
    "must": "mustn't",
}
CONTRACTIONS = {"m": "am", "re": "are", "s": "is", "ll": "will", "ve": "have", "d": "would"}
IRREGULAR: Mapping[str, str] = {
    "went": "go",
    "had": "have",
    "got": "get",
    "saw": "see",
    "did": "do",
    "said": "say",
    "made": "make",
    "took": "take",
    "came": "come",
    "thought": "think",
    "knew": "know",
    "grew": "grow",
    "bought": "buy",
    "ate": "eat",
    "met": "meet",
    "found": "find",
    "left": "leave",
    "felt": "feel",
    "lost": "lose",
    "won": "win",
    "taught": "teach",
    "spent": "spend",
    "drove": "drive",
    "wrote": "write",
    "heard": "hear",
    "ran": "run",
    "told": "tell",
    "gave": "give",
    "began": "begin",
    "kept": "keep",
    "brought": "bring",
    "became": "become",
    "sold": "sell",
    "slept": "sleep",
    "broke": "break",
    "fell": "fall",
    "forgot": "forget",
    "caught": "catch",
    "sang": "sing",
    "swam": "swim",
    "built": "build",
    "sent": "send",
    "paid": "pay",
    "chose": "choose",
    "rode": "ride",
    "spoke": "speak",
    "wore": "wear",
    "stood": "stand",
    "understood": "understand",
}
PAST_OF = {base: past for past, base in IRREGULAR.items()}
NOT_VERBS = frozenset(
    (
        *("am", "is", "are", "was", "were", "can", "could", "will", "would", "should", "must", "might", "may"),
        *("do", "does", "did", "not", "never", "always", "also", "just", "really", "have", "had", "has", "and", "or"),
        *("but", "the", "a", "an", "all", "both", "guys", "too", "in", "on", "of", "to", "for", "at", "with", "who"),
        *("that", "were", "ve", "ll", "re", "m", "d", "s", "don", "t", "usually", "often", "sometimes", "actually"),
        *("probably", "definitely", "still", "only", "even"),
    )
)
ADVERBS = ("really", "definitely", "actually", "still", "certainly", "just")
ANTONYMS: tuple[tuple[str, str], ...] = (
    *(("love", "hate"), ("i like", "i dislike"), ("loves", "hates"), ("loved", "hated"), ("enjoy", "detest")),
    *(("always", "never"), ("everyone", "nobody"), ("everything", "nothing")),
    *(("good", "bad"), ("great", "terrible"), ("best", "worst"), ("better", "worse"), ("amazing", "awful")),
    *(("happy", "sad"), ("easy", "difficult"), ("hot", "cold"), ("big", "small"), ("old", "young")),
    *(("older", "younger"), ("early", "late"), ("rich", "poor"), ("married", "single"), ("tall", "short")),
    *(("first", "last"), ("alone", "with my family"), ("fast", "slow"), ("cheap", "expensive"), ("new", "old")),
    *(("same", "opposite"), ("more", "less"), ("many", "few"), ("before", "after"), ("inside", "outside")),
    *(("right", "wrong"), ("true", "false"), ("healthy", "sick"), ("interesting", "boring"), ("fun", "boring")),
    *(("quiet", "loud"), ("strong", "weak"), ("morning", "evening"), ("day", "night"), ("summer", "winter")),
    *(("indoors", "outdoors"), ("agree", "disagree"), ("remember", "forget"), ("awake", "asleep")),
    *(("win", "lose"), ("won", "lost"), ("open", "closed"), ("full", "empty"), ("rarely", "often")),
    *(("beautiful", "ugly"), ("safe", "dangerous"), ("clean", "dirty"), ("near", "far from"), ("glad", "sorry")),
)
ANTONYM_OF = dict([*ANTONYMS, *((b, a) for a, b in ANTONYMS)])
SYNONYMS: tuple[tuple[str, str], ...] = (
    *(("like", "enjoy"), ("love", "really like"), ("great", "wonderful"), ("movie", "film"), ("movies", "films")),
    *(("kids", "children"), ("mom", "mother"), ("dad", "father"), ("big", "large"), ("i think", "i believe")),
    *(("a lot", "very much"), ("job", "work"), ("begin", "start"), ("also", "too"), ("awesome", "fantastic")),
    *(("bad", "awful"), ("happy", "glad"), ("difficult", "hard"), ("small", "little"), ("favorite", "favourite")),
    *(("television", "tv"), ("automobile", "car"), ("usually", "mostly"), ("buy", "get"), ("guess", "suppose")),
)
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty", "thirty")
DIGITS = tuple(str(number) for number in range(2, 100))
COLORS = ("red", "blue", "green", "black", "white", "yellow", "purple", "pink", "orange", "brown", "grey")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = ("january", "february", "march", "april", "june", "july", "august", "september", "october", "december")
JOBS = (
    *("teacher", "nurse", "lawyer", "doctor", "engineer", "student", "chef", "cook", "mechanic", "accountant"),
    *("writer", "farmer", "dentist", "waitress", "waiter", "librarian", "plumber", "electrician", "carpenter"),
    *("police officer", "firefighter", "artist", "musician", "truck driver", "secretary", "scientist", "designer"),
    *("programmer", "cashier", "barista", "veterinarian", "baker", "pilot", "janitor", "salesman", "journalist"),
)
PLACES = (
    *("texas", "california", "florida", "ohio", "michigan", "new york", "chicago", "boston", "seattle", "canada"),
    *("england", "france", "germany", "mexico", "colorado", "georgia", "oregon", "iowa", "utah", "arizona"),
    *("maine", "alaska", "hawaii", "japan", "spain", "italy", "australia", "ireland", "nevada", "tennessee"),
)
RELATIVES = ("mother", "father", "brother", "sister", "wife", "husband", "son", "daughter", "uncle", "aunt", "grandma")
RELATIVES_SHORT = ("mom", "dad", "brother", "sister", "wife", "husband", "son", "daughter", "cousin", "boyfriend")
FOODS = (
    *("pizza", "sushi", "steak", "pasta", "tacos", "ice cream", "chocolate", "cheese", "chicken", "salad", "burgers"),
    *("seafood", "bread", "rice", "bacon", "cookies", "pie", "soup", "fruit", "coffee", "tea"),
)
PETS = ("dog", "cat", "bird", "horse", "rabbit", "fish", "hamster", "snake", "lizard", "parrot")
PETS_MANY = ("dogs", "cats", "birds", "horses", "rabbits", "hamsters", "snakes", "chickens", "parrots")
LANGUAGES = ("spanish", "french", "german", "italian", "japanese", "chinese", "russian", "arabic")
INSTRUMENTS = ("guitar", "piano", "violin", "drums", "flute", "saxophone", "trumpet", "cello")
LISTS: Mapping[str, Sequence[str]] = {
    "number": NUMBERS,
    "digits": DIGITS,
    "color": COLORS,
    "day": DAYS,
    "month": MONTHS,
    "job": JOBS,
    "place": PLACES,
    "relative": RELATIVES,
    "relative_short": RELATIVES_SHORT,
    "food": FOODS,
    "pet": PETS,
    "pets": PETS_MANY,
    "language": LANGUAGES,
    "instrument": INSTRUMENTS,
}
# a second value of the same kind contradicts the first only in such a sentence
EXCLUSIVE: Mapping[str, str] = {
    "number": r"\b(have|had|are|am|is|was|for|at|in|own|owns|of|only)\b",
    "digits": r"\b(am|is|was|turned|turning|for|at|in|of|have|years?|old)\b",
    "color": r"\b(favorite|is|are|was|were|hair|eyes)\b",
    "day": r"\b(on|is|was|every|next|until|this)\b",
    "month": r"\b(in|is|was|until|next|birthday|since)\b",
    "job": r"\b(am|is|i'm|as|work|was|being|become)\b.* (a|an|as|the) ",
    "place": r"\b(live|lives|lived|from|born|moved|grew up|home|located|raised)\b",
    "relative": r"\b(is|was|works|taught|died|raised|told|gave)\b",
    "relative_short": r"\b(is|was|works|taught|died|raised|told|gave)\b",
    "food": r"\b(favorite|only)\b",
    "pet": r"\b(favorite|is a|was a|named|called)\b",
    "pets": r"\b(favorite|only)\b",
    "language": r"\b(favorite|only|native|first)\b",
    "instrument": r"\b(favorite|only)\b",
}
YES = ("yes", "yes i do", "yeah", "yep", "yes, definitely", "of course", "sure do", "absolutely", "yeah, a lot")
NO = ("no", "no i don't", "nope", "nah", "no, not at all", "not really", "no, never", "i don't", "no, i do not")


@dataclass(frozen=True, slots=True)
class Cut:
    """A sentence, cut where a negation or an adverb goes: before | word | after, and the kind of place."""

    before: str
    word: str
    after: str
    kind: str


def sentences(turn: str) -> list[str]:
    """Return the sentences of a turn, without white space around them."""
    return [part.strip() for part in _SENTENCE.split(turn) if part.strip()]


def is_negative(sentence: str) -> bool:
    """Return whether a sentence has a word of negation."""
    return bool(_NEGATIVE.search(sentence))


def is_about_self(sentence: str) -> bool:
    """Return whether a sentence is about its speaker alone."""
    return bool(_SELF.search(sentence)) and not _OTHER.search(sentence)


def is_statement(sentence: str) -> bool:
    """Return whether a sentence can be negated: no question, 3 to 20 words."""
    words = sentence.rstrip(".! ").split()
    return QUESTION not in sentence and not _NO_STATEMENT.search(sentence) and 3 <= len(words) <= 20


def cut(sentence: str) -> Cut | None:
    """Find where a negation goes."""
    found: list[tuple[int, Cut]] = []
    if match := _CONTRACTED.search(sentence):
        word = CONTRACTIONS[match[2].lower()]
        usable = (
            match[2].lower() not in ("s", "d") or match[1].lower() not in ("i", "you", "we", "they") or word != "is"
        )
        if word == "have" and not re.match(r" (?:been|got|\w+ed)\b", sentence[match.end() :]):
            usable = False
        if usable and word != "would":
            cut_here = Cut(f"{sentence[: match.start()]}{match[1]} ", word, sentence[match.end() :], "auxiliary")
            found.append((match.start(), cut_here))
    if match := _AUXILIARY.search(sentence):
        word = (match[1] or match[2]).lower()
        end = match.end() - (1 if match[2] else 0)
        found.append((match.start(), Cut(sentence[: match.start()], word, sentence[end:], "auxiliary")))
    if match := _SIDES.search(sentence):
        verb = match[3].lower()
        if verb not in NOT_VERBS:
            kind = "past" if base_form(verb) else "present"
            start = match.start(3)
            found.append((match.start(2), Cut(sentence[:start], verb, sentence[match.end(3) :], kind)))
        elif verb in ("have", "had") and not _AUXILIARY.match(sentence, match.start(3)):
            kind = "past" if verb == "had" else "present"
            found.append((match.start(2), Cut(sentence[: match.start(3)], verb, sentence[match.end(3) :], kind)))
    if match := _THIRD.search(sentence):
        start = match.start(2)
        found.append((match.start(1), Cut(sentence[:start], match[2].lower(), sentence[match.end(2) :], "third")))
    if not found and (match := _ORDER.match(sentence)):
        found.append((0, Cut("", match[1].lower(), sentence[match.end() :], "order")))
    if not found:
        return None
    return min(found, key=lambda pair: pair[0])[1]


def base_form(verb: str) -> str:
    """Return the base form of a verb in the past tense; empty for other verbs."""
    if verb in IRREGULAR:
        return IRREGULAR[verb]
    if not verb.endswith("ed") or len(verb) < 5 or verb in ("need", "feed", "speed", "exceed", "succeed"):
        return ""
    stem = verb[:-2]
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    if re.search(
        r"([^aeiou][aeiou](?:v|k|s|c|z|g|r|m|n|t|d)|[lrn]v|g|c|us|as|bl|pl|tl|dl)$", stem
    ) and not stem.endswith(
        (
            "happen",
            "listen",
            "open",
            "visit",
            "wait",
            "want",
            "need",
            "start",
            "learn",
            "turn",
            "enter",
            "order",
            "watch",
        )
    ):
        return stem + "e"
    return stem


def singular(verb: str) -> str:
    """Return the base form of a verb in the third person."""
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("ches", "shes", "sses", "xes", "oes")):
        return verb[:-2]
    return verb[:-1]


def negate(sentence: str, rng: random.Random) -> str | None:
    """Return the sentence with a negation, in one of several forms, or without the one that it has."""
    if is_negative(sentence):
        return remove_negation(sentence)
    place = cut(sentence)
    if place is None:
        return None
    before, word, after = place.before, place.word, place.after
    if place.kind == "auxiliary":
        if word == "am" and rng.random() < 0.5:
            return f"{before.rstrip()}'m not{after}"
        style = rng.random()
        if style < 0.15 and word in ("am", "is", "are", "was", "were", "will", "would", "can"):
            return f"{before}{word} never{after}"
        return f"{before}{(FULL if style < 0.55 else SHORT)[word]}{after}"
    if place.kind == "order":
        negation = rng.choice(("do not", "don't", "never"))
        return f"{negation} {word}{after}"
    if rng.random() < 0.2:
        return f"{before}never {word}{after}"
    if place.kind == "present":
        helper, base = rng.choice(("don't", "do not")), word
    elif place.kind == "past":
        helper, base = rng.choice(("didn't", "did not")), base_form(word)
    else:
        helper, base = rng.choice(("doesn't", "does not")), singular(word)
    if base in ("have", "own") and (match := re.match(r" (?:a|an|some|many|two|three|four|five|six|lots of)\b", after)):
        after = f" any{after[match.end() :]}" if rng.random() < 0.4 else after
    return f"{before}{helper} {base}{after}"


def remove_negation(sentence: str) -> str | None:
    """Return the sentence without its first negation."""
    rules = (
        (r"\bdon['’]?t like\b", "like"),
        (r"\b(?:don['’]?t|do not) have any\b", "have some"),
        (r"\b(?:don['’]?t|do not|doesn['’]?t|does not) (?=\w)", ""),
        (r"\b(?:didn['’]?t|did not) (\w+)", "PAST"),
        (r"\b(?:cannot|can['’]?t|can not)\b", "can"),
        (r"\b(?:won['’]?t)\b", "will"),
        (r"\b(is|are|was|were|has|have|had|could|would|should)n['’]?t\b", r"\1"),
        (r"\b(is|are|was|were|has|have|had|could|would|should|am|will|must|'m|'re|'s) not\b", r"\1"),
        (r"\bnever\b", "always"),
        (r"\bhave no\b", "have some"),
        (r"\bnothing\b", "everything"),
        (r"\bnobody\b", "everybody"),
        (r"\bno longer\b", "still"),
    )
    for pattern, replacement in rules:
        match = re.search(pattern, sentence, flags=re.I)
        if match is None:
            continue
        if replacement == "PAST":
            verb = match[1].lower()
            past = PAST_OF.get(verb) or (verb + "d" if verb.endswith("e") else verb + "ed")
            replacement = past
        else:
            replacement = match.expand(replacement)
        changed = sentence[: match.start()] + replacement + sentence[match.end() :]
        return None if is_negative(changed) else changed
    return None


def emphasise(sentence: str, rng: random.Random) -> str | None:
    """Return the sentence with an adverb where a negation could be: the meaning stays."""
    if is_negative(sentence):
        return None
    place = cut(sentence)
    if place is None or place.kind == "order":
        return None
    adverb = rng.choice(ADVERBS)
    if place.kind == "auxiliary":
        return f"{place.before}{place.word} {adverb}{place.after}"
    return f"{place.before}{adverb} {place.word}{place.after}"


def replace_word(sentence: str, word: str, other: str) -> str:
    """Return the sentence with the first occurrence of a word replaced."""
    return re.sub(rf"\b{re.escape(word)}\b", other, sentence, count=1, flags=re.I)


def oppose(sentence: str, rng: random.Random) -> str | None:
    """Return the sentence with one word replaced by its opposite."""
    words = [word for word in ANTONYM_OF if re.search(rf"\b{word}\b", sentence, flags=re.I)]
    if not words:
        return None
    word = rng.choice(words)
    return replace_word(sentence, word, ANTONYM_OF[word])


def reword(sentence: str, rng: random.Random) -> str:
    """Return the sentence with synonyms, another form of its contractions, or without its punctuation."""
    lower = sentence.lower()
    for word, other in rng.sample(SYNONYMS, len(SYNONYMS)):
        if re.search(rf"\b{word}\b", lower) and rng.random() < 0.6:
            return replace_word(sentence, word, other)
    changed = sentence
    for pattern, other in ((r"\bi'm\b", "i am"), (r"\bi am\b", "i'm"), (r"n't\b", " not"), (r"\bdo not\b", "don't")):
        if re.search(pattern, changed, flags=re.I) and rng.random() < 0.5:
            changed = re.sub(pattern, other, changed, count=1, flags=re.I)
            return changed.replace("ca not", "cannot").replace("wo not", "will not")
    return changed


def swap(sentence: str, rng: random.Random) -> tuple[str, bool] | None:
    """Return the sentence with another value (a number, a colour, a job …), and whether both cannot be true."""
    kinds = [kind for kind, values in LISTS.items() if _value(sentence, values)]
    if not kinds:
        return None
    kind = rng.choice(kinds)
    value = _value(sentence, LISTS[kind])
    other = rng.choice([each for each in LISTS[kind] if each != value])
    exclusive = bool(re.search(EXCLUSIVE[kind], sentence, flags=re.I))
    if kind == "job" and not re.search(
        rf"\b(am|i'm|im|is|as|work as) (a|an|the) (\w+ )?{value}\b", sentence, flags=re.I
    ):
        exclusive = False
    return replace_word(sentence, value, other), exclusive


def _value(sentence: str, values: Sequence[str]) -> str:
    lower = f" {re.sub('[^a-z0-9 ]', ' ', sentence.lower())} "
    for value in values:
        if f" {value} " in lower:
            return value
    return ""


def ask(sentence: str) -> str | None:
    """Return the question that a statement about its speaker answers with yes."""
    text = sentence.strip().rstrip(".! ")
    if is_negative(text) or _OTHER.search(text):
        return None
    match = re.match(r"^(?:and |so |but |well ,? ?)?i ?('m|am|was|can|will|have been|would) (.+)$", text, flags=re.I)
    if match:
        word = {"'m": "are", "am": "are", "was": "were"}.get(match[1].lower(), match[1].lower())
        if word == "have been":
            return turn_person(f"have you been {match[2]} ?")
        return f"{word} you {turn_person(match[2])} ?"
    match = re.match(r"^(?:and |so |but |well ,? ?)?i (?:really |also |just |usually )?(\w+) (.+)$", text, flags=re.I)
    if match and match[1].lower() not in NOT_VERBS - {"have", "had"}:
        verb = match[1].lower()
        if past := base_form(verb):
            return f"did you {past} {turn_person(match[2])} ?"
        return f"do you {verb} {turn_person(match[2])} ?"
    return None


def turn_person(sentence: str) -> str:
    """Return the sentence as the other person would say it: I becomes you, my becomes your."""
    turned = []
    rules = {
        "i": "you",
        "me": "you",
        "my": "your",
        "mine": "yours",
        "myself": "yourself",
        "am": "are",
        "im": "you are",
        "i'm": "you're",
        "i've": "you've",
        "i'll": "you'll",
        "i'd": "you'd",
        "was": "were",
    }
    had_i = bool(re.search(r"\bi\b", sentence, flags=re.I))
    for word in re.findall(r"[\w'’]+|[^\w\s]|\s+", sentence):
        lower = word.lower().replace("’", "'")
        if lower == "was" and not had_i:
            turned.append(word)
        else:
            turned.append(rules.get(lower, word))
    return "".join(turned)
