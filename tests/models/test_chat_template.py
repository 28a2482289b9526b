"""Chat templates: programs from others, rendered with limits."""

from __future__ import annotations

from typing import Any

import pytest

from interloq import InputError

transformers = pytest.importorskip("transformers")

from interloq.models import chat_template  # noqa: E402
from interloq.models.chat_template import TemplateRefused, render_chat  # noqa: E402
from tests.made_lm import byte_tokenizer  # noqa: E402

HI = [{"role": "user", "content": "hi \U0001f600 \ud800"}]
PLAIN = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{{ eos_token }}\n{% endfor %}{{ bos_token }}"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return byte_tokenizer(eos_token="<|endoftext|>", pad_token="<|endoftext|>")  # noqa: S106


def test_the_text_is_that_of_transformers(tokenizer: Any) -> None:
    talk = [*HI, {"role": "assistant", "content": "{{ 1 }}"}, {"role": "user", "content": ""}]
    for template in (PLAIN, "{{ messages | tojson }}{% if add_generation_prompt %}go{% endif %}"):
        tokenizer.chat_template = template
        expected = tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
        assert render_chat(tokenizer, talk) == expected


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'x' * 3000000000 }}",
        "{% set n = namespace(x='x') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
        "{{ 'x'.center(3000000000) }}",
    ],
)
def test_a_template_cannot_take_all_memory(tokenizer: Any, template: str) -> None:
    tokenizer.chat_template = template
    with pytest.raises(InputError, match="model: the chat template cannot be used: it takes more than 512 MiB"):
        render_chat(tokenizer, HI, where="model")
    tokenizer.chat_template = PLAIN
    assert render_chat(tokenizer, HI).startswith("[user]hi")


def test_a_template_cannot_run_without_end(tokenizer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    quick = tmp_path / "worker.py"
    quick.write_text(chat_template.WORKER.read_text().replace("SECONDS = 10.0", "SECONDS = 0.2"))
    monkeypatch.setattr(chat_template, "WORKER", quick)
    worker = chat_template._Worker()
    monkeypatch.setattr(chat_template, "_WORKER", worker)
    loops = "".join(f"{{% for i{n} in range(99999) %}}" for n in range(5))
    tokenizer.chat_template = loops + "{% endfor %}" * 5
    with pytest.raises(InputError, match="the chat template cannot be used: it takes more than"):
        render_chat(tokenizer, HI)
    tokenizer.chat_template = PLAIN
    assert render_chat(tokenizer, HI).startswith("[user]hi")  # in a new process
    worker.close()


def test_an_interrupted_request_is_not_answered_later(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(process: Any, request: str) -> str:
        process.stdin.write(request + "\\n")
        process.stdin.flush()
        raise KeyboardInterrupt

    tokenizer.chat_template = PLAIN
    with monkeypatch.context() as patch:
        patch.setattr(chat_template, "_answer", interrupt)
        with pytest.raises(KeyboardInterrupt):
            render_chat(tokenizer, HI)
    other = [{"role": "user", "content": "something else"}]
    assert render_chat(tokenizer, other).startswith("[user]something else")


def test_what_a_template_refuses(tokenizer: Any) -> None:
    for template, why in (("{{ raise_exception('user first') }}", "user first"), ("{{ a.b.c }}", "undefined")):
        tokenizer.chat_template = template
        with pytest.raises(TemplateRefused, match=why):
            render_chat(tokenizer, HI)
    with pytest.raises(TemplateRefused, match="no messages"):
        render_chat(tokenizer, [])
