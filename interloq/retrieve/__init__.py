# SPDX-License-Identifier: Apache-2.0
"""Retrieval from logs of replies that could answer an utterance."""
