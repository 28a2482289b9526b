# SPDX-License-Identifier: Apache-2.0
"""Metrics from the probabilities of language models."""
