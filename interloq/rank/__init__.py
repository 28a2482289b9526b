# SPDX-License-Identifier: Apache-2.0
"""Rank systems from their dialogues."""
