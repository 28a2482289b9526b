# SPDX-License-Identifier: Apache-2.0
"""Metrics of shared n-grams, words and lengths."""
