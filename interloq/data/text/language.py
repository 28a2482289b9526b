# SPDX-License-Identifier: Apache-2.0
"""The one answer to "which language is this text in", offline and without any package.

The script decides where it belongs to one language (kana, Hangul, Thai, …). Among languages that share a script, the
most frequent words decide, each counted less the more languages share it. A text with too few such words is unclear. In
a set, an unclear text is taken to be in the set's main language of its script. Languages that are not listed stay
unclear.

Corpora are filtered with real detectors instead (`data/corpus/language_filter.py`). Those are optional packages, and a
note or a score must not depend on what is installed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeVar

LOOKED_AT = 400  # characters of a text that are read
LEAST_HITS = 1.0  # frequent words; one that two languages share counts half
LEAST_SHARE = 0.2  # of all words: frequent words are a third or more of the words of a listed language
MARGIN = 1.25  # times the hits of the second language
CERTAIN_LETTERS = 2  # in another script than Latin: one may be part of an emoticon
CERTAIN_WORDS = 2  # different frequent words that English does not have
MAIN_SHARE = 0.2  # of the texts in a script that must be in one language, so that unclear ones are taken to be in it
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")

# frequent words of languages that share a script with others
_WORDS = {
    "en": (
        "the you it and that what my have are not with but your they this how would know about there i to a is of "
        "in am do don't i'm it's was for be we he she me so just like can if on at or no yes from get got think "
        "really did has had will want as an when too where why who good thanks sorry hello hi"
    ),
    "de": (
        "und der die das ist nicht ich du es ein eine wir sie mit auf für was wie auch aber ja nein den dem so "
        "mir mich dich hast habe bin sind war noch schon nur mal doch sehr wenn oder von zu im er kann gut danke "
        "hallo dir bei aus man heute immer gibt keine einen mein dein warum bitte"
    ),
    "fr": (
        "je tu il elle nous vous ils le la les un une des du de et est pas ne que qui dans pour avec sur ce c'est "
        "j'ai mais oui non au plus moi toi mon ma mes très bien suis être ça quoi comment bonjour merci as à on"
    ),
    "es": (
        "el la los las un una y es no que de en por para con lo se me te mi tu yo pero como más muy sí está qué "
        "gracias hola soy eso esto todo porque si estoy tengo bien al del nada cuando"
    ),
    "pt": (
        "o a os as um uma e é não que de em por para com eu você se me te meu minha mas como mais muito sim está "
        "isso obrigado olá sou tudo porque também ele ela da do na no tem bem foi"
    ),
    "it": (
        "il lo la i gli le un una e è non che di in per con mi ti si sono ho hai ma come più molto sì questo "
        "quello anche ciao grazie cosa perché io tu da del della bene ha no"
    ),
    "nl": (
        "de het een en is niet ik je jij wij we ze met op voor wat hoe ook maar ja nee dat dit van heb hebt ben "
        "zijn was nog wel naar goed bent mijn te er aan als om"
    ),
    "sv": (
        "och är inte jag du det en ett att på för med som vad hur men har kan vi ni mig dig så bra var också ja "
        "nej till av den de om tack hej"
    ),
    "da": (
        "og er ikke jeg du det en et at på for med som hvad hvordan men har kan vi mig dig så godt var også ja "
        "nej til af den de om tak hej"
    ),
    "no": (
        "og er ikke jeg du det en et å på for med som hva hvordan men har kan vi meg deg så bra var også ja nei "
        "til av den de om takk hei"
    ),
    "fi": (
        "on ja ei se en että mitä minä sinä olen olet hän me te he ovat mutta niin myös kun kuin hyvä kyllä minun "
        "voi ole mä sä oli jos kiitos"
    ),
    "pl": (
        "i w nie to na się jest że co jak ja ty z do ale tak mam masz dla po czy bardzo też jestem jesteś był tym "
        "mnie jej jego ci o cześć dzięki"
    ),
    "cs": (
        "a je se v na to že ne co jak já ty s do ale ano mám máš pro po velmi také jsem jsi byl mě tak si být tě "
        "ahoj děkuji už"
    ),
    "tr": (
        "ve bir bu da de mi ne ben sen o için çok ama var yok evet hayır ile gibi nasıl iyi mı değil daha şey "
        "bana teşekkürler merhaba"
    ),
    "hu": (
        "a az és nem hogy egy van de is én te ez azt meg mi igen jó nagyon csak mint vagyok vagy volt ha köszönöm szia"
    ),
    "ro": (
        "și este nu că un o în la cu pe de mai eu tu ce cum dar da sunt ai am foarte bine pentru acest mulțumesc salut"
    ),
    "id": (
        "yang dan di ini itu saya aku kamu tidak ada apa ya dengan untuk juga bisa sudah tapi dari ke akan mau "
        "banget gak terima kasih"
    ),
    "vi": ("tôi bạn là không có và của một cho với được này gì đi em anh rất ở đó nhưng cảm ơn"),
    "tl": ("ang ng sa na mga ako ikaw hindi ko mo ay siya po naman lang kung ito ka ba"),
    "ru": (
        "и в не на я что он с как это ты но а у меня мне так да нет все по к мы вы было есть ещё если привет спасибо"
    ),
    "uk": ("і в не на я що він з як це ти але а у мене мені так ні все по до ми ви було є ще та якщо привіт дякую"),
    "bg": ("и в не на аз че той с как това ти но а е да се съм ще за по ме ли здравей благодаря"),
    "ar": ("في من على أن لا ما هذا إلى أنا هل أنت و كان مع نعم كيف شكرا"),
    "fa": ("که از به در است را من این با برای و تو هم نه بله چه خیلی سلام"),
    "ur": ("ہے میں کی کے کا کو نہیں ہیں اور سے یہ آپ کیا ہوں"),
    "hi": ("है में की का नहीं मैं और से को हैं यह आप क्या हूँ के"),
    "mr": ("आहे मी आणि नाही तू हे ते काय आहेत च"),
    "ne": ("छ म र तपाईं हो यो के छैन मा लाई"),
}
_WORD_NAMES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "pt": "Portuguese", "it": "Italian",
    "nl": "Dutch", "sv": "Swedish", "da": "Danish", "no": "Norwegian", "fi": "Finnish", "pl": "Polish",
    "cs": "Czech", "tr": "Turkish", "hu": "Hungarian", "ro": "Romanian", "id": "Indonesian", "vi": "Vietnamese",
    "tl": "Tagalog", "ru": "Russian", "uk": "Ukrainian", "bg": "Bulgarian", "ar": "Arabic", "fa": "Persian",
    "ur": "Urdu", "hi": "Hindi", "mr": "Marathi", "ne": "Nepali",
}  # fmt: skip
_SCRIPTS = {  # scripts of one language, by the first word of their characters' names
    "HANGUL": ("ko", "Korean"), "THAI": ("th", "Thai"), "GREEK": ("el", "Greek"), "HEBREW": ("he", "Hebrew"),
    "ARMENIAN": ("hy", "Armenian"), "GEORGIAN": ("ka", "Georgian"), "BENGALI": ("bn", "Bengali"),
    "TAMIL": ("ta", "Tamil"), "TELUGU": ("te", "Telugu"), "KANNADA": ("kn", "Kannada"),
    "MALAYALAM": ("ml", "Malayalam"), "GUJARATI": ("gu", "Gujarati"), "GURMUKHI": ("pa", "Punjabi"),
    "SINHALA": ("si", "Sinhala"), "KHMER": ("km", "Khmer"), "LAO": ("lo", "Lao"), "MYANMAR": ("my", "Burmese"),
    "ETHIOPIC": ("am", "Amharic"), "TIBETAN": ("bo", "Tibetan"),
    "CJK": ("zh", "Chinese"), "HIRAGANA": ("ja", "Japanese"), "KATAKANA": ("ja", "Japanese"),
}  # fmt: skip
NAMES = {**_WORD_NAMES, **dict(_SCRIPTS.values())}
LanguageCode = TypeVar("LanguageCode", bound=str)
UNCLEAR = " script"  # ending of the answer for a text of which only the script is known


def language_of(text: str) -> str:
    """Return the language as a code (`en`), else the script (`Latin script`); empty without letters."""
    text = text[:LOOKED_AT]
    letters = list(filter(str.isalpha, text))
    if not letters:
        return _by_words(text)
    script = "LATIN"
    if not text.isascii():
        scripts = Counter(map(_script, letters))
        kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
        if kana and kana + scripts["CJK"] > scripts["LATIN"]:
            return "ja"
        script = scripts.most_common(1)[0][0]
    if script in _SCRIPTS:
        return _SCRIPTS[script][0]
    return _by_words(text) or f"{script.capitalize()}{UNCLEAR}"


def certain_language(text: str) -> str:
    """Return the language or script of a text that leaves no doubt; empty for short or unclear texts."""
    text = text[:LOOKED_AT]
    language = language_of(text)
    if language.startswith("Latin"):
        return ""
    if language not in _WORDS or _script(_WORDS[language][0]) != "LATIN":
        return language if sum(map(str.isalpha, text)) >= CERTAIN_LETTERS else ""
    certain = set()
    for word in _words(text):
        languages = _languages_by_word().get(word, [])
        if len(word) > 1 and language in languages and (language == "en" or "en" not in languages):
            certain.add(word)
    return language if len(certain) >= CERTAIN_WORDS else ""


def languages_of(texts: Sequence[str]) -> list[str]:
    """Return the language of each text; an unclear one is taken to be in the set's main language of its script."""
    languages = list(map(language_of, texts))
    resolved = resolve(Counter(languages))
    return [resolved.get(language, language) for language in languages]


def resolve(counts: Counter[str]) -> dict[str, str]:
    """Return the language that unclear texts of a set are taken to be in, by script, from the counts of all texts."""
    by_script: dict[str, Counter[str]] = {}
    for language, n in counts.items():
        if language in _WORDS:
            by_script.setdefault(_script(_WORDS[language][0]), Counter())[language] += n
    main_languages = {}
    for script, languages in by_script.items():
        (main, n), unclear = languages.most_common(1)[0], f"{script.capitalize()}{UNCLEAR}"
        if n >= MAIN_SHARE * (languages.total() + counts[unclear]):
            main_languages[unclear] = main
    return main_languages


def main_language(texts: Iterable[str]) -> str:
    """Return the language of most texts; empty if they have no letters."""
    counts = Counter(filter(None, languages_of(list(texts))))
    if not counts:
        return ""
    return counts.most_common(1)[0][0]


def supported_language(text: str, supported: Sequence[LanguageCode]) -> LanguageCode:
    """Return the text's language if it is among those for which rules or prompts exist, else the first of them."""
    language_of_text = language_of(text)
    for language in supported:
        if language == language_of_text:
            return language
    return supported[0]


def language_name(language: str) -> str:
    """Return `German` for `de`; a script stays as it is."""
    return NAMES.get(language, language)


def _by_words(text: str) -> str:
    """Return the listed language whose frequent words the text has most of; empty if it is unclear."""
    words = _words(text)
    hits: dict[str, float] = {}
    for word in words:
        languages = _languages_by_word().get(word, ())
        for language in languages:
            hits[language] = hits.get(language, 0.0) + 1 / len(languages)
    if not hits:
        return ""
    best = max(hits, key=hits.__getitem__)
    second = max((value for language, value in hits.items() if language != best), default=0.0)
    if hits[best] < max(LEAST_HITS, LEAST_SHARE * len(words), MARGIN * second):
        return ""
    return best


def _words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


@cache
def _languages_by_word() -> dict[str, list[str]]:
    languages: dict[str, list[str]] = {}
    for language, words in _WORDS.items():
        for word in dict.fromkeys(words.split()):
            languages.setdefault(word, []).append(language)
    return languages


@cache
def _script(sign: str) -> str:
    return unicodedata.name(sign, "?").split()[0]
