# SPDX-License-Identifier: Apache-2.0
"""Bots, one per file."""
