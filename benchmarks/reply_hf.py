"""Replies of the bot `hf` to fixed contexts, compared with `generate` of transformers: in batches, and one at a time.

Three sides, in one run, with the same weights, prompts, sampling, limits and precision:

hf             `HuggingFace.replies`, in batches
transformers   tokenized, padded and generated in batches of the same size, in the order of the file
one at a time  the same, with batches of one, for fewer contexts

Each side is timed from contexts to texts after a warm-up, and is measured in tokens per second, because samples differ
in length. With `--beams`, all sides search instead of sampling. The default model is a LLaMA with random weights, made
on the fly; its output weights are scaled, so that few tokens are likely, as in a trained model. `--model` names a real
one.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from _figures import Figure, add_json_option, report
from play import made_model

from interloq import load
from interloq.data.embedded import embedded_log_path
from interloq.play.bots.hugging_face import HuggingFace
from interloq.records import Turn

Context = Sequence[Turn]
SHARPNESS = 12  # factor of random output weights


def read_contexts(n: int) -> list[list[Turn]]:
    """Return contexts of one to four turns from the embedded log."""
    texts = [pair.utterance for pair in load(embedded_log_path("en"), kind="pairs")]
    rng = random.Random(0)
    return [[Turn(rng.choice(texts), "AB"[i % 2]) for i in range(rng.randint(1, 4))] for _ in range(n)]


def reply_with_hf(bot: HuggingFace, contexts: Sequence[Context]) -> list[str]:
    return [reply.text for reply in bot.replies(contexts, range(len(contexts)))]


def reply_with_transformers(bot: HuggingFace, contexts: Sequence[Context], batch: int) -> list[str]:
    import torch

    network, tokenizer = bot._writer.network, bot._writer.tokenizer
    options = {"do_sample": True, "temperature": bot.temperature, "top_p": bot.top_p, "top_k": 0}
    if bot.beams > 1:
        options = {"do_sample": False, "num_beams": bot.beams}
    pad = tokenizer.eos_token_id
    texts = []
    torch.manual_seed(0)
    for first in range(0, len(contexts), batch):
        rows = bot._prompts.tokens(contexts[first : first + batch])
        longest = max(map(len, rows))
        ids = torch.tensor([[pad] * (longest - len(row)) + row for row in rows], device=network.device)
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=network.device)
        with torch.inference_mode():
            found = network.generate(
                ids, attention_mask=mask, max_new_tokens=bot.max_tokens, pad_token_id=pad, **options
            )
        texts += tokenizer.batch_decode(found[:, longest:], skip_special_tokens=True)
    return texts


def measure(bot: HuggingFace, side: Callable[[Sequence[Context]], list[str]], contexts: Sequence[Context]) -> Any:
    """Return the speed of a side, after a warm-up."""
    side(contexts[: max(1, len(contexts) // 8)])
    start = time.perf_counter()
    texts = side(contexts)
    seconds = time.perf_counter() - start
    tokens = sum(len(row) + 1 for row in bot._writer.tokenizer(texts, add_special_tokens=False)["input_ids"])
    return {
        "replies": len(texts),
        "seconds": round(seconds, 2),
        "replies_per_second": round(len(texts) / seconds, 2),
        "tokens_per_second": round(tokens / seconds, 1),
        "tokens_per_reply": round(tokens / len(texts), 1),
    }


def compare(args: argparse.Namespace, model: str) -> dict[str, Any]:
    """Measure all sides; each has several rounds, of which the best counts."""
    bot = HuggingFace(
        model,
        max_tokens=args.max_tokens,
        batch=args.batch,
        device=args.device,
        precision=args.precision,
        beams=args.beams,
    )
    if not args.model:
        bot._writer.network.lm_head.weight.data *= SHARPNESS
    contexts = read_contexts(args.contexts)
    sides = {
        "hf": (lambda some: reply_with_hf(bot, some), contexts),
        "transformers": (lambda some: reply_with_transformers(bot, some, args.batch), contexts),
        "one at a time": (lambda some: reply_with_transformers(bot, some, 1), contexts[: args.alone]),
    }
    found: dict[str, Any] = {}
    for _ in range(args.rounds):
        for name, (side, some) in sides.items():
            measured = measure(bot, side, some)
            if name not in found or measured["tokens_per_second"] > found[name]["tokens_per_second"]:
                found[name] = measured
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="", help="a folder or an installed package; default: a random LLaMA")
    parser.add_argument("--contexts", type=int, default=256)
    parser.add_argument("--alone", type=int, default=16, help="contexts answered one at a time")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=256, help="of the random model")
    parser.add_argument("--layers", type=int, default=4, help="of the random model")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", default="auto")
    add_json_option(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = compare(args, args.model or made_model(Path(folder), args))
    speed = {name: found[name]["tokens_per_second"] for name in ("hf", "transformers", "one at a time")}
    figures = [
        Figure("tokens, beside batches", speed["hf"], "/s", speed["transformers"], peer="transformers, in batches"),
        Figure("tokens, beside one at a time", speed["hf"], "/s", speed["one at a time"], peer="one at a time"),
        Figure("tokens per reply", found["hf"]["tokens_per_reply"]),
    ]
    setting = f"{args.device}, batches of {args.batch}, {args.beams} beam(s)"
    report(f"{args.model or 'a random LLaMA'}, {args.contexts} contexts, {setting}", figures, args.json)


if __name__ == "__main__":
    main()
