"""Statements of people about themselves, written by hand: topics with values, and several sentences per value.

Two sentences of different values of one topic contradict each other if one person says both, unless the values are
listed as compatible. Two sentences of one value agree. The last sentence of every value is held out for testing, and so
are whole topics (HELD_OUT_TOPICS).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from contradiction_sentences import COLORS, FOODS, INSTRUMENTS, JOBS, LANGUAGES, MONTHS, NUMBERS, PETS_MANY, PLACES

Values = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Topic:
    """Values of a topic with their sentences; pairs of `compatible` values do not contradict each other."""

    name: str
    values: Values
    compatible: tuple[frozenset[str], ...] = ()

    def clash(self, first: str, second: str) -> bool:
        """Return whether one person cannot have both values."""
        return first != second and frozenset((first, second)) not in self.compatible


def _of_each(values: Sequence[str], *sentences: str) -> dict[str, list[str]]:
    return {value: [sentence.format(value) for sentence in sentences] for value in values}


def _pairs(*values: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset((a, b)) for i, a in enumerate(values) for b in values[i + 1 :])


NAMES = ("john", "maria", "peter", "anna", "david", "sarah", "mike", "linda", "tom", "jessica", "robert", "emily")
SPORTS = ("football", "basketball", "tennis", "baseball", "soccer", "hockey", "golf", "volleyball", "rugby")
MUSIC = ("rock", "country", "jazz", "classical music", "hip hop", "metal", "pop", "folk music")
SEASONS = ("spring", "summer", "autumn", "winter")
CARS = ("ford", "honda", "toyota", "tesla", "jeep", "volvo", "bmw")

TOPICS: tuple[Topic, ...] = (
    Topic(
        "pets",
        {
            "dog": [
                *("i have a dog .", "my dog is called rex .", "i walk my dog every morning .", "i have two dogs ."),
                *("i own a golden retriever .", "my dog sleeps in my bed .", "i am off to the park with my puppy ."),
                *("my two dogs keep me busy .", "we have a german shepherd at home ."),
            ],
            "cat": [
                *("i have a cat .", "my cat is called luna .", "my cats are lazy .", "i live with three cats ."),
                *("i just fed my cat .", "my kitten is playing with my shoes .", "we have a black cat at home ."),
            ],
            "none": [
                *("i do not have any pets .", "i have no pets .", "i don't have any animals .", "i never had a pet ."),
                *("there are no animals in my house .", "i can't have pets in my apartment , so i have none ."),
                *("i wish i had a pet , but i don't .", "pets are too much work for me , so i live without any ."),
            ],
        },
        _pairs("dog", "cat"),
    ),
    Topic(
        "siblings",
        {
            "none": [
                *("i am an only child .", "i have no brothers or sisters .", "i don't have any siblings ."),
                *("my parents only had me .", "i grew up without siblings ."),
            ],
            "brother": [
                *("i have a brother .", "my brother is older than me .", "my little brother plays football ."),
                *("i have two brothers .", "my brother lives next door ."),
            ],
            "sister": [
                *("i have a sister .", "my sister is a nurse .", "i have three sisters ."),
                *("my little sister is so annoying .", "i went shopping with my sister ."),
            ],
        },
        _pairs("brother", "sister"),
    ),
    Topic(
        "children",
        {
            "none": [
                *("i have no children .", "i don't have kids .", "i do not have any kids .", "i never had children ."),
                *("my husband and i are childless .", "we decided not to have kids ."),
            ],
            "some": [
                *("i have two kids .", "my son is five years old .", "my daughter just started school ."),
                *("i am a mother of three .", "i take my children to school every day .", "my kids love the beach ."),
            ],
        },
    ),
    Topic(
        "marriage",
        {
            "married": [
                *("i am married .", "my wife is a great cook .", "my husband works a lot ."),
                *("i have been married for ten years .", "my wife and i went to paris ."),
            ],
            "single": [
                *("i am single .", "i am not married .", "i never married .", "i don't have a husband or a wife ."),
                *("i am still looking for someone to marry .", "i am a bachelor ."),
            ],
            "divorced": ["i am divorced .", "my ex wife and i split up last year .", "i got divorced in may ."],
        },
        _pairs("single", "divorced"),
    ),
    Topic(
        "work",
        {
            **_of_each(
                JOBS,
                *("i am a {} .", "i work as a {} .", "i make my living as a {} .", "my job is being a {} ."),
                *("i have been a {} for years .", "what i do is work as a {} ."),
            ),
            "none": [
                *("i don't work .", "i do not have a job .", "i am unemployed .", "i lost my job and have no work ."),
                *("i have been out of work for a year .",),
            ],
            "retired": ["i am retired .", "i retired two years ago .", "i stopped working when i turned 65 ."],
        },
        _pairs("none", "retired"),
    ),
    Topic(
        "home",
        _of_each(
            PLACES,
            *("i live in {} .", "my home is in {} .", "i am living in {} right now .", "i live in sunny {} ."),
            *("my house is in {} .", "these days {} is where i live ."),
        ),
    ),
    Topic(
        "origin",
        _of_each(
            PLACES,
            *("i was born in {} .", "i am originally from {} .", "i grew up in {} .", "i was raised in {} ."),
            *("i spent my whole childhood in {} .",),
        ),
    ),
    Topic(
        "meat",
        {
            "none": [
                *("i am a vegetarian .", "i am vegan .", "i don't eat meat .", "i never eat meat .", "i eat no meat ."),
                *("i stopped eating animals years ago .", "meat is not part of my diet ."),
            ],
            "eats": [
                *(
                    "i love steak .",
                    "i eat meat every day .",
                    "my favorite food is bacon .",
                    "i eat a lot of chicken .",
                ),
                *("i had a burger for lunch .", "i love a good barbecue with ribs .", "i eat beef all the time ."),
            ],
        },
    ),
    Topic(
        "alcohol",
        {
            "none": [
                *("i don't drink alcohol .", "i never drink .", "i do not like beer or wine .", "i am sober ."),
                *("i stay away from alcohol .",),
            ],
            "drinks": [
                *("i drink wine every evening .", "i love beer .", "i am going to a bar to have some beers ."),
                *("i drink whiskey with my friends .", "i had too much wine last night ."),
            ],
        },
    ),
    Topic(
        "smoking",
        {
            "no": ["i don't smoke .", "i never smoke .", "i hate cigarettes .", "i do not smoke at all ."],
            "yes": ["i smoke .", "i smoke a pack a day .", "i need a cigarette now .", "i am a heavy smoker ."],
        },
    ),
    Topic(
        "age",
        {
            **_of_each(
                [str(age) for age in range(15, 80, 3)],
                *("i am {} years old .", "i am {} .", "i just turned {} .", "i will soon celebrate , i am {} now ."),
                *("my age is {} .",),
            ),
        },
    ),
    Topic(
        "age group",
        {
            "young": [
                *("i am in high school .", "i am 16 years old .", "i am a teenager .", "i am still a kid ."),
                *("i am too young to drive .",),
            ],
            "old": [
                *("i am 70 years old .", "i am a grandmother .", "my grandchildren visit me every week ."),
                *("i have been retired for ten years .", "i am an old man ."),
            ],
        },
    ),
    *(
        Topic(
            f"favorite {what}",
            _of_each(
                values,
                f"my favorite {what} is {{}} .",
                f"{{}} is my favorite {what} .",
                f"the {what} i like best is {{}} .",
                f"if you ask me for my favorite {what} , it is {{}} .",
                f"there is no {what} i like more than {{}} .",
            ),
        )
        for what, values in (
            *(("color", COLORS), ("food", FOODS), ("sport", SPORTS), ("music", MUSIC), ("season", SEASONS)),
            *(("animal", PETS_MANY), ("instrument", INSTRUMENTS)),
        )
    ),
    Topic(
        "name",
        _of_each(
            NAMES, "my name is {} .", "i am called {} .", "hi , i'm {} .", "you can call me {} .", "the name is {} ."
        ),
    ),
    Topic(
        "birthday",
        _of_each(
            MONTHS,
            "my birthday is in {} .",
            "i was born in {} .",
            "i celebrate my birthday in {} .",
            "i am a {} baby .",
        ),
    ),
    Topic(
        "number of siblings",
        _of_each(
            NUMBERS[:7],
            "i have {} siblings .",
            "there are {} of us siblings besides me .",
            "i grew up with {} siblings .",
        ),
    ),
    Topic(
        "number of kids",
        _of_each(
            NUMBERS[:6], "i have {} kids .", "i have {} children .", "we have {} children .", "i raised {} kids ."
        ),
    ),
    Topic(
        "day",
        {
            "early": [
                *("i get up at five every morning .", "i am a morning person .", "i like to wake up early ."),
                *("i go to bed at nine .", "i am always up before the sun ."),
            ],
            "late": [
                *("i sleep until noon every day .", "i am a night owl .", "i hate mornings ."),
                *("i stay up until three at night .", "i never get up before eleven ."),
            ],
        },
    ),
    Topic(
        "coffee",
        {
            "likes": ["i love coffee .", "i drink coffee all day .", "i can't start a day without coffee ."],
            "dislikes": ["i hate coffee .", "i don't drink coffee .", "i can't stand the taste of coffee ."],
        },
    ),
    *(
        Topic(
            f"{thing}",
            {
                "likes": [
                    *(f"i love {thing} .", f"i like {thing} a lot .", f"i really enjoy {thing} ."),
                    *(f"i am a big fan of {thing} .", f"{thing} is something i could do every day ."),
                ],
                "dislikes": [
                    *(f"i hate {thing} .", f"i don't like {thing} .", f"i am not a fan of {thing} ."),
                    *(f"i never liked {thing} .", f"{thing} is not for me ."),
                ],
            },
        )
        for thing in (
            *("cooking", "reading", "dancing", "singing", "running", "hiking", "swimming", "shopping", "fishing"),
            *("traveling", "camping", "gardening", "driving", "painting", "hunting", "knitting", "surfing"),
        )
    ),
    *(
        Topic(
            f"{thing}",
            {
                "likes": [
                    *(f"i love {thing} .", f"i like {thing} .", f"i enjoy {thing} .", f"i am crazy about {thing} ."),
                    *(f"nothing is better than {thing} .",),
                ],
                "dislikes": [
                    *(f"i hate {thing} .", f"i don't like {thing} .", f"i do not care for {thing} ."),
                    *(f"i can't stand {thing} .", f"{thing} make me feel bad ."),
                ],
            },
        )
        for thing in (
            *("dogs", "cats", "video games", "horror movies", "spicy foods", "comic books", "vegetables", "parties"),
            *("the mountains", "crowds", "spiders", "roller coasters", "sweets", "cold winters", "musicals"),
        )
    ),
    Topic(
        "exercise",
        {
            "active": [
                *("i go to the gym every day .", "i work out a lot .", "i run five miles each morning ."),
                *("i lift weights after work .",),
            ],
            "lazy": [
                *(
                    "i never exercise .",
                    "i don't work out .",
                    "i have never been to a gym .",
                    "i am not athletic at all .",
                ),
                *("i do not do any sports .",),
            ],
        },
    ),
    Topic(
        "parents",
        {
            "dead": ["both my parents are dead .", "i lost my parents when i was young .", "my parents passed away ."],
            "alive": ["my parents visit me often .", "i live with my mom and dad .", "i talk to my mother every day ."],
        },
    ),
    Topic(
        "money",
        {
            "rich": ["i am rich .", "i have more money than i can spend .", "i own three houses and a yacht ."],
            "poor": ["i am broke .", "i have no money .", "i can hardly pay my rent .", "i am very poor ."],
        },
    ),
    Topic(
        "height",
        {
            "tall": ["i am very tall .", "i am over six feet tall .", "i am the tallest in my family ."],
            "short": ["i am short .", "i am only five feet tall .", "i am too short to reach the shelf ."],
        },
    ),
    Topic(
        "travel",
        {
            "never": [
                *("i have never left my country .", "i have never been abroad .", "i never travel ."),
                *("i have never been on a plane .",),
            ],
            "much": [
                *("i travel the world .", "i have been to over twenty countries .", "i was in japan last summer ."),
                *("i fly to europe every year .",),
            ],
        },
    ),
    Topic(
        "school",
        {
            "student": [
                *("i am in college .", "i study biology .", "i go to the university .", "i have exams next week ."),
                *("i am a college student .",),
            ],
            "never": ["i never went to college .", "i dropped out of high school .", "i don't go to school ."],
        },
    ),
    Topic(
        "company at home",
        {
            "alone": ["i live alone .", "i live by myself .", "nobody else lives in my apartment ."],
            "parents": ["i live with my parents .", "i still live at home with mom and dad .", "i live at my mom's ."],
            "roommates": ["i live with two roommates .", "my roommates are loud .", "i share a flat with friends ."],
        },
    ),
    Topic(
        "place",
        {
            "city": ["i live in a big city .", "i live downtown .", "my apartment is in the middle of the city ."],
            "country": ["i live on a farm .", "i live in the country .", "my village has only a hundred people ."],
        },
    ),
    Topic(
        "hair",
        {
            **_of_each(
                ("blonde", "brown", "black", "red", "grey"),
                "my hair is {} .",
                "i have {} hair .",
                "i am a person with {} hair .",
            ),
            "bald": ["i am bald .", "i have no hair .", "i lost all my hair ."],
        },
    ),
    Topic(
        "eyes",
        _of_each(("blue", "green", "brown", "grey"), "my eyes are {} .", "i have {} eyes .", "i've got {} eyes ."),
    ),
    Topic(
        "character",
        {
            "shy": ["i am shy .", "i am an introvert .", "i don't like to talk to strangers .", "i am very quiet ."],
            "outgoing": ["i am very outgoing .", "i love to meet new people .", "i am an extrovert ."],
        },
    ),
    Topic(
        "health",
        {
            "sick": ["i am sick .", "i have a bad cold .", "i am in the hospital .", "i feel terrible today ."],
            "well": ["i feel great today .", "i am healthy .", "i am doing very well today ."],
        },
    ),
    Topic(
        "today",
        {
            "works": ["i am at work right now .", "i am sitting in my office .", "i have to work all day today ."],
            "free": ["i have the day off today .", "i don't have to work today .", "i am at home in bed all day ."],
        },
    ),
    Topic(
        "weather here",
        {
            "hot": ["it is very hot here today .", "it's 95 degrees outside .", "the sun is burning here ."],
            "cold": ["it is freezing here today .", "it is snowing here .", "it's so cold outside ."],
        },
    ),
    Topic(
        "seen",
        {
            "yes": ["i have seen that movie .", "i saw that movie last week .", "i watched that film twice ."],
            "no": ["i haven't seen that movie .", "i have never seen that movie .", "i did not watch that film ."],
        },
    ),
    Topic(
        "religion",
        {
            "believer": ["i go to church every sunday .", "i am a christian .", "i pray every day ."],
            "atheist": ["i don't believe in god .", "i am an atheist .", "i never go to church ."],
        },
    ),
    Topic(
        "languages",
        _of_each(
            LANGUAGES,
            "the only language i know besides english is {} .",
            "my native language is {} .",
            "i grew up speaking only {} .",
        ),
    ),
    # ---- held out ----------------------------------------------------------------------------------------------------
    Topic(
        "music made",
        {
            "plays": [
                "i play the guitar .",
                "i am in a band .",
                "i practice the piano every day .",
                "i play the drums .",
            ],
            "none": [
                "i can't play any instrument .",
                "i don't play an instrument .",
                "i never learned to play music .",
            ],
        },
    ),
    Topic(
        "tattoos",
        {
            "some": ["i have a tattoo on my arm .", "i have five tattoos .", "i just got a new tattoo ."],
            "none": ["i have no tattoos .", "i don't have any tattoos .", "i would never get a tattoo ."],
        },
    ),
    Topic(
        "car",
        {
            **_of_each(CARS, "i drive a {} .", "my car is a {} .", "i just bought a {} , my only car ."),
            "none": ["i don't have a car .", "i do not own a car .", "i never learned to drive ."],
        },
    ),
    Topic(
        "hand",
        {
            "left": ["i am left handed .", "i write with my left hand .", "i'm a lefty ."],
            "right": ["i am right handed .", "i write with my right hand .", "i'm not left handed ."],
        },
    ),
    Topic(
        "sleep",
        {
            "bad": ["i have insomnia .", "i can't sleep at night .", "i lie awake every night ."],
            "good": ["i sleep like a baby .", "i always sleep well .", "i have no trouble sleeping ."],
        },
    ),
    Topic(
        "army",
        {
            "served": ["i was in the army .", "i served in the navy for ten years .", "i am a veteran ."],
            "never": [
                "i was never in the military .",
                "i never served in the army .",
                "i have no military experience .",
            ],
        },
    ),
    Topic(
        "peanuts",
        {
            "allergic": ["i am allergic to peanuts .", "i can't eat nuts .", "peanuts could kill me ."],
            "eats": ["i eat peanut butter every day .", "i love peanuts .", "i had a bag of peanuts for lunch ."],
        },
    ),
    Topic(
        "television",
        {
            "none": ["i don't own a tv .", "i never watch television .", "i haven't watched tv in years ."],
            "watches": ["i watch tv all day .", "i love to watch tv shows .", "i was watching my tv last night ."],
        },
    ),
    Topic(
        "water",
        {
            "afraid": ["i am afraid of water .", "i can't swim .", "i never learned to swim ."],
            "swims": ["i swim every day .", "i am on the swim team .", "i am a lifeguard at the pool ."],
        },
    ),
)
HELD_OUT_TOPICS = frozenset(
    (
        "music made",
        "tattoos",
        "car",
        "hand",
        "sleep",
        "army",
        "peanuts",
        "television",
        "water",
        "favorite sport",
        "painting",
    )
)


def sentences_of(topic: Topic, value: str, *, held_out: bool) -> Sequence[str]:
    """Return the sentences of a value to train on, or those held out: the last one, or all of a topic held out."""
    every = topic.values[value]
    if topic.name in HELD_OUT_TOPICS:
        return every if held_out else ()
    return every[-1:] if held_out else every[:-1]


def topics(*, held_out_topics: bool) -> Iterator[Topic]:
    """Yield the topics that are held out entirely, or the others."""
    for topic in TOPICS:
        if (topic.name in HELD_OUT_TOPICS) == held_out_topics:
            yield topic
