# SPDX-License-Identifier: Apache-2.0
"""A small BERT trained from scratch on logs, for languages without an installed model.

It starts with random weights and its own WordPiece tokenizer, and is then trained like any network in `job.py`.

Texts are split where the script changes: every kanji, digit, sign and emoji is on its own; hiragana, katakana and
letters form runs, and pieces are learned within runs. So an unseen character becomes one unknown token without
affecting the rest of its sentence. The `tokenizers` library numbers characters in an order that varies between runs and
decides ties between pieces; here characters are counted and numbered first, so that the same texts give the same
tokenizer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import WordPiece

from interloq.data.files.durable import atomic_folder
from interloq.data.files.opening import write_json
from interloq.errors import InputError, count
from interloq.learn.adapt.job import AdaptJob, Base, write_network
from interloq.learn.adapt.settings import Adaptation, SmallEncoder
from interloq.learn.job import Run
from interloq.learn.settings import Training
from interloq.learn.trainable import PairLog
from interloq.records import Pair
from interloq.registry import full_spec

POSITIONS = 512
START = "start"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAIRS = 1_000_000  # to train a tokenizer on
RARE = 2  # least occurrences of a piece
RUNS = r"\p{Han}|[\p{Hiragana}ー]+|[\p{Katakana}ー]+|\p{N}|[\p{S}\p{P}]"


def train_word_pieces(pairs: Callable[[], Iterable[Pair]], folder: Path, *, vocabulary: int) -> int:
    """Write tokenizer.json and tokenizer_config.json for transformers; return the number of pieces."""
    alphabet = _alphabet(pairs(), vocabulary)
    if not alphabet:
        raise InputError("the pairs have no text", hint="use files with text")
    pieces = _train_pieces(pairs(), alphabet, vocabulary)
    folder.mkdir(parents=True, exist_ok=True)
    tokens = {f"{token[1:-1].lower()}_token": token for token in SPECIAL}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **tokens, "clean_up_tokenization_spaces": False}
    write_json(folder / "tokenizer_config.json", settings)
    tokenizer = _empty({piece: number for number, piece in enumerate(pieces)})
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, SPECIAL.index(token)) for token in ("[CLS]", "[SEP]")],
    )
    (folder / "tokenizer.json").write_text(tokenizer.to_str(pretty=True), encoding="utf-8")
    return len(pieces)


def _texts(pairs: Iterable[Pair]) -> Iterable[str]:
    return (text for pair in islice(pairs, PAIRS) for text in (pair.utterance, pair.response))


def _alphabet(pairs: Iterable[Pair], vocabulary: int) -> list[str]:
    """Return the most frequent characters, filling at most three quarters of the vocabulary."""
    normalizer, counts = _normalizer(), Counter[str]()
    for text in _texts(pairs):
        counts.update(normalizer.normalize_str(text))
    room = max(2, 3 * vocabulary // 4 - len(SPECIAL))
    alphabet: list[str] = []
    for character, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if character.isspace():
            continue
        room -= 1 + _in_runs(character)  # a character of a run also has a ## piece
        if room < 0:
            break
        alphabet.append(character)
    return alphabet


def _train_pieces(pairs: Iterable[Pair], alphabet: list[str], vocabulary: int) -> list[str]:
    """Return the pieces, ordered by id."""
    tokenizer = _empty({})
    within = [f"##{character}" for character in alphabet if _in_runs(character)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=max(vocabulary, len(SPECIAL) + len(alphabet) + len(within)),
        min_frequency=RARE,
        special_tokens=[*SPECIAL, *alphabet, *within],
        limit_alphabet=len(alphabet),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(pairs), trainer)
    numbers = tokenizer.get_vocab(with_added_tokens=True)
    return sorted(numbers, key=lambda piece: numbers[piece])


@cache
def _in_runs(character: str) -> bool:
    return [piece for piece, _ in _splitter().pre_tokenize_str(character * 2)] == [character * 2]


def _empty(vocabulary: dict[str, int]) -> Tokenizer:
    tokenizer = Tokenizer(WordPiece(vocab=vocabulary, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer, tokenizer.pre_tokenizer = _normalizer(), _splitter()
    return tokenizer


def _normalizer() -> normalizers.Normalizer:
    """Return a normalizer that makes letters half-width and lower-case.

    Accents stay, because が without its dots is か.
    """
    plain = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=True)
    return normalizers.Sequence([normalizers.NFKC(), plain])


def _splitter() -> pre_tokenizers.PreTokenizer:
    runs = pre_tokenizers.Split(Regex(RUNS), "isolated")
    return pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), runs])


def from_log(log: PairLog, shape: SmallEncoder, settings: Adaptation, training: Training) -> AdaptJob:
    """Return the job that trains a small encoder on a log's texts."""
    pairs = log.pairs

    def start(run: Run) -> Base:
        folder = run.work / START
        if not folder.exists():
            with atomic_folder(folder) as part:
                size = train_word_pieces(pairs, part, vocabulary=shape.vocabulary)
                write_untrained(part, size, shape, settings)
            if size < shape.vocabulary:
                run.report(f"these texts yield a tokenizer of only {count(size, 'piece')}")
        return Base(folder, "nothing", full_spec(shape))

    return AdaptJob(
        pairs=pairs,
        start=start,
        base_id=full_spec(shape),
        settings=replace(settings, objective="mlm"),
        training=training,
        source=log.fingerprint,
    )


def write_untrained(folder: Path, pieces: int, shape: SmallEncoder, settings: Adaptation) -> None:
    """Add a network with random weights, drawn from the seed, to a folder with a tokenizer of this many pieces."""
    config = transformers.BertConfig(
        vocab_size=pieces,
        hidden_size=shape.dimensions,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.dimensions,
        max_position_embeddings=max(POSITIONS, 2 * settings.longest + 5),
        pad_token_id=SPECIAL.index("[PAD]"),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        model, pooler = transformers.BertForMaskedLM(config), transformers.BertModel(config).pooler
    # BERT's pooler is not used to predict tokens; it is saved untrained, so that the saved BERT is complete
    write_network(folder, model, {f"bert.pooler.{name}": tensor for name, tensor in pooler.state_dict().items()})
