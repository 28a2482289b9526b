"""Clean posts with `interloq corpus build` and with a plain loop over the same filters, on the same posts, in one run.

The plain loop reads each line with `json`, makes a post from it and calls one filter after another, as one would write
it. Ours is the cleaning stage of a build: lines are cut into shards, cleaned, and written to disk, in one process and
in one process per core (including the time to start the processes). The benchmark checks that both keep the same posts
with the same texts. Posts are generated: words with Zipf frequencies and the URLs, names, emoji, repeats, copies, short
and foreign posts of a social network.

`corpus pairs --draw` is compared with a reservoir in a plain loop, and with pandas, which reads the whole file. Each
runs in a process of its own: seconds, and the most memory it used.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _figures import Figure, add_json_option, report

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


DRAWS = {
    "plain reservoir": """
import json, random
rng, drawn = random.Random(0), []
with open(source, encoding="utf-8") as file:
    for i, line in enumerate(file):
        pair = json.loads(line)
        if i < n:
            drawn.append(pair)
        elif (place := rng.randrange(i + 1)) < n:
            drawn[place] = pair
with open(target, "w", encoding="utf-8") as file:
    file.writelines(json.dumps(pair, ensure_ascii=False) + chr(10) for pair in drawn)
""",
    "pandas": """
import pandas
drawn = pandas.read_json(source, lines=True, dtype=False, convert_dates=False).sample(n, random_state=0)
drawn.to_json(target, orient="records", lines=True, force_ascii=False)
""",
    "interloq": """
from interloq.retrieve.corpus_pairs import PairOptions, pairs_file
pairs_file(source, target, PairOptions(draw=n))
""",
}
MEASURED = """
import resource, sys, time
source, target, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
start = time.perf_counter()
{code}
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def made_pairs(path: Path, n: int) -> None:
    """Generated pairs of nine words each."""
    rng = random.Random(0)
    words = ["".join(rng.choices(SYLLABLES, k=rng.choice((1, 1, 2, 2, 3)))) for _ in range(5_000)]
    with path.open("w", encoding="utf-8") as file:
        for i in range(n):
            utterance, response = " ".join(rng.choices(words, k=9)), " ".join(rng.choices(words, k=9))
            pair = {"id": f"r{i}", "utterance": utterance, "response": response, "to": f"p{i}", "thread": f"p{i}"}
            file.write(json.dumps(pair) + "\n")


def draws(pairs: int, n: int, repeats: int) -> dict[str, dict[str, float]]:
    """Seconds and MiB of each way to draw n pairs."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place) / "pairs.jsonl", Path(place) / "drawn.jsonl"
        made_pairs(source, pairs)
        for name, code in DRAWS.items():
            arguments = [sys.executable, "-c", MEASURED.format(code=code), str(source), str(target), str(n)]
            runs = []
            for _ in range(repeats):
                shown = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout  # noqa: S603
                runs.append([float(value) for value in shown.split()])
            records = sum(b'"utterance"' in line for line in target.read_bytes().splitlines())
            if records != n:
                raise SystemExit(f"{name} drew {records} pairs")
            found[name] = {"seconds": min(run[0] for run in runs), "MiB": max(run[1] for run in runs)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=200_000)
    parser.add_argument("--language-posts", type=int, default=50_000, help="posts for language identification")
    parser.add_argument("--pairs", type=int, default=200_000, help="pairs to draw from")
    parser.add_argument("--draw", type=int, default=10_000, help="pairs to draw")
    parser.add_argument("--only", choices=("clean", "draw"), help="one of the two comparisons")
    parser.add_argument("--repeats", type=int, default=2)
    add_json_option(parser)
    args = parser.parse_args()
    figures = []
    if args.only != "draw":
        figures += cleaning_figures(args)
    if args.only != "clean":
        found = draws(args.pairs, args.draw, args.repeats)
        for what, unit in (("seconds", "s"), ("MiB", "MiB")):
            for name in sorted(found.keys() - {"interloq"}):
                ours, other = found["interloq"][what], found[name][what]
                figures.append(Figure(f"{what} to draw, beside {name}", ours, unit, other, peer=name))
    posts = f"{args.posts:,} posts ({args.language_posts:,} with language identification)"
    report(f"{posts}; {args.draw:,} of {args.pairs:,} pairs drawn", figures, args.json)


def cleaning_figures(args: argparse.Namespace) -> list[Figure]:
    """Return posts per second with and without language identification, beside the plain loop."""
    lines = made_posts(args.posts)
    measurements = {
        "without language identification": measured(lines, Cleaning(scripts=("Latin",)), args.repeats),
        "with language identification": measured(lines[: args.language_posts], Cleaning(lang="en"), args.repeats),
    }
    figures = []
    for title, found in measurements.items():
        plain = found.pop("plain loop")
        for name, rate in found.items():
            figures.append(Figure(f"posts, {name}, {title}", rate, "/s", plain, peer="a plain loop"))
    return figures


if __name__ == "__main__":
    main()
