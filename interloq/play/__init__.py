# SPDX-License-Identifier: Apache-2.0
"""Bots, and the dialogues they have with each other."""
