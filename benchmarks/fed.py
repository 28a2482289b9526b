"""Compare FED with the literal procedure: one forward pass per dimension and follow-up, same model, same run.

Dialogues are made from the embedded log: `--turns` turns of two texts each, as long as those of chatbots (about twenty
tokens). Every second turn is judged given all turns before it, as in dialogues between bots. Both sides compute all 18
dimensions of FED, `conditional`, from texts to scores, after a small warm-up, in the same precision. The literal side
is a straightforward use of transformers: batches of one, all logits, nothing kept between passes. `--model` names a
language model; without it a small LLaMA with random weights is used. Seconds are processor time on a CPU, wall time on
a GPU. `--literal N` limits the literal side to the first N dialogues; seconds are compared per reply.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _figures import Figure, add_json_option, report
from numpy.typing import NDArray

Turns = tuple[str, ...]
Floats = NDArray[np.float64]


def made_dialogues(n: int, turns: int) -> list[list[str]]:
    from interloq import load
    from interloq.data.embedded import embedded_log_path

    rng = np.random.default_rng(0)
    texts = [text for pair in load(embedded_log_path("en"), kind="pairs") for text in (pair.utterance, pair.response)]
    return [[" ".join(texts[i] for i in two) for two in rng.integers(len(texts), size=(turns, 2))] for _ in range(n)]


def judged(dialogues: Sequence[Sequence[str]]) -> list[Turns]:
    """Every second turn with all turns before it, dialogue by dialogue."""
    return [tuple(turns[: end + 1]) for turns in dialogues for end in range(1, len(turns), 2)]


def small_model(folder: Path) -> str:
    """Write a LLaMA with eleven million random weights and its own tokenizer."""
    import tokenizers
    import torch
    import transformers

    transformers.logging.disable_progress_bar()
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=4096, special_tokens=["<|end|>"], initial_alphabet=letters, show_progress=False
    )
    made.train_from_iterator([text for turns in made_dialogues(500, 10) for text in turns], trainer)
    ends = {"bos_token": "<|end|>", "eos_token": "<|end|>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, **ends)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=384,
        intermediate_size=1024,
        num_hidden_layers=6,
        num_attention_heads=6,
        num_key_value_heads=6,
        bos_token_id=0,
        eos_token_id=0,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def dimensions() -> list[Any]:
    from interloq.data.follow_ups import read_follow_ups

    return [found for found in read_follow_ups("en").dimensions.values() if not found.source]


# ---- the two sides ---------------------------------------------------------------------------------------------------


def ours(args: argparse.Namespace) -> Callable[[Sequence[Turns]], Floats]:
    from interloq import Sample
    from interloq.metrics.likelihood.fed import Fed
    from interloq.models.lm.dialogue_scorer import DialogueScorer

    scorer = DialogueScorer(args.model, device=args.device, precision=args.type)

    class Here(Fed):
        """The model on the requested device, in the requested precision."""

        def _scorer(self) -> Any:
            return scorer

    metrics = [Here(args.model, found.name) for found in dimensions()]

    def score(contexts: Sequence[Turns]) -> Floats:
        samples = [Sample(str(i), turns[:-1], turns[-1]) for i, turns in enumerate(contexts)]
        return np.column_stack([metric.stats(samples)[:, 0] for metric in metrics])

    return score


def literal(args: argparse.Namespace) -> Callable[[Sequence[Turns]], Floats]:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(args.model)
    model = transformers.AutoModelForCausalLM.from_pretrained(args.model, dtype=getattr(torch, args.type))
    model = model.to(args.device).eval()
    wanted = dimensions()

    def numbers(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def likelihood(turns: Turns, follow_up: str) -> float:
        before = [tokenizer.bos_token_id or tokenizer.eos_token_id]
        for turn in turns:
            before += [*numbers(turn), tokenizer.eos_token_id]
        own = numbers(follow_up)
        logits = model(torch.tensor([before + own], device=args.device)).logits[0]
        said = torch.log_softmax(logits[len(before) - 1 : -1].float(), dim=1)
        return float(said[range(len(own)), own].mean())

    def score(contexts: Sequence[Turns]) -> Floats:
        scores = np.zeros((len(contexts), len(wanted)))
        for row, turns in zip(scores, contexts, strict=True):
            for i, dimension in enumerate(wanted):
                good = mean([likelihood(turns, text) for text in dimension.positive])
                bad = mean([likelihood(turns, text) for text in dimension.negative])
                row[i] = good - bad
        return scores

    return score


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


# ---- measuring -------------------------------------------------------------------------------------------------------


def measured(args: argparse.Namespace) -> dict[str, float]:
    contexts = judged(made_dialogues(args.dialogues, args.turns))
    few = judged(made_dialogues(args.dialogues, args.turns)[: args.literal or args.dialogues])
    clock = time.process_time if args.device == "cpu" else time.perf_counter
    found, seconds = {}, {}
    for name, make, asked in (("ours", ours, contexts), ("literal", literal, few)):
        score = make(args)
        score([("hello", "how are you ?")])
        start = clock()
        found[name] = score(asked)
        seconds[name] = (clock() - start) / len(asked)
    difference = float(np.abs(found["ours"][: len(few)] - found["literal"]).max())
    return {
        "seconds per reply, ours": seconds["ours"],
        "seconds per reply, literal": seconds["literal"],
        "largest difference": difference,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="", help="a language model (default: a small one with random weights)")
    parser.add_argument("--dialogues", type=int, default=4)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--literal", type=int, default=1, help="dialogues for the literal side (1; 0: all)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--type", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--threads", type=int, default=1, help="processor threads (default 1)")
    add_json_option(parser)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    import torch

    torch.set_num_threads(args.threads)
    named = args.model or "a small random LLaMA"
    with tempfile.TemporaryDirectory() as folder:
        args.model = args.model or small_model(Path(folder))
        figures = measured(args)
    ours, other = figures["seconds per reply, ours"], figures["seconds per reply, literal"]
    rows = [
        Figure("time per reply", ours, "s", other, peer="a pass per follow-up"),
        Figure("largest difference", figures["largest difference"]),
    ]
    facts = f"{named}, {args.device}, {args.type}, {args.threads} thread(s)"
    report(f"{facts}, {args.dialogues} dialogues of {args.turns} turns, 18 dimensions", rows, args.json)


if __name__ == "__main__":
    main()
