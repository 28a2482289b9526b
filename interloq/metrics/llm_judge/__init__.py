# SPDX-License-Identifier: Apache-2.0
"""Judgments by language models behind chat servers."""
