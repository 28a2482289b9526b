"""Every filter on texts that it must change, and on texts that it must leave alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq.data.corpus import clean
from interloq.data.corpus.clean import NO_TIME, Cleaning, RawPost
from interloq.errors import InputError

POST = RawPost("1", "ann", "a text that is long enough", 0)


@pytest.mark.parametrize(
    ("work", "before", "after"),
    [
        (clean.unescape, "a &amp; b &lt;3 &#12354;", "a & b <3 あ"),
        (clean.unescape, "AT & T", "AT & T"),
        (clean.without_markdown, "> what you said\n\nI **do** agree", "\nI do agree"),
        (clean.without_markdown, "see [the rules](http://x.org/a) of /u/some_one", "see the rules of  "),
        (clean.without_markdown, ">quoted\n>more\nanswer ~~gone~~ `code`", "answer gone code"),
        (clean.without_markdown, "2 * 3 * 4 and a > b", "2 * 3 * 4 and a > b"),
        (clean.without_invisible, "a\u200bb\ufeffc\u202ed\x00e\xadf", "abcdef"),
        (clean.without_invisible, "نمی\u200cخواهم", "نمی\u200cخواهم"),  # Persian spells with the zero-width non-joiner
        (clean.without_urls, "see https://t.co/abc123 now", "see   now"),
        (clean.without_urls, "HTTP://X.COM/A, www.example.org/x?y=1. and t.co/abc", " ,  . and  "),
        (clean.without_urls, "pic.twitter.com/Abc ftp://x.y/z", "   "),
        (clean.without_urls, "https://例え そうですhttps://t.co/xyzそうです", "https://例え そうです そうです"),
        (clean.without_urls, "not a url: best.co/x http:// and/or wwww.", "not a url: best.co/x http:// and/or wwww."),
        (clean.without_users, "@ann hello @bob_99!", "  hello  !"),
        (clean.without_users, "＠ann さん、@bobさん", "  さん、 さん"),
        (clean.without_users, "mail me: ann@example.org", "mail me: ann@example.org"),
        (clean.without_users, "@ann@social.example.org hi", "  hi"),
        (clean.without_hashtags, "rain #today ＃雨 again", "rain     again"),
        (clean.without_hashtags, "we are #1x, C#", "we are  , C#"),
        (clean.with_plain_hashtags, "rain #today ＃雨", "rain today 雨"),
        (clean.without_emoji, "yes 👍🏽 no❤️ok", "yes   no ok"),
        (clean.without_emoji, "👨‍👩‍👧‍👦 family 🇯🇵 1️⃣ #️⃣ ☆♪", "  family        "),
        (clean.without_emoji, "no emoji 100 % © 2020", "no emoji 100 % © 2020"),
        (clean.single_spaces, " a\tb\n\nc\u3000d\xa0 ", "a b c d"),
        (clean.shorter_letters, "soooooo goooood!!!!!!", "sooo goood!!!"),
        (clean.shorter_letters, "hahahahahaha ワクワクワクワクワク", "hahaha ワクワクワク"),
        (clean.shorter_letters, "1000000 is 000000", "1000000 is 000000"),
        (clean.shorter_letters, "hmmm... ok", "hmmm... ok"),
        (clean.shorter_words, "no no no no no never", "no no no never"),
        (clean.shorter_words, "no no no, no nono nono", "no no no, no nono nono"),
    ],
)
def test_filters_of_texts(work: Callable[[str], str], before: str, after: str) -> None:
    assert work(before) == after


@pytest.mark.parametrize("most", [1, 2, 5])
def test_repeats_are_cut_to_any_number(most: int) -> None:
    assert clean.shorter_letters("x" * 9, most) == "x" * most
    assert clean.shorter_words(" ".join(["word"] * 9), most) == " ".join(["word"] * most)


def test_the_whole_chain_in_its_order() -> None:
    text = "@bob &lt;3 \u200bsooooo\n#cool  https://t.co/x no no no no no 😀"
    assert clean.clean_text(text, Cleaning()) == "<3 sooo #cool no no no"
    kept = Cleaning(urls=False, users=False, emoji=False, hashtags="word", repeated_letters=0, repeated_words=0)
    assert clean.clean_text(text, kept) == "@bob <3 sooooo cool https://t.co/x no no no no no 😀"


@given(st.text())
def test_a_clean_text_has_single_spaces_and_nothing_invisible(text: str) -> None:
    cleaned = clean.clean_text(text, Cleaning())
    assert cleaned == " ".join(cleaned.split())
    assert clean.without_invisible(cleaned) == cleaned


@given(st.text(alphabet="ab no!１0 "))
def test_cutting_repeats_twice_changes_nothing_more(text: str) -> None:
    once = clean.shorter_words(text)
    assert clean.shorter_words(once) == once


@pytest.mark.parametrize(
    ("post", "cleaning", "reason"),
    [
        (POST, Cleaning(), ""),
        (POST._replace(shape="notice"), Cleaning(), "notice"),
        (POST._replace(shape="retweet"), Cleaning(), "retweet"),
        (POST._replace(shape="quote"), Cleaning(), "quote"),
        (POST._replace(shape="quote", reply_to="9"), Cleaning(), ""),  # it answers as well
        (POST._replace(shape="quote"), Cleaning(quotes="keep"), ""),
        (POST._replace(shape="quote"), Cleaning(quotes="reply"), ""),
        (POST._replace(user=""), Cleaning(), "no_user"),
        (POST._replace(time=NO_TIME), Cleaning(), "no_time"),
        (POST._replace(time=NO_TIME), Cleaning(need_time=False), ""),
        (POST._replace(text=""), Cleaning(), "empty"),
        (POST._replace(text="@ann https://t.co/x"), Cleaning(), "empty"),
        (POST._replace(text="@ann four"), Cleaning(), "short"),
        (POST._replace(text="@ann fives"), Cleaning(), ""),
        (POST._replace(text="four"), Cleaning(min_characters=4), ""),
        (POST._replace(text="それは good"), Cleaning(lang="ja"), "script"),  # 3 of 7
        (POST._replace(text="それはね ok!"), Cleaning(lang="ja"), "script"),  # 4 of 7
        (POST._replace(text="それはね ok"), Cleaning(lang="ja"), ""),  # 4 of 6
        (POST._replace(text="それはです abc"), Cleaning(scripts=("Latin",), script_share=0.3), ""),
    ],
)
def test_reasons_to_drop_a_post(post: RawPost, cleaning: Cleaning, reason: str) -> None:
    text, found = clean.clean_post(post, cleaning)
    assert found == reason
    assert bool(text) == (not reason)
    assert not reason or reason in clean.REASONS


def test_a_quote_answers_what_it_quotes_where_asked() -> None:
    quote = POST._replace(shape="quote", quoted="7")
    assert clean.find_answered_id(quote, Cleaning(quotes="reply")) == "7"
    assert clean.find_answered_id(quote, Cleaning()) == ""
    assert clean.find_answered_id(quote._replace(reply_to="8"), Cleaning(quotes="reply")) == "8"


def test_exactly_the_share_asked_for_is_enough() -> None:
    cleaning = Cleaning(lang="ja", detectors=())
    assert clean.reason_of_text("ああああああabcd", cleaning) == ""
    assert clean.reason_of_text("あああああabcde", replace(cleaning, script_share=0.5)) == ""
    assert clean.reason_of_text("あああああabcde", cleaning) == "script"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lang": "xx"}, "no script known for language 'xx'"),
        ({"scripts": ("Latn",)}, "unknown script 'Latn'; did you mean 'Latin'?"),
        ({"detectors": ("magic",)}, "unknown detector 'magic'"),
        ({"script_share": 1.5}, "script share must be from 0 to 1, got 1.5"),
        ({"min_characters": -1}, "min_characters must be at least 0, got -1"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        Cleaning(**options)  # type: ignore[arg-type]
