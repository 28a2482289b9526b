# SPDX-License-Identifier: Apache-2.0
"""A rule-based bot in the style of ELIZA (Weizenbaum, 1966): patterns, and answers that reflect the speaker's words.

The rules are our own, for English, Japanese and Chinese; `language='auto'` is determined by the script of the last
turn. The first matching rule answers; the seed chooses among its answers, and an answer that was already given in the
dialogue is repeated only after all others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, get_args

from interloq.data.text.language import supported_language
from interloq.play.bot import Bot, generator
from interloq.records import Turn
from interloq.servers.replies import NOTHING_TO_ANSWER, Reply
from interloq.signature import Signature, fingerprint, signature

Language = Literal["en", "ja", "zh"]
LONGEST = 100  # characters of the speaker's words that are repeated
_END = re.compile(r"[.!?。！？…\n]+")


@dataclass(frozen=True)
class Eliza(Bot, name="eliza"):
    """Rule-based bot in the style of ELIZA."""

    language: Annotated[
        Literal["auto", "en", "ja", "zh"], "language of the rules; `'auto'`: by the script of the last turn"
    ] = "auto"

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        return [self._reply(turns, seed) for turns, seed in zip(dialogues, seeds, strict=True)]

    def signature(self) -> Signature:
        return signature(self, rules=fingerprint(repr((RULES, TURNED))))

    def _reply(self, turns: Sequence[Turn], seed: int) -> Reply:
        if not turns:
            return Reply("", NOTHING_TO_ANSWER)
        spoken = supported_language(turns[-1].text, get_args(Language))
        language = spoken if self.language == "auto" else self.language
        answers = _answers(turns[-1].text, language)
        said = {turn.text for turn in turns}
        new = [answer for answer in answers if answer not in said] or answers
        return Reply(new[int(generator(seed, turns).integers(len(new)))])


def _answers(text: str, language: Language) -> list[str]:
    """Return possible answers from the first rule that matches the text's last sentence, or else an earlier one."""
    sentences = [part.strip() for part in _END.split(text.replace("’", "'")) if part.strip()] or [""]
    for pattern, answers in _rules(language):
        for sentence in reversed(sentences):
            if match := pattern.search(sentence):
                words = _swap_persons(match.groupdict().get("x") or "", language)
                return [answer.replace("{x}", words) for answer in answers]
    raise AssertionError("the last rule matches everything")


def _swap_persons(words: str, language: Language) -> str:
    """Return the speaker's words from the other side: `my dog` becomes `your dog`."""
    turned = TURNED[language]
    words = words.strip(" ,;:、，")[:LONGEST].strip()
    if language == "en":
        return re.sub(r"[\w']+", lambda word: turned.get(word[0].lower(), word[0]), words)
    turned_words = re.compile("|".join(sorted(turned, key=len, reverse=True)))
    return turned_words.sub(lambda word: turned[word[0]], words)


@cache
def _rules(language: Language) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    return [(re.compile(pattern, re.IGNORECASE), answers) for pattern, answers in RULES[language]]


# patterns, tried in order, each with its answers; `{x}` is the matched group named x
Rules = tuple[tuple[str, tuple[str, ...]], ...]

EN: Rules = (
    (
        r"^(hi|hello|hey|good (morning|afternoon|evening))\b",
        (
            "Hello. What is on your mind?",
            "Hi there. How has your day been?",
            "Hello! What would you like to talk about?",
        ),
    ),
    (
        r"\b(bye|goodbye|see you|good night)\b",
        (
            "Goodbye. It was good to talk with you.",
            "Take care. Shall we talk again?",
            "Before you go: what will you do next?",
        ),
    ),
    (
        r"\b(thanks|thank you)\b",
        ("You are welcome. What else is there?", "Gladly. How do you feel now?", "No need to thank me. Please go on."),
    ),
    (
        r"\b(sorry|apologi[sz]e)\b",
        (
            "There is no need to be sorry.",
            "It is all right. What happened?",
            "What makes you feel you should be sorry?",
        ),
    ),
    (
        r"\bi (?:want|need|would like|wish|hope) to (?P<x>.+)",
        ("What would it mean to you to {x}?", "What keeps you from it?", "Suppose you were to {x}. What then?"),
    ),
    (
        r"\bi (?:want|need|would like|wish for|hope for) (?P<x>.+)",
        ("What would you do with {x}?", "Since when have you wanted {x}?", "Suppose you had {x}. What then?"),
    ),
    (
        r"\bi(?:'m| am) (?:so |very |really |a bit |quite )?"
        r"(?P<x>sad|tired|angry|lonely|afraid|scared|worried|bored|sick|upset)",
        (
            "I am sorry that you are {x}. What happened?",
            "How long have you been {x}?",
            "What would help when you are {x}?",
        ),
    ),
    (
        r"\bi(?:'m| am) (?:so |very |really |quite )?(?P<x>happy|glad|excited|proud|relieved)",
        (
            "That is good to hear. What made you {x}?",
            "When you are {x}, whom do you tell first?",
            "Being {x} suits you.",
        ),
    ),
    (
        r"\bi(?:'m| am) (?P<x>.+)",
        ("How long have you been {x}?", "How does it feel to be {x}?", "Do you like being {x}?"),
    ),
    (
        r"\bi (?:feel|felt) (?P<x>.+)",
        ("When did you first feel {x}?", "What do you do when you feel {x}?", "Who knows that you feel {x}?"),
    ),
    (
        r"\bi (?:can't|cannot|could not|couldn't) (?P<x>.+)",
        ("What would you need to {x}?", "Have you ever been able to {x}?", "Maybe you could {x} with some help?"),
    ),
    (
        r"\bi (?:like|love|enjoy) (?P<x>.+)",
        ("What do you like most about {x}?", "How did you come to like {x}?", "Who else likes {x}?"),
    ),
    (
        r"\bi (?:hate|dislike|don't like|do not like) (?P<x>.+)",
        (
            "What is it about {x} that you do not like?",
            "Was there a time when {x} was all right?",
            "What would you like better than {x}?",
        ),
    ),
    (
        r"\bi (?:think|believe|guess|suppose)(?: that)? (?P<x>.+)",
        ("What makes you think {x}?", "Do others think so too?", "How sure are you of it?"),
    ),
    (
        r"\bmy (?P<x>mother|mom|mum|father|dad|sister|brother|wife|husband|son|daughter|friend|boss|dog|cat)\b",
        ("Tell me more about your {x}.", "How do you get on with your {x}?", "What would your {x} say to that?"),
    ),
    (
        r"\bbecause (?P<x>.+)",
        ("Is that the only reason?", "And if it were not so: {x}?", "Does that explain all of it?"),
    ),
    (
        r"\bhow (?:are you|is it going|have you been)\b",
        ("I am fine, thank you. And you?", "Quite well. How about you?", "All the better for talking with you."),
    ),
    (
        r"^(?:so |and |but |well |oh )?(?:what|how|why|when|where|who|which)\b",
        (
            "That is a good question. What do you think?",
            "I would have to think about it. How do you see it?",
            "What made you wonder about that?",
        ),
    ),
    (
        r"\bare you (?P<x>.+)",
        (
            "Would it matter to you whether I am {x}?",
            "What makes you think that I am {x}?",
            "Some days I wonder myself whether I am {x}.",
        ),
    ),
    (
        r"\bdo you (?P<x>.+)",
        ("Now and then. What about you?", "Why would you like to know whether I {x}?", "I am not sure that I {x}."),
    ),
    (
        r"\b(?:can|could|would|will) you (?P<x>.+)",
        ("Maybe. Why should I {x}?", "I would have to learn how to {x}.", "What would change if I were to {x}?"),
    ),
    (
        r"^(yes|yeah|yep|sure|of course|exactly|right|true)\b",
        ("Tell me more about it.", "You sound sure of it. Since when?", "I see. And then?"),
    ),
    (r"^(no|nope|never|not really)\b", ("Why not?", "Are you sure?", "What would have to change?")),
    (
        r"\b(always|never|every time|everyone|nobody)\b",
        ("Is there no exception?", "Can you think of an example?", "Really always?"),
    ),
    (
        r"\bi (?P<x>(?:went|saw|made|had|got|lost|found|met|bought|watched|read|ate|played|started|finished|took)\b.*)",
        ("And how was it?", "You {x}: what came of it?", "What was the best part of it?"),
    ),
    (
        r"",
        (
            "Please go on.",
            "Tell me more about that.",
            "How do you feel about it?",
            "I see. What happened then?",
            "Why is that important to you?",
        ),
    ),
)

JA: Rules = (
    (
        r"^(こんにちは|こんばんは|おはよう|やあ|はじめまして)",
        ("こんにちは。今日はどんな日でしたか？", "こんにちは。何かお話ししたいことはありますか？"),
    ),
    (r"(さようなら|またね|おやすみ|じゃあね)", ("またお話ししましょう。", "お元気で。このあとは何をしますか？")),
    (r"(ありがとう|感謝)", ("どういたしまして。ほかにもありますか？", "いえいえ。今はどんな気持ちですか？")),
    (r"(ごめん|すみません|申し訳)", ("気にしないでください。", "大丈夫ですよ。何かあったんですか？")),
    (r"(?P<x>[^、，]+?)(?:が|は)?(?:大?好き)", ("{x}のどこが好きですか？", "いつから{x}が好きなんですか？")),
    (r"(?P<x>[^、，]+?)(?:が|は)?(?:大?嫌い|苦手)", ("{x}の何が苦手なんですか？", "{x}で嫌なことがあったんですか？")),
    (
        r"(?P<x>[^、，]+?)たい(?:です|な|と|けど|んだ|$)",
        ("どうして{x}たいのですか？", "{x}たいと思ったきっかけは何ですか？"),
    ),
    (r"(疲れ|つかれ|眠い|忙し)", ("それは大変ですね。休めていますか？", "無理をしていませんか？")),
    (
        r"(悲し|寂し|さびし|つら|辛い|不安|怖)",
        ("何があったのか、聞かせてもらえますか？", "そういうときはどうしていますか？"),
    ),
    (
        r"(嬉し|うれし|楽し|面白|おもしろ|良かった|よかった)",
        ("それはいいですね。何が一番でしたか？", "誰かと一緒でしたか？"),
    ),
    (
        r"(母|父|姉|兄|妹|弟|妻|夫|友達|家族|子ども|犬|猫)",
        ("もっと聞かせてください。どんな様子ですか？", "一緒にいるとどんな気持ちになりますか？"),
    ),
    (
        r"(なぜ|なんで|どうして|なに|何|いつ|どこ|誰|だれ|どう).*(か|の)?$",
        ("いい質問ですね。あなたはどう思いますか？", "どうしてそれが気になるのですか？"),
    ),
    (r"^(はい|うん|ええ|そう)", ("もう少し詳しく教えてください。", "それで、どうなりましたか？")),
    (r"^(いいえ|いや|ううん|違)", ("どうしてですか？", "本当にそうでしょうか？")),
    (
        r"",
        (
            "そうなんですね。続けてください。",
            "もっと聞かせてください。",
            "それについてどう感じますか？",
            "それからどうなりましたか？",
        ),
    ),
)

ZH: Rules = (
    (r"^(你好|您好|嗨|早上好|晚上好|早安|哈[喽啰])", ("你好。今天过得怎么样？", "你好。你想聊些什么？")),
    (r"(再见|拜拜|晚安|回头见)", ("再见，下次再聊。", "保重。接下来你要做什么？")),
    (r"(谢谢|感谢|多谢)", ("不客气。还有别的事吗？", "不用谢。你现在感觉怎么样？")),
    (r"(对不起|抱歉|不好意思)", ("没关系。", "别放在心上。发生了什么事？")),
    (r"我(?:很|也|最|真的?)*(?:喜欢|爱)(?P<x>[^，、]+)", ("你最喜欢{x}的哪一点？", "你是什么时候开始喜欢{x}的？")),
    (
        r"我(?:很|也|最|真的?)*(?:讨厌|不喜欢)(?P<x>[^，、]+)",
        ("{x}有什么让你不喜欢的地方？", "比起{x}，你更喜欢什么？"),
    ),
    (r"我(?:很|也|真的?)*(?:想要?|希望|需要)(?P<x>[^，、]+)", ("为什么想{x}？", "要是真能{x}，会怎么样？")),
    (r"我(?:觉得|认为|以为)(?P<x>.+)", ("你为什么觉得{x}？", "别人也这么想吗？")),
    (r"(累|困|忙)", ("辛苦了。有时间休息吗？", "别太勉强自己。")),
    (r"(难过|伤心|孤独|害怕|担心|生气|烦)", ("发生了什么事？愿意说说吗？", "这种时候你一般怎么办？")),
    (r"(高兴|开心|快乐|有趣|好玩)", ("真好。最让你开心的是什么？", "当时和谁在一起？")),
    (r"(妈妈|爸爸|姐姐|哥哥|妹妹|弟弟|朋友|家人|孩子|狗|猫)", ("多跟我说说吧。", "和他们在一起是什么感觉？")),
    (r"(为什么|怎么|什么|哪|谁|几|吗$|呢$)", ("好问题。你怎么看？", "你为什么想知道这个？")),
    (r"^(是|对|嗯|好)", ("再说详细一点吧。", "然后呢？")),
    (r"^(不|没)", ("为什么不呢？", "你确定吗？")),
    (r"", ("请继续说。", "多跟我说说吧。", "你对此有什么感觉？", "后来怎么样了？")),
)

RULES: dict[str, Rules] = {"en": EN, "ja": JA, "zh": ZH}

TURNED: dict[str, dict[str, str]] = {
    "en": {
        "i": "you",
        "i'm": "you are",
        "i've": "you have",
        "i'll": "you will",
        "i'd": "you would",
        "me": "you",
        "my": "your",
        "mine": "yours",
        "myself": "yourself",
        "am": "are",
        "you": "me",
        "you're": "I am",
        "your": "my",
        "yours": "mine",
        "yourself": "myself",
    },
    "ja": {"私": "あなた", "わたし": "あなた", "僕": "あなた", "俺": "あなた", "あなた": "私"},
    "zh": {"我": "你", "你": "我", "您": "我"},
}
