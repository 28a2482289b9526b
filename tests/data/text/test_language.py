"""The one answer to which language a text is in."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from interloq.data import embedded
from interloq.data.text.language import (
    NAMES,
    certain_language,
    language_name,
    language_of,
    languages_of,
    main_language,
    resolve,
    supported_language,
)
from interloq.data.text.texts import file_texts

LOGS = Path(embedded.__file__).parent


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How are you today?", "en"),
        ("Not really, I don't know what to say.", "en"),
        ("Ich habe heute keine Zeit, aber morgen ist es gut.", "de"),
        ("Je ne sais pas, et toi ?", "fr"),
        ("¿Qué te gusta hacer en tu tiempo libre?", "es"),
        ("Eu não sei o que você quer dizer.", "pt"),
        ("Non so che cosa dire, grazie.", "it"),
        ("Wat doe je graag in het weekend, als je vrij bent?", "nl"),
        ("Jeg ved ikke, hvad du mener.", "da"),
        ("Как дела? У меня все хорошо", "ru"),
        ("У мене все добре, а що ти робиш?", "uk"),
        ("من این را برای تو خریدم", "fa"),
        ("今日は元気ですか", "ja"),
        ("カラオケ", "ja"),
        ("Tシャツを買った", "ja"),
        ("你好吗", "zh"),
        ("안녕하세요", "ko"),
        ("สวัสดีครับ", "th"),
        ("I said カラ once in this text", "en"),
        ("hello 你好", "en"),
        ("Habari yako, mimi ni mwanafunzi wa chuo kikuu", "Latin script"),
        ("123 !", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Mir geht es gut, danke.", "de"),
        ("Das ist cool", "de"),
        ("Je ne sais pas, et toi ?", "fr"),
        ("はい", "ja"),
        ("好的", "zh"),
        ("да", "Cyrillic script"),
        ("I said カラ once in this text", "en"),
        ("i am a teacher , i am a teacher .", ""),
        ("", ""),
        ("👍 123", ""),
        ("ok", ""),
        ("No.", ""),
        ("Nein", ""),
        ("war?", ""),
        ("el dorado", ""),
        ("π", ""),
        ("¯\\_(ツ)_/¯", ""),
        ("Habari yako, mimi ni mwanafunzi wa chuo kikuu", ""),
    ],
)
def test_a_language_beyond_doubt(text: str, language: str) -> None:
    assert certain_language(text) == language


def test_an_unclear_text_is_taken_to_be_in_the_main_language_of_the_set() -> None:
    german = ["Ja, genau.", "Mir geht es gut, danke.", "Das ist nicht so schön.", "Super!", "42"]
    assert languages_of(german) == ["de", "de", "de", "de", ""]
    assert main_language(german) == "de"
    swahili = ["Habari yako rafiki", "Asante sana", "Karibu nyumbani kwetu"]
    assert main_language(swahili) == "Latin script", "a language that is not listed is not taken for one that is"
    assert resolve(Counter({"en": 1, "Latin script": 99})) == {}
    assert main_language([]) == ""


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_texts_of_a_log_are_hardly_ever_taken_for_another_language(language: str) -> None:
    counts = Counter(map(language_of, file_texts(LOGS / f"log_{language}.jsonl.zst")))
    wrong = sum(n for other, n in counts.items() if other in NAMES and other != language)
    assert wrong < 0.001 * counts.total()
    assert counts[language] > 0.85 * counts.total()


def test_rules_exist_for_some_languages_only() -> None:
    texts = ("好き", "喜欢", "Nein, das ist nicht so.", "")
    assert [supported_language(text, ("en", "ja", "zh")) for text in texts] == ["ja", "zh", "en", "en"]
    assert [language_name(code) for code in ("de", "ja", "Latin script")] == ["German", "Japanese", "Latin script"]
