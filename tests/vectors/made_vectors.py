"""Small word vectors."""

from __future__ import annotations

WORDS = ["the", "cat", "sat", "Ünïcödé", "猫", "<unk>"]
