"""Tiny valid files of every kind, from which hostile variants are made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Files = Mapping[str, bytes]

RATING = {"rater": "ann", "aspect": "overall", "value": 3.5, "role": "reader", "item": "1/0"}
RECORDS: dict[str, dict[str, Any]] = {
    "samples": {
        "id": "1",
        "context": ["hi", {"speaker": "A", "text": "hello", "time": "2020-01-01T00:00:00Z"}],
        "response": "fine",
        "references": ["good", {"text": "well", "weight": 0.5, "source": "human"}],
        "system": "s",
        "ratings": [RATING, 4, None],
    },
    "dialogues": {
        "id": "1",
        "turns": ["hi", {"speaker": "A", "text": "hello"}],
        "systems": {"A": "x"},
        "ratings": [RATING],
        "given": 1,
    },
    "posts": {"id": "1", "user": "u", "text": "hello", "time": "2020-01-01T00:00:00Z", "reply_to": "0", "lang": "en"},
    "pairs": {"id": "1", "utterance": "hi", "response": "hello", "to": "0", "thread": "t", "time": ""},
    "scores": {"id": "1", "metric": "bleu", "value": 0.5, "system": "s"},
    "ratings": RATING,
}
CHAT = [{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}]
TABLE = 'id,context,response,reference,system,rating,rating:q:ann\n1,"hi|||you",fine,good,s,3,4\n2,a,"b ""c""",d,s,,\n'

TWEET = {"id": "1", "author_id": "a", "text": "hello @you", "created_at": "2020-01-01T00:00:00Z", "lang": "en"}
TWEET |= {"referenced_tweets": [{"type": "replied_to", "id": "0"}]}  # type: ignore[dict-item]
_OLD_TWEET = {
    "id_str": "1", "user": {"id_str": "a"}, "full_text": "hello", "extended_tweet": {"full_text": "hello you"},
    "created_at": "Wed Oct 10 20:19:24 +0000 2018", "in_reply_to_status_id_str": "0", "lang": "en",
}  # fmt: skip
_COMMENT = {"id": "c", "author": "a", "body": "hello **you**", "created_utc": 1600000000, "parent_id": "t3_x"}
_COMMENT |= {"link_id": "t3_x", "subreddit": "s"}
_MESSAGE = {"id": 1, "type": "message", "from_id": "u1", "date_unixtime": "1600000000", "reply_to_message_id": 0}
_MESSAGE |= {"text": ["hello ", {"type": "link", "text": "x.org"}]}
_DISCORD = {
    "id": "1", "type": "Reply", "timestamp": "2020-01-01T00:00:00+00:00", "content": "hello <@1>", "isPinned": False,
    "author": {"id": "a", "name": "ann"}, "reference": {"messageId": "0"},
}  # fmt: skip
_SLACK = {"type": "message", "user": "u", "text": "hello <http://x.org|x>", "ts": "16.0001", "thread_ts": "1.0"}
LOGS: dict[str, tuple[str, Any]] = {
    "posts": ("a.jsonl", [RECORDS["posts"]] * 3),
    "table": ("a.csv", 'id,user,text,time\n1,ann,"hello, you",1600000000\n2,ben,"a ""b""\nc",2020-01-01\n'),
    "twitter": ("a.jsonl", [TWEET, _OLD_TWEET, {"data": [TWEET], "meta": {}}, {"delete": {}}]),
    "reddit": ("a.jsonl", [_COMMENT, {"id": "s", "author": "b", "title": "t", "selftext": "x", "subreddit": "s"}]),
    "irc": ("a-2020-01-01.txt", "[10:00] <ann> hello\n=== ben joined\n[2020-01-01 10:01:02] <@ben> ann: hi\n"),
    "telegram": ("a.json", json.dumps({"id": 1, "name": "c", "messages": [_MESSAGE, {**_MESSAGE, "id": 2}]})),
    "discord": ("a.json", json.dumps({"guild": {}, "messages": [_DISCORD]})),
    "slack": ("a.json", json.dumps([_SLACK, {**_SLACK, "subtype": "channel_join"}])),
    "whatsapp": ("a.txt", "12/31/20, 10:15 PM - Ann: hello\nmore of it\n[31.12.2020, 22:16:01] Ben: hi\n"),
}


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


_HUMAN = {
    "utterances": [{"interlocutor_id": "AA", "text": "やあ", "timestamp": "2022-08-06T14:51:18"}],
    "evaluations": [{"interlocutor_id": "AB", "satisfaction": 3}],
}
_SYSTEM = {
    "dialogue_id": 1,
    "system_id": "GPT-4",
    "interlocutor_id": "FQ",
    "utterances": [{"interlocutor": "user", "text": "やあ"}, {"interlocutor": "system", "text": "はい"}],
    "evaluation": {"coherence": 4},
}
_JAPANESE = [{"dialogue_id": 7, "utterances": [{"speaker": "A", "utterance": "おはよう"}]}]
_CHIT_CHAT = {"7": {"messages": [[{"text": "hi", "timestamp": "2018", "sender": "u"}]], "ratings": {"witty": 1}}}
_CHIT_CHAT_LINE = {"id": "8", "turns": [{"speaker": "u", "text": "hi", "time": "2018"}], "ratings": None}
_SESSION = {
    "id": "10",
    "turns": [{"speaker": "B", "text": "はい。"}],
    "review_by_client_en": {"evaluation_created_at": "2020", "client_id": 3, "counselor_id": 7, "score": 72},
}
CORPORA: dict[str, Files] = {
    "dailydialog": {"train/dialogues_train.txt": b" Hi . __eou__ Hello ! __eou__\n Bye . __eou__ Yes . __eou__\n"},
    "japanese_daily_dialogue": {"data/topic1.json": as_json(_JAPANESE)},
    "kdconv": {"data/film/dev.json": as_json([{"messages": [{"message": "知道吗？"}, {"message": "嗯"}]}])},
    "real_persona_chat": {
        "dialogues/00012.json": as_json(_HUMAN),
        "llm_dialogue_system/GPT-4.json": as_json([_SYSTEM]),
    },
    "byu_chitchat": {"dataset.json": as_json(_CHIT_CHAT), "byu_chitchat.jsonl": as_json(_CHIT_CHAT_LINE) + b"\n"},
    "kokorochat": {"kokorochat_ja.jsonl": as_json(_SESSION) + b"\n"},
    "chatterbot": {"english/a.yml": b"categories:\n- x\nconversations:\n- - Hi\n  - 'It''s'\n- - a\n  - |\n    b\n"},
}

FOLLOW_UPS = {"turn": {"kind": {"positive": ["Good!"], "negative": ["Bad!"], "source": "x"}}, "full": ["Really?"]}
LAYERS = {"0": {"p": 0.1, "r": 0.1, "f": 0.1}}
BASELINE = {"schema": 1, "kind": "bertscore baseline", "model": "m", "longest": 128, "idf": False, "layers": LAYERS}
CURVE = {"signature": "s", "epochs": [{"epoch": 1, "train_loss": 0.5, "dev_loss": 0.4, "seconds": 1.0}]}
BINS = [{"low": 0.0, "high": 0.5, "count": 3, "confidence": 0.2, "positive": 0.3}]
CALIBRATION = {"bins": BINS, "ece": 0.1, "temperature": 1.2, "scaled": {"ece": 0.05}}
ESTIMATE = {"value": 0.5, "n": 9, "ci": [0.4, 0.6], "p": None, "p_adjusted": None, "note": ""}
CHANGE = {
    "metric": "chrf", "direction": "higher", "slice": "", "old": ESTIMATE, "new": ESTIMATE, "difference": -0.1,
    "ci": [-0.2, 0.1], "p": 0.3, "p_adjusted": 0.4, "detectable": None, "clusters": 9, "error": 0.1, "freedom": 8,
}  # fmt: skip
VERDICT = {
    "metric": "chrf", "outcome": "undecided", "gain": -0.1, "ci": [-0.2, 0.1], "margin": 0.05, "scale": "score",
    "n": 9, "counted": "sample", "needed": 20, "needed_of": "sample", "slice": "", "p": 0.2, "slope": ESTIMATE,
}  # fmt: skip
HUMAN = {"which": "new", "metric": "", "value": 3.5, "ci": None, "labels": 9, "scored": 0, "weight": None}
WORSE = {"id": "1", "metric": "chrf", "old": 0.5, "new": 0.1, "prompt": "hi", "old_text": "a", "new_text": "b"}
COMPARED = {
    "outcome": "undecided",
    "slices": "shown",
    "verdicts": [VERDICT],
    "noise": [{"metric": "chrf", "prompts": 1.0, "bot": 2.0, "judge": None, "left": [1.0, 0.0], "shares": [0.7, 0.0]}],
    "comparison": {
        "old": "june", "new": "july", "unit": "sample", "pairing": "id", "changes": [CHANGE], "people": [HUMAN],
        "worse": [WORSE], "unscored": {"chrf": {"old": 0, "new": 0}}, "notes": ["a"],
        "signature": {"name": "compare", "parts": {"seed": "0"}},
    },
}  # fmt: skip

SPECS = (
    "ruber(referenced=bertscore(model='x',layer=6),unreferenced=ruber_unreferenced(model='m'))",
    "bleu(order=2,tokenizer=whitespace)",
    "human(ratings='r.jsonl',low=1,high=5.0,gold=False)",
    "uBLEU=vbleu(index='i',rater='r',k=15)",
)
