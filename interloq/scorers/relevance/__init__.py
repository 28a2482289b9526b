# SPDX-License-Identifier: Apache-2.0
"""The scorers `relevance` and `valid`, which need no reference."""
