"""Retrieval from logs of replies that could answer an utterance."""
