"""Self-play of one language model: thousands of dialogues together, compared with one dialogue after the other.

Three sides, in one run, with the same weights, openings, exchanges, sampling and precision:

together       `interloq play`, with batches
one at a time  the same program with batches of one: the same dialogues, so exactly the same work
transformers   a plain loop around `generate`, one reply per call, as in typical self-chat scripts

Each side is measured in dialogues per minute after a small warm-up, from openings to finished dialogues; the slow sides
play fewer dialogues. Replies have the same limits on every side; their mean length is printed, because shorter replies
need less work. The default model is a LLaMA with random weights, made on the fly; `--model` names a real one.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _figures import Figure, add_json_option, report

from interloq.play.bots.hugging_face import HuggingFace
from interloq.play.openings import read_openings
from interloq.play.schedule import BotMatch, self_play
from interloq.play.talk import talk
from interloq.records import Dialogue, Turn

TEMPLATE = "{% for message in messages %}{{ message['content'] }}<|endoftext|>{% endfor %}"


def made_model(folder: Path, args: argparse.Namespace) -> str:
    """Write a LLaMA with random weights and a tokenizer trained on the embedded log."""
    import tokenizers
    import torch
    import transformers

    from interloq import load
    from interloq.data.embedded import embedded_log_path

    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=8_000, special_tokens=["<|endoftext|>"], initial_alphabet=letters, show_progress=False
    )
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.train_from_iterator((pair.response for pair in load(embedded_log_path("en"), kind="pairs")), trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|endoftext|>")  # noqa: S106
    tokenizer.chat_template = TEMPLATE
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=args.hidden,
        num_hidden_layers=args.layers,
        num_attention_heads=args.hidden // 64,
        num_key_value_heads=args.hidden // 64,
        intermediate_size=args.hidden * 3,
        max_position_embeddings=2_048,
        bos_token_id=0,
        eos_token_id=0,
    )
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def matches(n: int, exchanges: int) -> list[BotMatch]:
    openings = read_openings("embedded:en")
    return self_play(["bot"], openings, exchanges=exchanges, repeats=-(-n // len(openings)))[:n]


def played(bot: HuggingFace, n: int, args: argparse.Namespace, batch: int) -> list[Dialogue]:
    return list(talk(matches(n, args.exchanges), {"bot": bot}, batch=batch, together=max(n, 1)))


def plainly(bot: HuggingFace, n: int, args: argparse.Namespace, _: int) -> list[Dialogue]:
    """Self-play as in a script: a prompt, a call of `generate`, the next prompt."""
    import torch

    network, tokenizer = bot._writer.network, bot._writer.tokenizer
    options = {"do_sample": True, "temperature": bot.temperature, "top_p": bot.top_p, "top_k": 0}
    options |= {"max_new_tokens": bot.max_tokens, "pad_token_id": tokenizer.pad_token_id or tokenizer.eos_token_id}
    dialogues = []
    for match in matches(n, args.exchanges):
        torch.manual_seed(match.seed)
        turns = [Turn(text, "AB"[i % 2]) for i, text in enumerate(match.opening)]
        for i in range(2 * match.exchanges):
            ids = torch.tensor(bot._prompts.tokens([turns]), device=network.device)
            with torch.inference_mode():
                found = network.generate(ids, attention_mask=torch.ones_like(ids), **options)
            text = tokenizer.decode(found[0, ids.shape[1] :], skip_special_tokens=True).strip()
            turns.append(Turn(text or "…", "AB"[i % 2]))
        dialogues.append(Dialogue(match.id, turns, given=2))
    return dialogues


def measured(side: Any, bot: HuggingFace, n: int, args: argparse.Namespace, batch: int) -> tuple[dict[str, Any], Any]:
    side(bot, 1, args, batch)
    start = time.perf_counter()
    dialogues = side(bot, n, args, batch)
    seconds = time.perf_counter() - start
    texts = [turn.text for dialogue in dialogues for turn in dialogue.turns[dialogue.given :]]
    tokens = sum(len(row) for row in bot._writer.tokenizer(texts, add_special_tokens=False)["input_ids"])
    facts = {
        "dialogues": n,
        "batch": batch,
        "seconds": round(seconds, 2),
        "dialogues_per_minute": round(60 * n / seconds, 1),
        "tokens_per_reply": round(tokens / len(texts), 1),
    }
    return facts, dialogues


def compared(args: argparse.Namespace, model: str) -> dict[str, Any]:
    bot = HuggingFace(
        model, max_tokens=args.tokens, batch=args.batch, device=args.device, precision=args.precision, temperature=1.0
    )
    sides = {
        "together": (played, args.dialogues, args.batch),
        "one at a time": (played, args.single, 1),
        "transformers": (plainly, args.single, 1),
    }
    found = {}
    for name, (side, n, batch) in sides.items():
        found[name] = measured(side, bot, n, args, batch)
        print(f"{name}: {found[name][0]['seconds']} s", file=sys.stderr)
    facts: dict[str, Any] = {name: result[0] for name, result in found.items()}
    together = {dialogue.id: dialogue for dialogue in found["together"][1]}
    same = sum(together.get(dialogue.id) == dialogue for dialogue in found["one at a time"][1])
    return {
        "device": _device(bot),
        **facts,
        "same_dialogues": same,
    }


def _device(bot: HuggingFace) -> str:
    import torch

    if bot._writer.device.type == "cuda":
        return str(torch.cuda.get_device_name())
    return f"{platform.machine()}, {torch.get_num_threads()} threads"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a folder, package or hub:… (default: random weights)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--precision", choices=("auto", "float32", "bfloat16", "float16"), default="auto")
    parser.add_argument("--dialogues", type=int, default=64, help="dialogues played together (default 64)")
    parser.add_argument("--single", type=int, default=4, help="dialogues played one at a time (default 4)")
    parser.add_argument("--exchanges", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=32, help="maximum tokens per reply (default 32)")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=512, help="width of the random model")
    parser.add_argument("--layers", type=int, default=8, help="layers of the random model")
    add_json_option(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        facts = compared(args, args.model or made_model(Path(folder), args))
    pace = {name: facts[name]["dialogues_per_minute"] for name in ("together", "one at a time", "transformers")}
    figures = [
        Figure("dialogues together", pace["together"], "/min", pace["one at a time"], peer="one at a time"),
        Figure("together, beside a loop", pace["together"], "/min", pace["transformers"], peer="a loop over generate"),
        Figure("equal dialogues, together and one at a time (share)", facts["same_dialogues"] / args.single),
    ]
    shape = f"{args.dialogues} dialogues together, {args.exchanges} exchanges, at most {args.tokens} tokens per reply"
    report(f"{args.model or 'a random LLaMA'}, {facts['device']}, {shape}", figures, args.json)


if __name__ == "__main__":
    main()
