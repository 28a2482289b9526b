"""Clean posts with `interloq corpus build` and with a plain loop over the same filters, on the same posts, in one run.

The plain loop reads each line with `json`, makes a post from it and calls one filter after another, as one would write
it. Ours is the cleaning stage of a build: lines are cut into shards, cleaned, and written to disk, in one process and
in one process per core (including the time to start the processes). The benchmark checks that both keep the same posts
with the same texts. Posts are generated: words with Zipf frequencies and the URLs, names, emoji, repeats, copies, short
and foreign posts of a social network. `--json` prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interloq.data.corpus.clean import (
    Cleaning,
    RawPost,
    clean_post,
    find_answered_id,
    letters_and_digits,
    without_digits,
)
from interloq.data.corpus.clean_shard import clean_shard
from interloq.data.corpus.language_filter import are_in_language
from interloq.data.corpus.shards import Logs
from interloq.data.corpus.times import microseconds
from interloq.data.corpus.workers import cores, work

SYLLABLES = ("ka", "to", "mi", "ne", "ra", "so", "lin", "ter", "ing", "ed", "the", "an", "or", "is", "pla", "gre", "wo")
FOREIGN = "私は今日とても楽しい一日を過ごしましたありがとうございますそれでは明日また会いましょう"
EMOJI = ("😀", "😂", "🎉", "❤️", "👍🏽", "🔥", "😭", "✨")


def made_posts(n: int, *, seed: int = 0) -> list[str]:
    """Generated posts as JSON lines."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(SYLLABLES, k=rng.choice((1, 1, 2, 2, 3)))) for _ in range(5_000)]
    weights = [1 / (i + 1) for i in range(5_000)]
    lines, texts = [], [""]
    for i in range(n):
        text = rng.choice(texts[-200:]) if rng.random() < 0.03 else _made_text(rng, words, weights)
        texts.append(text)
        reply_to = str(10**17 + rng.randrange(max(0, i - 100), i)) if i and rng.random() < 0.6 else ""
        post = {
            "id": str(10**17 + i),
            "user": f"u{rng.randrange(n // 20 + 1)}",
            "text": text,
            "time": 1_500_000_000 + i,
        }
        lines.append(json.dumps(post | {"reply_to": reply_to, "lang": "en"}, ensure_ascii=i % 2 == 0))
    return lines


def _made_text(rng: random.Random, words: list[str], weights: list[float]) -> str:
    chance = rng.random
    if chance() < 0.04:
        text = "".join(rng.choices(FOREIGN, k=rng.randrange(10, 60)))
    else:
        text = " ".join(rng.choices(words, weights, k=rng.randrange(3, 22))).capitalize()
    text += rng.choice((".", "!", "?", "", ""))
    text = f"@user{rng.randrange(100_000)} {text}" if chance() < 0.6 else text
    text += f" https://t.co/{rng.randrange(10**9):x}" if chance() < 0.2 else ""
    text += " " + "".join(rng.choices(EMOJI, k=rng.randrange(1, 4))) if chance() < 0.15 else ""
    text += f" #{rng.choice(words)}" if chance() < 0.1 else ""
    text = text.replace("o", "ooooo", 1) if chance() < 0.04 else text
    text += " no no no no no" if chance() < 0.01 else ""
    text = text.replace(" ", " &amp; ", 1) if chance() < 0.04 else text
    text = text.replace(" ", "\n", 2) if chance() < 0.06 else text
    text = "\u200b" + text if chance() < 0.01 else text
    return text[:4] if chance() < 0.03 else text


def plain_loop(lines: list[str], cleaning: Cleaning) -> list[tuple[str, str]]:
    """Ids and texts of the posts that are kept."""
    kept = []
    for line in lines:
        value = json.loads(line)
        time_ = microseconds(value["time"])
        post = RawPost(value["id"], value["user"], value["text"], time_, value["reply_to"], value["lang"])
        text, reason = clean_post(post, cleaning)
        if reason:
            continue
        if cleaning.lang and not are_in_language([text], [post.lang], cleaning.lang, cleaning.detectors)[0]:
            continue
        normal = letters_and_digits(text) or text
        without_digits(normal)
        find_answered_id(post, cleaning)
        kept.append((post.id, text))
    return kept


def ours(log: Path, folder: Path, cleaning: Cleaning, workers: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tasks = ((shard, cleaning, folder, 5, False) for shard in Logs([log]).shards())
    for _ in work(clean_shard, tasks, workers):
        pass


def kept_by_us(folder: Path) -> list[tuple[str, str]]:
    import duckdb

    query = "SELECT id, text FROM read_parquet(?) ORDER BY place"
    found: list[tuple[str, str]] = duckdb.execute(query, [str(folder / "*.parquet")]).fetchall()
    return found


def best_time(action: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def measured(lines: list[str], cleaning: Cleaning, repeats: int) -> dict[str, float]:
    """Posts per second of the plain loop, and of ours in one process and in one per core."""
    with tempfile.TemporaryDirectory() as place:
        log, folder = Path(place) / "posts.jsonl", Path(place) / "shards"
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")
        seconds = {
            "plain loop": best_time(lambda: plain_loop(lines, cleaning), repeats),
            "interloq, 1 process": best_time(lambda: ours(log, folder, cleaning, 1), repeats),
            f"interloq, {cores()} processes": best_time(lambda: ours(log, folder, cleaning, cores()), repeats),
        }
        if kept_by_us(folder) != plain_loop(lines, cleaning):
            raise SystemExit("the two sides do not keep the same posts")
    return {name: len(lines) / second for name, second in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=1_000_000)
    parser.add_argument("--language-posts", type=int, default=200_000, help="posts for language identification")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    lines = made_posts(args.posts)
    figures: dict[str, Any] = {
        "without language identification": measured(lines, Cleaning(scripts=("Latin",)), args.repeats),
        "with language identification": measured(lines[: args.language_posts], Cleaning(lang="en"), args.repeats),
    }
    for found in list(figures.values()):
        plain = found["plain loop"]
        found |= {f"ratio of {name}": rate / plain for name, rate in list(found.items()) if name != "plain loop"}
    processor = platform.processor() or platform.machine()
    figures["machine"] = f"{processor}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(json.dumps(figures, indent=2) if args.json else report(figures, args))


def report(figures: dict[str, Any], args: argparse.Namespace) -> str:
    lines = [f"{args.posts} posts ({args.language_posts} with language identification); {figures['machine']}"]
    for title, found in figures.items():
        if title != "machine":
            lines.append(title)
            lines += [f"  {name:<32} {value:12,.0f} posts/s" for name, value in found.items() if "ratio" not in name]
            lines += [f"  {name:<32} {value:12.1f} ×" for name, value in found.items() if "ratio" in name]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
