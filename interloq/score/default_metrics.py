# SPDX-License-Identifier: Apache-2.0
"""The metrics that samples allow, for users who name none, and what to do next.

The judge that comes with this package is first: it learned from people's ratings what makes a reply good, and needs no
set-up. With references, BERTScore, chrF, ROUGE-L and BLEU-2 follow, and ΔBLEU if references have weights; without
references, distinct-n follows. Length is always included. Texts written without spaces are compared by characters, and
networks that know only English are left out for other languages.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from interloq.data.text.language import main_language
from interloq.errors import InputError, InterloqError
from interloq.learn.ready import READY
from interloq.needs import SENTENCE_ENCODER
from interloq.records import Sample
from interloq.registry import create
from interloq.score.checks import Checks

JUDGE, BERTSCORE = f"judge(model='{READY}')", f"bertscore(model='{SENTENCE_ENCODER}')"
DIALOGUE_JUDGE = f"judge(model='{READY}',aspect='dialogue')"
FEWEST_RATED = 20  # samples to choose a metric by
FEWEST_TO_LEARN = 50  # samples to learn a judge from
READ = 1000  # samples whose language is looked at


@dataclass(frozen=True, slots=True)
class Defaults:
    """Specs of default metrics; for each one left out, the reason and what to do about it."""

    metrics: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def default_metrics(samples: Sequence[Sample], *, every: bool = False) -> Defaults:
    """Return metrics for these samples, the most trustworthy first.

    With `every`, distinct-n is included even if there are references.
    """
    characters = is_unspaced(samples)
    with_references = 0
    weighted = False
    for sample in samples:
        with_references += bool(sample.references)
        weighted = weighted or any(reference.weight != 1 for reference in sample.references)
    metrics, left_out = list[str](), list[str]()
    _add_judge(JUDGE, samples, metrics, left_out)
    referenced = 2 * with_references > len(samples)
    if referenced:
        _add_network(BERTSCORE, samples, metrics, left_out)
    if weighted:
        metrics.append(_split("delta_bleu(order=2)", characters))
    if referenced:
        metrics += ["chrf", _split("rouge_l", characters), _split("bleu(order=2)", characters)]
    if every or not referenced:
        metrics.append(_split("distinct", characters))
    return Defaults((*metrics, length_metric(samples)), tuple(left_out))


def require_judge(samples: Sequence[Sample], purpose: str, *, of_dialogues: bool = False) -> str:
    """Return the packaged judge, for users who name no metric; refuse samples that it cannot score.

    Replies that are averaged over dialogues are judged by the aspect that was learned from ratings of whole dialogues.
    """
    metrics, left_out = list[str](), list[str]()
    _add_judge(DIALOGUE_JUDGE if of_dialogues else JUDGE, samples, metrics, left_out)
    if left_out:
        raise InputError(f"no metric to {purpose} by; {left_out[0]}", hint="name another metric, such as -m chrf")
    return metrics[0]


def length_metric(samples: Sequence[Sample]) -> str:
    """Return the spec of `length` for the script of these samples."""
    return _split("length", is_unspaced(samples))


def is_unspaced(samples: Sequence[Sample]) -> bool:
    """Return whether most replies are written without spaces."""
    checks = Checks()
    checks.add(samples[:READ])
    return 2 * checks.facts.unspaced.total() > len(samples[:READ])


def is_english(samples: Sequence[Sample]) -> bool:
    """Return whether most contexts and replies are in English."""
    texts = []
    for sample in samples:
        turns = [turn.text for turn in sample.context]
        texts.append(" ".join([*turns, sample.response]))
    return main_language(texts) == "en"


def _split(metric: str, characters: bool) -> str:
    """Return the metric, with texts split into characters if they have no spaces."""
    if not characters:
        return metric
    if metric.endswith(")"):
        return f"{metric[:-1]},tokenizer='char')"
    return f"{metric}(tokenizer='char')"


def _add_judge(judge: str, samples: Sequence[Sample], metrics: list[str], left_out: list[str]) -> None:
    """Add the judge if it can score most of the samples."""
    with_context = sum(any(turn.text.strip() for turn in sample.context) for sample in samples)
    if 2 * with_context > len(samples):
        _add_network(judge, samples, metrics, left_out)
    else:
        left_out.append(f"{judge}: most samples have no context")


def _add_network(metric: str, samples: Sequence[Sample], metrics: list[str], left_out: list[str]) -> None:
    """Add a metric if its network, which knows only English, knows the language and can be loaded here."""
    if not is_english(samples[:READ]):
        left_out.append(f"{metric}: it knows English only; use a network for your language, see docs/models.md")
        return
    try:
        create(metric).built_with()
    except InterloqError as error:
        left_out.append(f"{metric}: {error}")
    else:
        metrics.append(metric)


def quote_spec(spec: str) -> str:
    """Return a spec as one word of a shell command; its own quotes become double quotes, which need no escaping."""
    if '"' not in spec:
        spec = spec.replace("'", '"')
    return shlex.quote(spec)


def learning_step(path: str) -> str:
    """Return the command that learns a judge from rated samples, with its purpose."""
    return f"a judge that learns from these ratings: interloq train judge {path} -o mine"


def next_steps(path: str, samples: Sequence[Sample], metric: str) -> Iterator[str]:
    """Yield the commands that these samples allow, with the purpose of each; `metric` is a metric that scores them."""
    path, metric = shlex.quote(path), quote_spec(metric)
    rated, most_references = 0, 0
    for sample in samples:
        rated += any(rating.value is not None for rating in sample.ratings)
        most_references = max(most_references, len(sample.references))
    if rated >= FEWEST_RATED:
        yield f"which metric agrees with your raters: interloq choose {path}"
        if rated >= FEWEST_TO_LEARN and is_english(samples[:READ]):
            yield learning_step(path)
    elif rated:
        scores = f"interloq score {path} -m {metric} -o scores.jsonl"
        yield f"does it agree with your raters: {scores} && interloq meta scores.jsonl --samples {path}"
    else:
        yield "which metric to trust: let people rate some of these replies, then: interloq choose RATED"
    systems = sorted({sample.system for sample in samples} - {""})
    if len(systems) > 1:
        pair = f"--old-system {shlex.quote(systems[0])} --new-system {shlex.quote(systems[1])}"
        yield f"is one system better: interloq compare {path} {path} {pair} -m {metric}"
    if most_references < 2:
        yield f"more references from your logs: interloq extend {path} --index INDEX -o extended.jsonl"
