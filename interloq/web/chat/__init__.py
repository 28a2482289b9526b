# SPDX-License-Identifier: Apache-2.0
"""Conversations of people with bots."""
